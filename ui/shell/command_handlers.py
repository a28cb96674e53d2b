"""The handlers of the commands in the command table."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

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
from ui.shell.session_entries import session_entries
from ui.shell.shortcuts_dialog import ShortcutsDialog
from ui.shell.split_view import SplitView
from ui.shell.window_frame import WindowFrame
from ui.style.theme import Look

SESSION_NUMBERS: Final = range(1, 10)


Handlers = Mapping[str, Callable[[], object]]


class CommandContext(NamedTuple):
    """The parts of the window on which session commands act; `row` looks up a session by its ID."""

    shell: WindowFrame
    sessions: SessionsPanel
    selection: Selection
    split_view: SplitView
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
        self.actions = CommandActions({**handlers, **self._session_handlers()}, window)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.palette.restyle(look)

    def _session_handlers(self) -> Handlers:
        sessions, selection = self._parts.sessions, self._parts.selection
        return {
            "palette.commands": self.open_commands,
            "palette.sessions": self.open_sessions,
            "page.compare": self.compare,
            "page.back": selection.leave_page,
            "sessions.search": sessions.open_search,
            **{f"session.{number}": partial(self._go_to_nth, number) for number in SESSION_NUMBERS},
            "session.tab": self._parts.split_view.toggle_tab,
            "session.beside": self._toggle_split,
            "session.move": self._move_to_other_pane,
            "tab.close": self._parts.split_view.close_tab,
            "side.other": self._parts.split_view.activate_other_pane,
            "tab.next": partial(self._parts.split_view.go_to_tab, 1),
            "tab.previous": partial(self._parts.split_view.go_to_tab, -1),
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
            "window.full": self._turn_full,
            "window.help": self.open_help,
            "window.keys": lambda: ShortcutsDialog(self._look, self._window).open(),
        }

    def open_help(self) -> None:
        HelpDialog(self._look, self._window).open()

    def _turn_full(self) -> None:
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
            split_view.show_in_other_pane("")
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
        sessions = (row.forked_from, row.id) if row.forked_from else (row.id,) if row.id else ()
        self._parts.selection.choose_page("compare", *sessions)

    def _run_and_record(self, command_id: str) -> None:
        """Run a command chosen in the palette, and record it as recently used."""
        earlier_ids = [each for each in self._state.text("recent").split() if each != command_id]
        self._state.set_text("recent", " ".join([command_id, *earlier_ids][:KEEP_RECENT]))
        self.actions.trigger(command_id)

    def _row(self) -> SessionRow:
        return self._parts.row(self._parts.selection.session)

    def _request(self, action: SessionAction) -> None:
        """Request an action on the current session."""
        self._parts.sessions.action_requested.emit(action, [self._parts.selection.session])

    def _go_to_nth(self, number: int) -> None:
        if name := self._parts.sessions.nth_session(number):
            if self.palette.isVisible():
                self.palette.dismiss()  # the listed commands may not apply to the other session
            self._parts.selection.choose_session(name)
