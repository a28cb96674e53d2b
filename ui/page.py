"""What a page in the centre of the window is given, and what it answers."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from core.domain.problems import Trouble
from core.domain.sessions import SessionRow
from ui.bridge import Bridge
from ui.reading import Reading
from ui.selection import Selection
from ui.theme import Look
from ui.window_state import WindowState

Start = Callable[[Coroutine[Any, Any, Any], str], None]


class Say(Protocol):
    """One line at the foot of the centre; with `undo` it can be taken back from there."""

    def __call__(self, text: str, undo: Callable[[], None] | None = None) -> None: ...


class PageParts(NamedTuple):
    """What of the window a page may use.

    `start` runs a coroutine of the page and tells its problems; inside it `bridge.ask` calls the engine. `go_to` shows
    a session at a line of its journal, `begin` the start of a run with these words, `row` knows a session's line in the
    list, `pick` lets the person choose one. `tell` says a trouble above the page, `say` what was done, with its undo.
    """

    look: Look
    reading: Reading
    selection: Selection
    state: WindowState
    bridge: Bridge
    start: Start
    tell: Callable[[Trouble], None]
    say: Say
    go_to: Callable[[str, int], None]
    begin: Callable[[str], None]
    row: Callable[[str], SessionRow]
    pick: Callable[[str, Callable[[str], None]], None]


class Page(QWidget):
    """Stays as it was left: it is built on the first visit and only hidden afterwards."""

    counted = Signal()  # what waits on the page changed
    fold_wanted = Signal(bool)  # the page wants the room of the sidebar, or gives it back

    def open_on(self, about: tuple[str, ...]) -> None:
        """It comes on the screen: bring it up to date. `about` is what the person wants to see of it, if anything."""

    def hear(self, facts: Sequence[object]) -> None:
        """A batch of facts while it is on the screen."""

    def unsaved(self) -> str:
        """What would be lost if the window closed now, as a person calls it; empty where nothing would."""
        return ""

    def restyle(self, look: Look) -> None:
        """The theme or the size of the letters changed."""
