"""A run once more without a memory or a skill, then both side by side: does it help?"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from ui.bridge import Bridge
from ui.page import Start
from ui.reading import Reading
from ui.selection import Selection
from ui.theme import Look
from ui.visible import visible
from ui.widgets.confirm import Confirm

if TYPE_CHECKING:
    from core.engine.engine import Engine

TITLE = 60


class Used(Protocol):
    """A run that had it."""

    @property
    def session(self) -> str: ...

    @property
    def run(self) -> int: ...


class Without(NamedTuple):
    """What is needed for it, of the window."""

    bridge: Bridge
    start: Start
    selection: Selection
    reading: Reading

    def ask(self, item: str, uses: Iterable[Used], look: Look, over: QWidget) -> None:
        """`item` is left out of the newest of these runs. It works, and costs: the person says first that it may."""
        found = next(((row, use.run) for use in uses if (row := self.reading.session(use.session))), None)
        if found is None:
            return
        row, run = found
        title = visible(row.title)
        said = _tr("“{}” is done once more in {}, as the folder is now, without this. Then both are laid side by side.")
        said = said.format(title if len(title) <= TITLE else f"{title[: TITLE - 1]}…", visible(row.folder))
        act = partial(self.do, item, row.id, run)
        Confirm(look, _tr("Try it without?"), said, _tr("Run it again"), act, over, tone="primary").open()

    def do(self, item: str, session: str, run: int) -> None:
        async def begin(engine: "Engine") -> str:
            beginning = await engine.history.again(session, run, without=(item,))
            await engine.history.begin(beginning)
            return beginning.session

        async def send() -> None:
            self.selection.choose_page("compare", session, await self.bridge.ask(begin))

        self.start(send(), "try a run again")


def _tr(text: str) -> str:
    return QCoreApplication.translate("without", text)
