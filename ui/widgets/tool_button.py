"""Buttons that show only an icon or a sign."""

from PySide6.QtWidgets import QToolButton


def tool_button(name: str, accessible_name: str, tooltip: str = "") -> QToolButton:
    """Return a button whose tooltip is its accessible name, unless there is more to say, such as a shortcut."""
    button = QToolButton()
    button.setObjectName(name)
    button.setAccessibleName(accessible_name)
    button.setToolTip(tooltip or accessible_name)
    return button
