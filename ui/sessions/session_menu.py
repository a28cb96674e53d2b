"""The context menus of the list of sessions."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.sessions import SessionRow
from ui.style.icons import menu_icon, set_menu_style
from ui.style.theme import Look


class SessionAction(StrEnum):
    """Actions on sessions that the engine carries out or that open another program or dialog.

    A signal carries an action as text, and the IDs of the sessions that it concerns.
    """

    PIN = "pin"
    UNPIN = "unpin"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    TRASH = "trash"
    RESTORE = "restore"
    DELETE = "delete"  # delete sessions that are in the trash
    EMPTY_TRASH = "empty_trash"  # concerns all sessions in the trash, so the signal carries none
    FORK = "fork"
    REPLAY = "replay"
    EXPORT = "export"
    IMPORT = "import"  # the signal carries no sessions
    OPEN_FOLDER = "open_folder"  # in the file manager
    OPEN_EDITOR = "open_editor"  # open the folder in the editor
    OPEN_TERMINAL = "open_terminal"


class SidebarAction(StrEnum):
    """Actions of the menu that the sidebar carries out itself, or for each of which it has a separate signal."""

    OPEN = "open"
    OPEN_IN_TAB = "open_in_tab"
    OPEN_IN_SPLIT_VIEW = "open_in_split_view"
    RENAME = "rename"
    COMPARE = "compare"


MenuAction = SessionAction | SidebarAction
OnAction = Callable[[MenuAction], None]


def session_menu(look: Look, rows: Sequence[SessionRow], on_action: OnAction, parent: QWidget) -> QMenu:
    """Return the menu for the selected sessions. `on_action` is called with the chosen action.

    The caller opens the menu, which deletes itself when it closes.
    """
    menu = QMenu(parent)
    menu.setObjectName("sessions.menu")
    set_menu_style(menu, look)
    menu.setAccessibleName(_tr("Actions for the session") if len(rows) == 1 else _tr("Actions for the sessions"))
    menu.aboutToHide.connect(menu.deleteLater)
    if all(row.trashed for row in rows):
        _add(menu, look, SessionAction.RESTORE, _tr("Restore"), "corner-down-left", on_action)
        menu.addSeparator()
        _add(menu, look, SessionAction.DELETE, _tr("Delete permanently…"), "x", on_action)
        return menu
    if len(rows) == 1:
        _add(menu, look, SidebarAction.OPEN, _tr("Open"), "play", on_action, "Return")
        _add(menu, look, SidebarAction.OPEN_IN_TAB, _tr("Keep open in a tab"), "pin", on_action)
        _add(menu, look, SidebarAction.OPEN_IN_SPLIT_VIEW, _tr("Open in split view"), "columns-2", on_action)
        _add(menu, look, SidebarAction.RENAME, _tr("Rename"), "file-pen-line", on_action, "F2")
        _add(menu, look, SessionAction.FORK, _tr("Fork"), "share", on_action)
        _add(menu, look, SessionAction.REPLAY, _tr("Replay…"), "history", on_action)
        _add(menu, look, SessionAction.EXPORT, _tr("Export…"), "download", on_action, "Ctrl+Shift+X")
        _add(menu, look, SessionAction.OPEN_FOLDER, _tr("Open folder"), "folder", on_action)
        _add(menu, look, SessionAction.OPEN_EDITOR, _tr("Open folder in the editor"), "pencil", on_action)
        _add(menu, look, SessionAction.OPEN_TERMINAL, _tr("Open a terminal"), "terminal", on_action)
        menu.addSeparator()
    if len(rows) == 2:
        _add(menu, look, SidebarAction.COMPARE, _tr("Compare"), "columns-2", on_action)
        menu.addSeparator()
    pinned, archived = all(row.pinned for row in rows), all(row.archived for row in rows)
    pin = (SessionAction.UNPIN, _tr("Unpin")) if pinned else (SessionAction.PIN, _tr("Pin"))
    archive = (SessionAction.UNARCHIVE, _tr("Unarchive")) if archived else (SessionAction.ARCHIVE, _tr("Archive"))
    _add(menu, look, *pin, "pin", on_action)
    _add(menu, look, *archive, "archive", on_action)
    menu.addSeparator()
    _add(menu, look, SessionAction.TRASH, _tr("Move to trash"), "trash-2", on_action, "Del")
    return menu


def heading_menu(look: Look, count: int, on_action: OnAction, parent: QWidget) -> QMenu:
    """Return the menu of the trash, whose actions concern all sessions in it."""
    menu = QMenu(parent)
    menu.setObjectName("sessions.menu")
    set_menu_style(menu, look)
    menu.setAccessibleName(_tr("Actions for the trash"))
    menu.aboutToHide.connect(menu.deleteLater)
    text = _tr("Empty trash (1 session)…") if count == 1 else _tr("Empty trash ({} sessions)…").format(count)
    _add(menu, look, SessionAction.EMPTY_TRASH, text, "trash-2", on_action)
    return menu


def _add(
    menu: QMenu, look: Look, action: MenuAction, text: str, glyph: str, on_action: OnAction, keys: str = ""
) -> None:
    entry = QAction(menu_icon(glyph, look), text, menu)
    entry.setObjectName(f"sessions.menu.{action}")
    if keys:  # only displayed in the menu; the list handles the keys
        entry.setShortcut(QKeySequence(keys))
        entry.setShortcutVisibleInContextMenu(True)
    entry.triggered.connect(lambda: on_action(action))
    menu.addAction(entry)


def _tr(text: str) -> str:
    return QCoreApplication.translate("sessions", text)
