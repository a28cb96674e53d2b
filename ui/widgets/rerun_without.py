"""Repeats a run without a memory or skill, and compares both runs to show whether the item helps."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from core.domain.sessions import SessionRow
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import StartTask
from ui.base.selection import Selection
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.confirm_dialog import ConfirmDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

MAX_TITLE = 60  # characters of the title of a session that are shown


class RunReference(Protocol):
    """A run in which the memory or skill was used."""

    @property
    def session(self) -> str: ...

    @property
    def run(self) -> int: ...


class RerunWithout(NamedTuple):
    """Repeats a run without a memory or skill: asks for confirmation, starts the run and opens the comparison."""

    bridge: Bridge
    start: StartTask
    selection: Selection
    reader: DeferredReader

    def confirm(self, item: str, uses: Iterable[RunReference], look: Look, over: QWidget) -> None:
        """Ask whether to repeat the latest of these runs without `item`; a run costs tokens and changes files.

        `uses` are sorted from the latest to the earliest.
        """
        for use in uses:
            if session := self.reader.session(use.session):  # it may have been deleted
                self._confirm_rerun(item, session, use.run, look, over)
                return

    def _confirm_rerun(self, item: str, session: SessionRow, run: int, look: Look, over: QWidget) -> None:
        title = visible(session.title)
        shortened_title = title if len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1]}…"
        text = _tr("“{}” runs again in {} without this item, with the current files. Then both runs are compared.")
        dialog = ConfirmDialog(
            look,
            _tr("Run again without this item?"),
            text.format(shortened_title, visible(session.folder)),
            _tr("Run again"),
            partial(self.start_run, item, session.id, run),
            over,
            tone="primary",
        )
        dialog.open()

    def start_run(self, item: str, session: str, run: int) -> None:
        async def begin(engine: "Engine") -> str:
            fork = await engine.history.fork_to_rerun(session, run, excluded=(item,))
            await engine.history.start_fork(fork)
            return fork.session_id

        async def send() -> None:
            self.selection.choose_page("compare", session, await self.bridge.ask(begin))

        self.start(send(), "repeat a run")


def _tr(text: str) -> str:
    return QCoreApplication.translate("without", text)
