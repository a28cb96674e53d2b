"""Functions for dialogs: the row of buttons, the size, errors in a form, and the folder picker."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QDialog, QFileDialog, QHBoxLayout, QLabel, QWidget

from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.labels import error_text

# Pixels of the screen that are left for the window frame and for a visible part of the parent window.
SCREEN_MARGIN = QSize(24, 60)


def resize_in_screen(dialog: QDialog, width: int, height: int) -> None:
    """Resize a dialog, but not beyond the screen, because large text would otherwise push its buttons off it."""
    dialog.resize(QSize(width, height).boundedTo(dialog.screen().availableGeometry().size() - SCREEN_MARGIN))


def button_row(*buttons: QWidget) -> QHBoxLayout:
    """Return a right-aligned layout for buttons, to which the default button is added last."""
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addStretch(1)
    for button in buttons:
        row.addWidget(button)
    return row


def click_on_ctrl_enter(form: QWidget, button: QAbstractButton) -> None:
    """Make Ctrl+Enter click a button of the form, even from a field in which Enter has another meaning."""
    for keys in ("Ctrl+Return", "Ctrl+Enter"):
        shortcut = QShortcut(QKeySequence(keys), form)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(button.click)


def grow_to_fit(dialog: QDialog) -> None:
    """Grow the dialog to fit its content.

    A visible dialog never shrinks, so that it keeps a size that the user has set.
    """
    if layout := dialog.layout():
        layout.activate()
        current_height = dialog.height() if dialog.isVisible() else 0
        needed_height = layout.totalHeightForWidth(dialog.width())
        resize_in_screen(dialog, dialog.width(), max(current_height, needed_height))


def show_form_error(dialog: QDialog, error: QLabel, text: str) -> None:
    """Show in a form why its input was refused; announce it to screen readers too, because the focus does not move."""
    error.setText(error_text(visible(text)))
    error.show()
    announce(error, text)
    grow_to_fit(dialog)


def show_input_error(error: QLabel, text: str) -> None:
    """Show what is wrong with the input of a field as it is typed, or hide the label if `text` is empty.

    It is announced only when it appears, because the text may change with every character.
    """
    if text and error.isHidden():
        announce(error, text)
    error.setText(text)
    error.setVisible(bool(text))


def fit_to_content(dialog: QDialog) -> None:
    """Resize the dialog to fit its content. Qt itself would limit the height to two thirds of the screen."""
    dialog.adjustSize()
    if layout := dialog.layout():
        resize_in_screen(dialog, dialog.width(), max(dialog.height(), layout.totalHeightForWidth(dialog.width())))


def open_folder_picker(
    over: QWidget, title: str, start_folder: str, on_selected: Callable[[str], object], *, name: str
) -> None:
    """Open the system's folder picker without blocking. `on_selected` is called with the chosen folder."""
    dialog = QFileDialog(over, title, start_folder)
    dialog.setObjectName(name)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    # The last one is the folder typed in the path field: for a path such as `../other`, Qt also reports its parent.
    dialog.filesSelected.connect(lambda folders: on_selected(folders[-1]))
    dialog.open()
