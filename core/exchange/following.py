"""Sessions of other agents as they grow, while they are watched: what they write is told a moment later."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from core.domain.problems import Problem
from core.exchange.importers.growing import Growing, Replaced
from core.exchange.importers.table import GROWING
from core.exchange.imports import Known, in_thread, surely
from core.exchange.looking import Look
from core.exchange.reading import Part, Reading
from core.store.reader import Reader

TICK_S = 1.0
SHARE = 10  # looking takes at most one part of so many
QUIET = 2  # looks without news after which nothing is held back any more
MOST = 40  # followed at once; the one that was quiet longest is let go

Write = Callable[[Part], Awaitable[object]]


@dataclass(slots=True)
class _Followed:
    known: Known
    reading: Reading
    quiet: int = 0


class Watch:
    """`run` until it is cancelled. `write` makes facts of a part, `report` is told what is wrong with a file, once."""

    def __init__(
        self, home: Path, read: Callable[[], Reader], write: Write, turn: asyncio.Lock,
        report: Callable[[BaseException], None],
    ) -> None:  # fmt: skip
        self._looks = [(Look(home, (pattern,)), importer) for importer in GROWING for pattern in importer.usual]
        self._read, self._write, self._turn, self._report = read, write, turn, report
        self._followed: dict[Path, _Followed] = {}
        self._left: set[Path] = set()
        self._stale: list[Known] = []

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "watch") as thread:
            try:
                while True:
                    began = loop.time()
                    async with self._turn:
                        await surely(self._look(thread))
                    await asyncio.sleep(max(TICK_S, SHARE * (loop.time() - began)))
            finally:
                for path in tuple(self._followed):
                    await asyncio.shield(self._let_go(path, thread))

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
        for followed in tuple(self._followed.values()):
            if followed.quiet == QUIET:
                await self._write(await in_thread(thread, followed.reading.rest))
        while len(self._followed) > MOST:
            await self._let_go(next(iter(self._followed)), thread)

    async def _hear(self, path: Path, importer: Growing, thread: ThreadPoolExecutor) -> None:
        """What is new in a file. One that was begun anew is read from its beginning."""
        followed = self._followed.pop(path, None)
        if followed is None:
            known = Known(self._read, importer.agent)
            followed = _Followed(known, Reading(path, importer, known.id_of, known.read_before, importer.follow(path)))
        self._followed[path] = followed
        followed.quiet = 0
        try:
            parts = followed.reading.parts()
            while part := await in_thread(thread, lambda: next(parts, None)):
                await self._write(part)
        except Replaced:
            await self._let_go(path, thread)
            await self._hear(path, importer, thread)
        except Problem as problem:
            self._left.add(path)
            self._followed.pop(path)
            await in_thread(thread, followed.known.close)
            self._report(problem)

    async def _let_go(self, path: Path, thread: ThreadPoolExecutor) -> None:
        followed = self._followed.pop(path)
        await self._write(await in_thread(thread, followed.reading.end))
        await in_thread(thread, followed.known.close)
