"""Sessions of other agents as they grow, while they are watched: what they write is told a moment later."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.domain.problems import Problem
from core.exchange.importers.growing import Growing, Replaced
from core.exchange.importers.table import GROWING
from core.exchange.imports import Imports
from core.exchange.known import Known
from core.exchange.looking import Look
from core.exchange.reading import Part, Reading
from core.exchange.writing import Writing
from core.workspace.thread import in_thread, uncut

TICK_S = 1.0
SHARE = 10  # looking takes at most one part of so many
QUIET = 2  # looks without news after which nothing is held back any more
MOST = 40  # followed at once; the one that was quiet longest is let go


@dataclass(slots=True)
class _Followed:
    known: Known
    reading: Reading
    writing: Writing
    quiet: int = 0


class Watch:
    """`run` until it is cancelled. `written` is told of new facts, `report` what is wrong with a file, once."""

    def __init__(
        self, home: Path, imports: Imports, written: Callable[[], None], report: Callable[[BaseException], None]
    ) -> None:
        self._looks = [(Look(home, importer.usual), importer) for importer in GROWING]
        self._imports, self._written, self._report = imports, written, report
        self._followed: dict[Path, _Followed] = {}
        self._left: set[Path] = set()
        self._stale: list[Known] = []

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "watch") as thread:
            try:
                while True:
                    began = loop.time()
                    async with self._imports.turn:
                        await uncut(self._look(thread))
                    await asyncio.sleep(max(TICK_S, SHARE * (loop.time() - began)))
            finally:
                for path in tuple(self._followed):
                    await uncut(self._let_go(path, thread))

    def forget(self, path: Path) -> None:
        """It is imported now: what is known of it will be out of date. In its turn."""
        if followed := self._followed.pop(path.absolute(), None):
            self._stale.append(followed.known)

    async def _look(self, thread: ThreadPoolExecutor) -> None:
        while self._stale:
            await in_thread(thread, self._stale.pop().close)
        for followed in self._followed.values():
            followed.quiet += 1
        for look, importer in self._looks:
            for path in await in_thread(thread, look.changed):
                if path not in self._left:
                    await self._hear(path, importer, thread)
        for path, followed in tuple(self._followed.items()):
            if followed.quiet == QUIET:
                await self._write(path, _one(followed.reading.rest), thread)
        while len(self._followed) > MOST:
            await self._let_go(next(iter(self._followed)), thread)

    async def _hear(self, path: Path, importer: Growing, thread: ThreadPoolExecutor) -> None:
        """What is new in a file. One that was begun anew is read from its beginning."""
        followed = self._followed.pop(path, None)
        if followed is None:
            known = self._imports.known(importer.agent)
            reading = Reading(path, importer, known.id_of, known.read_before, importer.follow(path))
            followed = _Followed(known, reading, self._imports.writing())
        self._followed[path] = followed
        followed.quiet = 0
        try:
            await self._write(path, followed.reading.parts(), thread)
        except Replaced:
            await self._let_go(path, thread)
            await self._hear(path, importer, thread)

    async def _write(self, path: Path, parts: Iterator[Part], thread: ThreadPoolExecutor) -> None:
        """Make facts of it. A file that cannot be read is left alone; where none can be written, it is begun again."""
        writing = self._followed[path].writing
        try:
            while part := await in_thread(thread, partial(next, parts, None)):
                await writing.write(part)
                self._written()
        except Problem as problem:
            if writing.whole:
                self._left.add(path)
            await in_thread(thread, self._followed.pop(path).known.close)
            self._report(problem)

    async def _let_go(self, path: Path, thread: ThreadPoolExecutor) -> None:
        await self._write(path, _one(self._followed[path].reading.end), thread)
        if followed := self._followed.pop(path, None):
            await in_thread(thread, followed.known.close)


def _one(make: Callable[[], Part]) -> Iterator[Part]:
    """Made when it is asked for."""
    yield make()
