"""What each command of the table does in the window."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from core.domain.sessions import SessionRow
from ui.actions import Actions
from ui.desk import Desk
from ui.finding import session_entries
from ui.help_dialog import HelpDialog
from ui.keys_dialog import KeysDialog
from ui.palette.panel import KEEP_RECENT, Palette
from ui.selection import Selection
from ui.sessions.panel import SessionsPanel
from ui.shell import Shell
from ui.theme import Look
from ui.window_state import WindowState

COUNTED: Final = range(1, 10)


Acts = Mapping[str, Callable[[], object]]


class Parts(NamedTuple):
    """What of the window commands about sessions work on."""

    shell: Shell
    sessions: SessionsPanel
    selection: Selection
    desk: Desk
    row: Callable[[str], SessionRow]


class Deeds(QObject):
    """The one place where ids of commands meet what they do: `own` is what the window does itself."""

    def __init__(self, look: Look, window: QWidget, state: WindowState, parts: Parts, own: Acts) -> None:
        super().__init__(window)
        self._look, self._window, self._state, self._parts = look, window, state, parts
        self.palette = Palette(look, window)
        self.actions = Actions({**own, **self._of_sessions()}, window)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.palette.restyle(look)

    def _of_sessions(self) -> Acts:
        sessions, selection = self._parts.sessions, self._parts.selection
        return {
            "palette.commands": self.open_commands,
            "palette.sessions": self.open_sessions,
            "page.compare": self.compare,
            "sessions.search": sessions.open_search,
            **{f"session.{number}": partial(self._go_to_nth, number) for number in COUNTED},
            "session.tab": self._parts.desk.turn_tab,
            "session.beside": self._turn_beside,
            "session.move": self._move_over,
            "tab.close": self._parts.desk.close_tab,
            "side.other": self._parts.desk.go_over,
            "tab.next": partial(self._parts.desk.go_to_tab, 1),
            "tab.previous": partial(self._parts.desk.go_to_tab, -1),
            "session.rename": lambda: sessions.rename(selection.session),
            "session.pin": lambda: self._file("unpin" if self._row().pinned else "pin"),
            "session.archive": lambda: self._file("unarchive" if self._row().archived else "archive"),
            "session.trash": lambda: self._file("trash"),
            "session.fork": lambda: self._file("fork"),
            "session.folder": lambda: self._file("folder"),
            "session.export": lambda: self._file("export"),
            "sessions.import": lambda: self._parts.sessions.filed.emit("import", []),
            "window.full": self._turn_full,
            "window.close": self._parts.shell.close,
            "window.help": self.open_help,
            "window.keys": lambda: KeysDialog(self._look, self._window).open(),
        }

    def open_help(self) -> None:
        HelpDialog(self._look, self._window).open()

    def _turn_full(self) -> None:
        shell = self._parts.shell
        shell.setWindowState(shell.windowState() ^ Qt.WindowState.WindowFullScreen)

    def open_commands(self) -> None:
        recent = self._state.text("recent").split()
        self.palette.open_with(self.actions.entries(), self.tr("What shall be done?"), self._do, recent)

    def open_sessions(self) -> None:
        self.pick_session(self.tr("Go to which session?"), self._parts.selection.choose_session)

    def pick_session(self, hint: str, act: Callable[[str], object], *, but: str = "") -> None:
        """Let the person choose one, `but` not this."""
        rows = [row for row in self._parts.sessions.everything() if row.id != but]
        self.palette.open_with(session_entries(rows, self._parts.selection.session), hint, act)

    def _turn_beside(self) -> None:
        desk = self._parts.desk
        if desk.double:
            desk.show_beside("")
        else:
            hint = self.tr("Show which session beside this one?")
            self.pick_session(hint, desk.show_beside, but=desk.side.name)

    def _move_over(self) -> None:
        desk = self._parts.desk
        if not desk.move_over():
            hint = self.tr("Show which session here instead?")
            self.pick_session(hint, desk.move_over, but=desk.side.name)

    def compare(self) -> None:
        """The session on display with the one it was forked from, else with one that is asked for."""
        row = self._row()
        shown = (row.origin, row.id) if row.origin else (row.id,) if row.id else ()
        self._parts.selection.choose_page("compare", *shown)

    def _do(self, name: str) -> None:
        """What was done last is offered first."""
        kept = [name, *(each for each in self._state.text("recent").split() if each != name)]
        self._state.keep_text("recent", " ".join(kept[:KEEP_RECENT]))
        self.actions.trigger(name)

    def _row(self) -> SessionRow:
        return self._parts.row(self._parts.selection.session)

    def _file(self, word: str) -> None:
        self._parts.sessions.filed.emit(word, [self._parts.selection.session])

    def _go_to_nth(self, number: int) -> None:
        if name := self._parts.sessions.nth(number):
            self._parts.selection.choose_session(name)
