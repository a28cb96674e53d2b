"""Imports as they go: one file after the other, shown in the dialog until something can be looked at, then below."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from core.domain.problems import Problem
from ui.bridge import Bridge
from ui.import_dialog import ImportDialog, Left
from ui.tasks import Tasks
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.exchange.imports import Brought

TICK_MS = 100


@dataclass(slots=True)
class _Far:
    """How far a file is, and what can be looked at of it: written in the engine's thread, read in the window's."""

    name: str
    done: int = 0
    size: int = 1
    session: str = ""

    def hear(self, done: int, size: int) -> None:
        self.done, self.size = done, size

    def begin(self, session: str) -> None:
        self.session = self.session or session


class ImportDoor(QObject):
    """`open` shows what other agents left here; `take` imports files."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(window)
        self._window, self._bridge, self._tasks = window, bridge, tasks
        self._left: deque[str] = deque()
        self._going: asyncio.Task[None] | None = None
        self._dialog: ImportDialog | None = None
        self._far = _Far("")
        self._shown = ""
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._show)
        window.status.cut_wanted.connect(self.cut)
        tasks.start(self._index(), "index imports")

    def open(self) -> None:
        dialog = ImportDialog(self._window.look, self._window)
        self._dialog = dialog

        async def look() -> None:
            found = await self._bridge.ask(lambda engine: engine.desk.lying(Path.home()))
            if self._dialog is dialog:
                dialog.show_left([Left(one.agent, str(one.path), one.size, one.changed) for one in found])

        def closed() -> None:
            self._dialog = None

        dialog.wanted.connect(self.take)
        dialog.rejected.connect(self.cut)
        dialog.finished.connect(closed)
        self._tasks.start(look(), "look for runs of others")
        dialog.open()

    def take(self, paths: Sequence[str]) -> None:
        """After those that are under way."""
        self._left.extend(paths)
        if self._left and not self._timer.isActive():  # the work itself begins later: two may be wished at once
            self._timer.start()
            self._tasks.start(self._work(), "import")

    def cut(self) -> None:
        """What was read of a file stays; the next time goes on there."""
        self._left.clear()
        if self._going:
            self._going.cancel()

    async def _work(self) -> None:
        self._going = asyncio.current_task()
        self._shown = ""
        brought: list[Brought] = []
        try:
            while self._left:
                brought += await self._one(self._left.popleft())
        finally:
            self._going = None
            self._timer.stop()
            self._window.status.show_work("")
        self._tell(brought)
        await self._index()

    async def _one(self, path: str) -> "list[Brought]":
        far = self._far = _Far(Path(path).name)

        async def bring(engine: "Engine") -> "Brought":
            return await engine.desk.bring(Path(path), far.hear, far.begin)

        try:
            return [await self._bridge.ask(bring)]
        except Problem as problem:
            if self._dialog:
                self._dialog.show_trouble(str(problem))
            else:
                self._window.tell(problem.trouble)
            return []

    def _show(self) -> None:
        far = self._far
        if far.session and not self._shown:
            self._go_to(far.session)
        words = self.tr("Reading {}…").format(far.name)
        if self._dialog:
            self._dialog.show_progress(words, far.done, far.size)
        else:
            share = min(99, far.done * 100 // max(1, far.size))
            self._window.status.show_work(f"{words} {share} %", cut=True)

    def _go_to(self, session: str) -> None:
        self._shown = session
        if self._dialog:
            self._dialog.accept()
        self._window.go_to(session)

    def _tell(self, brought: "Sequence[Brought]") -> None:
        if not brought:
            return
        if not self._shown:
            self._go_to(brought[-1].session)
        count = sum(len(one.sessions) for one in brought)
        new = any(one.added for one in brought)
        words = self.tr("1 session imported.") if count == 1 else self.tr("{} sessions imported.").format(count)
        self._window.toast.say(words if new else self.tr("Everything in it was here already."))

    async def _index(self) -> None:
        """Search finds the words of an import a little later: how much later is said."""

        async def unsearched(engine: "Engine") -> int:
            return engine.desk.unsearched()

        most = 0
        while (left := await self._bridge.ask(unsearched)) and self._going is None:
            most = max(most, left)
            self._window.status.show_work(self.tr("Indexing for search… {} %").format((most - left) * 100 // most))
            await asyncio.sleep(TICK_MS / 1000)
        if self._going is None:
            self._window.status.show_work("")
