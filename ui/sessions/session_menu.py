"""The context menus of the list of sessions."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.sessions import SessionRow
from ui.style.icons import icon
from ui.style.theme import Look

OnAction = Callable[[str], None]


def session_menu(look: Look, rows: Sequence[SessionRow], on_action: OnAction, parent: QWidget) -> QMenu:
    """Return the menu for the selected sessions; `on_action` is called with the id of the chosen action.

    The caller opens the menu, which deletes itself when it closes.
    """
    menu = QMenu(parent)
    menu.setObjectName("sessions.menu")
    menu.setAccessibleName(_tr("Actions for the session") if len(rows) == 1 else _tr("Actions for the sessions"))
    menu.aboutToHide.connect(menu.deleteLater)
    if all(row.trashed for row in rows):
        _add(menu, look, "restore", _tr("Restore"), "corner-down-left", on_action)
        menu.addSeparator()
        _add(menu, look, "forget", _tr("Delete permanently…"), "x", on_action)
        return menu
    if len(rows) == 1:
        _add(menu, look, "open", _tr("Open"), "play", on_action, "Return")
        _add(menu, look, "tab", _tr("Keep open in a tab"), "pin", on_action)
        _add(menu, look, "beside", _tr("Open in split view"), "columns-2", on_action)
        _add(menu, look, "rename", _tr("Rename"), "file-pen-line", on_action, "F2")
        _add(menu, look, "fork", _tr("Fork"), "share", on_action)
        _add(menu, look, "replay", _tr("Replay…"), "history", on_action)
        _add(menu, look, "export", _tr("Export…"), "download", on_action, "Ctrl+Shift+X")
        _add(menu, look, "folder", _tr("Open folder"), "folder", on_action)
        _add(menu, look, "editor", _tr("Open folder in the editor"), "pencil", on_action)
        _add(menu, look, "terminal", _tr("Open a terminal"), "terminal", on_action)
        menu.addSeparator()
    if len(rows) == 2:
        _add(menu, look, "compare", _tr("Compare"), "columns-2", on_action)
        menu.addSeparator()
    pinned, archived = all(row.pinned for row in rows), all(row.archived for row in rows)
    _add(menu, look, "unpin" if pinned else "pin", _tr("Unpin") if pinned else _tr("Pin"), "pin", on_action)
    archive = _tr("Unarchive") if archived else _tr("Archive")
    _add(menu, look, "unarchive" if archived else "archive", archive, "archive", on_action)
    menu.addSeparator()
    _add(menu, look, "trash", _tr("Move to trash"), "trash-2", on_action, "Del")
    return menu


def heading_menu(look: Look, count: int, on_action: OnAction, parent: QWidget) -> QMenu:
    """Return the menu for the whole trash."""
    menu = QMenu(parent)
    menu.setObjectName("sessions.menu")
    menu.setAccessibleName(_tr("Actions for the trash"))
    menu.aboutToHide.connect(menu.deleteLater)
    text = _tr("Empty trash (1 session)…") if count == 1 else _tr("Empty trash ({} sessions)…").format(count)
    _add(menu, look, "empty", text, "trash-2", on_action)
    return menu


def _add(menu: QMenu, look: Look, action_name: str, text: str, glyph: str, on_action: OnAction, keys: str = "") -> None:
    action = QAction(icon(glyph, look.theme.second), text, menu)
    action.setObjectName(f"sessions.menu.{action_name}")
    if keys:  # displayed only; the list itself handles the keys
        action.setShortcut(QKeySequence(keys))
        action.setShortcutVisibleInContextMenu(True)
    action.triggered.connect(lambda: on_action(action_name))
    menu.addAction(action)


def _tr(text: str) -> str:
    return QCoreApplication.translate("sessions", text)
