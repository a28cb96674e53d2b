"""Functions that dialogs share: the button row, growing to fit new content, and the folder picker."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QDialog, QFileDialog, QHBoxLayout, QWidget

SCREEN_MARGIN = QSize(24, 60)  # room for the window frame and a visible part of the parent


def resize_in_screen(dialog: QDialog, width: int, height: int) -> None:
    """Resize the dialog, but not beyond its screen: large text would put its buttons below the lower edge."""
    dialog.resize(QSize(width, height).boundedTo(dialog.screen().availableGeometry().size() - SCREEN_MARGIN))


def button_row(*buttons: QWidget) -> QHBoxLayout:
    """Return a right-aligned row of buttons, the default action last."""
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addStretch(1)
    for button in buttons:
        row.addWidget(button)
    return row


def click_on_ctrl_enter(dialog: QDialog, button: QAbstractButton) -> None:
    """Let Ctrl+Enter press a button of a form, also from a field in which Enter has another meaning."""
    for keys in ("Ctrl+Return", "Ctrl+Enter"):
        QShortcut(QKeySequence(keys), dialog).activated.connect(button.click)


def grow_to_fit(dialog: QDialog) -> None:
    """Grow the dialog to fit its content. A visible dialog never shrinks: a size set by the user is kept."""
    if layout := dialog.layout():
        layout.activate()
        least = dialog.height() if dialog.isVisible() else 0
        resize_in_screen(dialog, dialog.width(), max(least, layout.totalHeightForWidth(dialog.width())))


def fit_to_content(dialog: QDialog) -> None:
    """Give the dialog the size of its content; by itself, Qt limits the height to two thirds of the screen."""
    dialog.adjustSize()
    if layout := dialog.layout():
        resize_in_screen(dialog, dialog.width(), max(dialog.height(), layout.totalHeightForWidth(dialog.width())))


def open_folder_picker(
    over: QWidget, title: str, start_folder: str, on_selected: Callable[[str], object], *, name: str
) -> None:
    """Open the system's folder picker without blocking; `on_selected` receives the chosen folder."""
    dialog = QFileDialog(over, title, start_folder)
    dialog.setObjectName(name)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(on_selected)
    dialog.open()
