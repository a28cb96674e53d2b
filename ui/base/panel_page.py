"""The base class of the pages in the central area, and what the window provides to them."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from core.domain.problems import ErrorDetails
from core.domain.sessions import SessionRow
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.selection import Selection
from ui.base.tasks import UndoAction
from ui.base.window_state import WindowState
from ui.style.theme import Look

StartTask = Callable[[Coroutine[Any, Any, Any], str], asyncio.Task[bool] | None]


class ShowToast(Protocol):
    """Shows a toast below the central area. If `undo` is given, the toast has an Undo button."""

    def __call__(self, text: str, undo: UndoAction | None = None) -> None: ...


class PickSession(Protocol):
    """Lets the user choose a session other than `exclude`, then calls `act` with its ID."""

    def __call__(self, hint: str, act: Callable[[str], object], *, exclude: str = "") -> None: ...


class PageContext(NamedTuple):
    """What the window provides to pages.

    `start_task` runs a coroutine and shows its errors; the coroutine calls the engine with `bridge.ask`. `show_event`
    opens a session at an event. `start_with` opens the start screen with a task filled in. `row` returns the row of a
    session, and `pick_session` lets the user choose a session. `show_error` shows an error above the page, and
    `show_toast` a toast below it.
    """

    look: Look
    reader: DeferredReader
    selection: Selection
    state: WindowState
    bridge: Bridge
    start_task: StartTask
    show_error: Callable[[ErrorDetails], None]
    show_toast: ShowToast
    show_event: Callable[[str, int], None]
    start_with: Callable[[str], None]
    row: Callable[[str], SessionRow]
    pick_session: PickSession
    board: Any
    """The `BoardSource` of the Overview page."""


class PanelPage(QFrame):
    """The base class of pages.

    A page is created on its first visit. Later it is only hidden, so that it keeps its state. It is a frame because a
    plain widget with the focus has no role for screen readers.
    """

    count_changed = Signal()  # the number of items that wait for the user on this page has changed
    sidebar_fold_requested = Signal(bool)  # whether the page needs the width of the sidebar, which is then hidden

    def activate(self, about: tuple[str, ...]) -> None:
        """Update the page because it is shown. `about` identifies the item to show, in a form that the page defines."""

    def apply_updates(self, facts: Sequence[object]) -> None:
        """Apply a batch of engine updates. Called only while the page is visible."""

    def focus_areas(self) -> Sequence[QWidget]:
        """Return the visible areas between which F6 moves the keyboard focus, in their order."""
        return (self,)

    def unsaved_changes(self) -> str:
        """Return a description of the unsaved changes for the user; "" if there are none."""
        return ""

    def restyle(self, look: Look) -> None:
        """Apply a new theme or text size."""
