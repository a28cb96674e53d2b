"""Buttons that show only an icon or a single character."""

from PySide6.QtWidgets import QToolButton


def tool_button(name: str, accessible_name: str, tooltip: str = "") -> QToolButton:
    """Return a button with only an icon. Without a `tooltip`, its tooltip is its accessible name."""
    button = QToolButton()
    button.setObjectName(name)
    button.setAccessibleName(accessible_name)
    button.setToolTip(tooltip or accessible_name)
    return button
