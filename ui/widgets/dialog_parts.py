"""What dialogs share: the row of buttons at their foot, room for what is shown later, and how a folder is asked for."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QWidget


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


def ask_folder(over: QWidget, title: str, at: str, told: Callable[[str], object], *, name: str) -> None:
    """In a dialog of the system; it holds up nothing."""
    dialog = QFileDialog(over, title, at)
    dialog.setObjectName(name)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(told)
    dialog.open()
