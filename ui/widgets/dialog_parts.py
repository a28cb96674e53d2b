"""What dialogs share: the row of buttons at their foot, and how they make room for what is shown later."""

from PySide6.QtWidgets import QDialog, QHBoxLayout, QWidget


def foot(*buttons: QWidget) -> QHBoxLayout:
    """At the right end, what is wanted last."""
    row = QHBoxLayout()
    row.addStretch(1)
    for button in buttons:
        row.addWidget(button)
    return row


def grow(dialog: QDialog) -> None:
    """Room for what is shown now; nothing is pressed together, and one that a person made larger stays so."""
    if layout := dialog.layout():
        layout.activate()
        least = dialog.height() if dialog.isVisible() else 0
        dialog.resize(dialog.width(), max(least, layout.totalHeightForWidth(dialog.width())))
