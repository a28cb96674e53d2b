"""What can be done with the sessions that are selected, as a menu beside the mouse."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.sessions import SessionRow
from ui.icons import icon
from ui.theme import Look

Wish = Callable[[str], None]


def session_menu(look: Look, rows: Sequence[SessionRow], wish: Wish, parent: QWidget) -> QMenu:
    """`wish` is told the word of what was chosen. The menu deletes itself; whoever asked for it lets it pop up."""
    menu = QMenu(parent)
    menu.setObjectName("sessions.menu")
    menu.setAccessibleName(
        _tr("What to do with the session") if len(rows) == 1 else _tr("What to do with the sessions")
    )
    menu.aboutToHide.connect(menu.deleteLater)
    if all(row.trashed for row in rows):
        _add(menu, look, "restore", _tr("Put back"), "corner-down-left", wish)
        menu.addSeparator()
        _add(menu, look, "forget", _tr("Delete for good…"), "x", wish)
        return menu
    if len(rows) == 1:
        _add(menu, look, "open", _tr("Open"), "play", wish, "Return")
        _add(menu, look, "tab", _tr("Keep in a tab"), "pin", wish)
        _add(menu, look, "beside", _tr("Show beside"), "columns-2", wish)
        _add(menu, look, "rename", _tr("Rename"), "file-pen-line", wish, "F2")
        _add(menu, look, "fork", _tr("Fork"), "share", wish)
        _add(menu, look, "export", _tr("Export…"), "download", wish, "E")
        _add(menu, look, "folder", _tr("Show the folder"), "folder", wish)
        menu.addSeparator()
    if len(rows) == 2:
        _add(menu, look, "compare", _tr("Compare"), "columns-2", wish)
        menu.addSeparator()
    pinned, archived = all(row.pinned for row in rows), all(row.archived for row in rows)
    _add(menu, look, "unpin" if pinned else "pin", _tr("Unpin") if pinned else _tr("Pin"), "pin", wish)
    archive = _tr("Take out of the archive") if archived else _tr("Archive")
    _add(menu, look, "unarchive" if archived else "archive", archive, "archive", wish)
    menu.addSeparator()
    _add(menu, look, "trash", _tr("Move to the trash"), "trash-2", wish, "Del")
    return menu


def heading_menu(look: Look, count: int, wish: Wish, parent: QWidget) -> QMenu:
    """What can be done with the whole trash."""
    menu = QMenu(parent)
    menu.setObjectName("sessions.menu")
    menu.setAccessibleName(_tr("What to do with the trash"))
    menu.aboutToHide.connect(menu.deleteLater)
    text = _tr("Empty the trash (1 session)…") if count == 1 else _tr("Empty the trash ({} sessions)…").format(count)
    _add(menu, look, "empty", text, "trash-2", wish)
    return menu


def _add(menu: QMenu, look: Look, word: str, text: str, glyph: str, wish: Wish, keys: str = "") -> None:
    action = QAction(icon(glyph, look.theme.second), text, menu)
    action.setObjectName(f"sessions.menu.{word}")
    if keys:  # shown beside the words; the list itself hears them
        action.setShortcut(QKeySequence(keys))
        action.setShortcutVisibleInContextMenu(True)
    action.triggered.connect(lambda: wish(word))
    menu.addAction(action)


def _tr(text: str) -> str:
    return QCoreApplication.translate("sessions", text)
