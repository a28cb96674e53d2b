"""The handlers of the commands in the command table."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from core.domain.sessions import SessionRow
from ui.base.selection import Selection
from ui.base.window_state import WindowState
from ui.dialogs.help_dialog import HelpDialog
from ui.palette.panel import KEEP_RECENT, Palette
from ui.sessions.panel import SessionsPanel
from ui.sessions.session_menu import SessionAction
from ui.shell.command_actions import CommandActions
from ui.shell.commands import SESSION_NUMBERS
from ui.shell.session_entries import session_entries
from ui.shell.session_view import SESSION_TABS, SessionView
from ui.shell.shortcuts_dialog import ShortcutsDialog
from ui.shell.split_view import SplitView
from ui.shell.window_columns import WindowColumns
from ui.shell.window_frame import WindowFrame
from ui.style.theme import Look

Handlers = Mapping[str, Callable[[], object]]


class CommandContext(NamedTuple):
    """The parts of the window on which session commands act; `row` looks up a session by its ID."""

    shell: WindowFrame
    sessions: SessionsPanel
    selection: Selection
    split_view: SplitView
    columns: WindowColumns
    row: Callable[[str], SessionRow]


class CommandHandlers(QObject):
    """Maps command IDs to handlers.

    `handlers` are those that the window itself provides; this class adds the others.
    """

    def __init__(
        self, look: Look, window: QWidget, state: WindowState, parts: CommandContext, handlers: Handlers
    ) -> None:
        super().__init__(window)
        self._look = look
        self._window = window
        self._state = state
        self._parts = parts
        self.palette = Palette(look, window)
        all_handlers = {**handlers, **self._session_handlers(), **self._view_handlers()}
        self.actions = CommandActions(all_handlers, window)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.palette.restyle(look)

    def _session_handlers(self) -> Handlers:
        sessions = self._parts.sessions
        selection = self._parts.selection
        split_view = self._parts.split_view
        return {
            "palette.commands": self.open_commands,
            "palette.sessions": self.open_sessions,
            "page.compare": self.compare,
            "page.back": selection.leave_page,
            "sessions.search": sessions.open_search,
            **{f"session.{number}": partial(self._go_to_nth, number) for number in SESSION_NUMBERS},
            "session.tab": split_view.toggle_tab,
            "session.beside": self._toggle_split,
            "session.move": self._move_to_other_pane,
            "tab.close": split_view.close_tab,
            "side.other": split_view.activate_other_pane,
            "tab.next": partial(split_view.go_to_neighbor_tab, 1),
            "tab.previous": partial(split_view.go_to_neighbor_tab, -1),
            "session.rename": lambda: sessions.rename(selection.session),
            "session.pin": lambda: self._request(SessionAction.UNPIN if self._row().pinned else SessionAction.PIN),
            "session.archive": lambda: self._request(
                SessionAction.UNARCHIVE if self._row().archived else SessionAction.ARCHIVE
            ),
            "session.trash": partial(self._request, SessionAction.TRASH),
            "session.fork": partial(self._request, SessionAction.FORK),
            "session.replay": partial(self._request, SessionAction.REPLAY),
            "session.folder": partial(self._request, SessionAction.OPEN_FOLDER),
            "session.editor": partial(self._request, SessionAction.OPEN_EDITOR),
            "session.terminal": partial(self._request, SessionAction.OPEN_TERMINAL),
            "session.export": partial(self._request, SessionAction.EXPORT),
            "sessions.import": lambda: sessions.action_requested.emit(SessionAction.IMPORT, []),
            "window.full": self._toggle_full_screen,
            "window.help": self.open_help,
            "window.keys": lambda: ShortcutsDialog(self._look, self._window).open(),
        }

    def _view_handlers(self) -> Handlers:
        """Return the handlers of the commands that act on the active session view.

        If the step pane covers the view, it is closed first.
        """
        handlers: Handlers = {
            "run.stop": lambda: self._view.page.stop.emit(),
            "run.pause": lambda: self._view.page.pause.emit(),
            "run.resume": lambda: self._view.page.resume.emit(),
            "run.compact": lambda: self._view.context.compact_requested.emit(),
            "run.edit": lambda: self._view.page.edit_message(),
            "run.model": lambda: self._view.page.rerun_message(),
            "run.find": lambda: self._view.page.open_find(),
            "session.model": lambda: self._view.composer.model.search_requested.emit(),
            "session.commit": lambda: self._view.changes.commit_requested.emit(),
            "session.revert": lambda: self._view.open_revert_menu(),
            "session.undo_revert": lambda: self._view.undo_revert(),
            "composer.focus": lambda: self._view.focus_composer(),
            **{f"view.{name}": partial(self._go_to_view_tab, name) for name in SESSION_TABS},
        }
        uncovering = self._parts.columns.uncovering
        return {command_id: uncovering(handler) for command_id, handler in handlers.items()}

    @property
    def _view(self) -> SessionView:
        return self._parts.split_view.active_view

    def _go_to_view_tab(self, name: str) -> None:
        self._view.go_to_tab(name)

    def open_help(self) -> None:
        HelpDialog(self._look, self._window).open()

    def _toggle_full_screen(self) -> None:
        shell = self._parts.shell
        shell.setWindowState(shell.windowState() ^ Qt.WindowState.WindowFullScreen)

    def open_commands(self) -> None:
        recent = self._state.text("recent").split()
        self.palette.open_with(self.actions.entries(), self.tr("Type a command"), self._run_and_record, recent)

    def open_sessions(self) -> None:
        self.pick_session(self.tr("Go to session"), self._parts.selection.choose_session)

    def pick_session(self, hint: str, act: Callable[[str], object], *, exclude: str = "") -> None:
        """Let the user choose a session other than `exclude`, then call `act` with its ID."""
        rows = [row for row in self._parts.sessions.all_sessions() if row.id != exclude]
        self.palette.open_with(session_entries(rows, self._parts.selection.session), hint, act)

    def _toggle_split(self) -> None:
        split_view = self._parts.split_view
        if split_view.is_split:
            split_view.close_other_pane()
        else:
            hint = self.tr("Choose the session to show next to this one")
            self.pick_session(hint, split_view.show_in_other_pane, exclude=split_view.active_pane.session)

    def _move_to_other_pane(self) -> None:
        split_view = self._parts.split_view
        if not split_view.move_to_other_pane():
            hint = self.tr("Choose the session to show here instead")
            self.pick_session(hint, split_view.move_to_other_pane, exclude=split_view.active_pane.session)

    def compare(self) -> None:
        """Compare the current session with the one it was forked from.

        If there is none, the page asks for a session.
        """
        row = self._row()
        self._parts.selection.choose_page("compare", *filter(None, (row.forked_from, row.id)))

    def _run_and_record(self, command_id: str) -> None:
        """Run a command chosen in the palette, and record it as recently used."""
        earlier_ids = [earlier_id for earlier_id in self._state.text("recent").split() if earlier_id != command_id]
        recent_ids = [command_id, *earlier_ids][:KEEP_RECENT]
        self._state.set_text("recent", " ".join(recent_ids))
        self.actions.trigger(command_id)

    def _row(self) -> SessionRow:
        return self._parts.row(self._parts.selection.session)

    def _request(self, action: SessionAction) -> None:
        """Request an action on the current session."""
        self._parts.sessions.action_requested.emit(action, [self._parts.selection.session])

    def _go_to_nth(self, number: int) -> None:
        if session := self._parts.sessions.nth_session(number):
            if self.palette.isVisible():
                self.palette.dismiss()  # the listed commands may not apply to the other session
            self._parts.selection.choose_session(session)
