"""The context menu of a message in the list of steps."""

from collections.abc import Callable

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from ui.base.step_presentation import translate
from ui.style.icons import icon
from ui.style.theme import Look


def message_menu(look: Look, obstacle: str, on_action: Callable[[str], object], parent: QWidget) -> QMenu:
    """Return the menu of a message; `on_action` gets `edit`, `model` or `copy`.

    If the message cannot be repeated, `obstacle` says why. The caller opens the menu, which deletes itself when it
    closes.
    """
    menu = QMenu(parent)
    menu.setObjectName("message.menu")
    menu.setAccessibleName(translate("Actions for the message"))
    menu.setFont(look.fonts.text)
    menu.setToolTipsVisible(True)
    menu.aboutToHide.connect(menu.deleteLater)
    for name, text, glyph, keys in (
        ("edit", translate("Edit and resend…"), "pencil", "Ctrl+E"),
        ("model", translate("Try with another model…"), "cpu", "Ctrl+Shift+R"),
        ("copy", translate("Copy"), "copy", ""),
    ):
        action = QAction(icon(glyph, look.theme.second), text, menu)
        action.setObjectName(f"message.menu.{name}")
        if name != "copy":
            action.setShortcut(QKeySequence(keys))  # displayed only; the commands of the window handle the keys
            action.setShortcutVisibleInContextMenu(True)
            action.setEnabled(not obstacle)
            action.setToolTip(obstacle)
        action.triggered.connect(lambda _=False, name=name: on_action(name))
        menu.addAction(action)
    return menu
