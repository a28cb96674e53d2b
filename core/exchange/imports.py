"""Bring sessions of other programs, and exported ones of our own, into the journal."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from core.domain.events import RunEnded, RunEvent
from core.domain.exchanged import TranscriptRead
from core.domain.problems import Problem
from core.exchange.apart import LARGE, parts_of
from core.exchange.importers import own
from core.exchange.importers.record import Importer
from core.exchange.known import Known, last_read
from core.exchange.reading import HEAD, Part, Reading, importer_of
from core.exchange.writing import Writing
from core.store.bulk import bulk
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.thread import in_thread, uncut

GOES_ON = frozenset({"running", "waiting", "interrupted", "paused"})
ENDED = "imported here; it went on where it was exported"


@dataclass(frozen=True, slots=True)
class Brought:
    """The session to look at first, all of the file, who wrote it, and how many facts are new: 0 where all was here."""

    session: str
    sessions: tuple[str, ...]
    agent: str
    added: int


Heard = Callable[[int, int], None]  # bytes read, of how many
Begun = Callable[[str], None]
Erase = Callable[[Sequence[str]], Awaitable[object]]


class Imports:
    """Reads in a thread, writes through the journal. `read` opens a reader for that thread, `erase` forgets sessions
    of which only a part could be written."""

    def __init__(self, journal: Journal, reader: Reader, read: Callable[[], Reader], erase: Erase) -> None:
        self._journal = journal
        self._reader = reader
        self._read = read
        self._erase = erase
        self.turn = asyncio.Lock()  # nothing is read twice at the same time

    def known(self, agent: str) -> Known:
        """What is here already of a program."""
        return Known(self._read, agent)

    def writing(self) -> Writing:
        """For one reading."""
        return Writing(self._journal)

    async def bring(self, path: Path, heard: Heard, begun: Begun) -> Brought:
        """In its turn: all of a file that is new. A cancel leaves what was read of a foreign one; the next time goes on
        there. `begun` is told which session can be looked at while the rest of it is read."""
        with ThreadPoolExecutor(1, "import") as thread:
            if await in_thread(thread, partial(_is_own, path)):
                return await self._own(path, heard, thread)
            return await self._foreign(path, heard, begun, thread)

    async def _foreign(self, path: Path, heard: Heard, begun: Begun, thread: ThreadPoolExecutor) -> Brought:
        importer = await in_thread(thread, partial(importer_of, path))
        stopped = Event()
        read = partial(next, self._parts(path, importer, stopped.is_set), None)
        writing, added, names = self.writing(), 0, tuple[str, ...]()
        coming = in_thread(thread, read)
        try:
            while part := await asyncio.shield(coming):
                coming = in_thread(thread, read)  # the next is read while this one is written
                added += await uncut(writing.write(part))
                names = part.sessions
                if not part.last:
                    heard(part.done, part.size)
                    if names:
                        begun(names[0])
        finally:
            stopped.set()
            await uncut(_to_the_end(coming, partial(in_thread, thread, read), writing))
        if not names:
            raise Problem(f"{path.name} cannot be imported.", "Nothing is said in it.", "")
        return Brought(names[0], names, importer.agent, added)

    def _parts(self, path: Path, importer: Importer, stopped: Callable[[], bool]) -> Iterator[Part]:
        if path.stat().st_size >= LARGE:
            yield from parts_of(path, self._reader.path, stopped)
            return
        known = self.known(importer.agent)
        try:
            yield from Reading(path, importer, known.id_of, known.read_before).whole(stopped)
        finally:
            known.close()

    async def _own(self, path: Path, heard: Heard, thread: ThreadPoolExecutor) -> Brought:
        """Looked through first, then written; a part of it alone is taken back."""
        there = await in_thread(thread, partial(own.check, path))
        names = tuple(there)
        rows = [row for name in names if (row := self._reader.session(name))]
        if any(not row.source for row in rows) or (rows and all(self._complete(row.id, there) for row in rows)):
            return Brought(names[0], names, own.AGENT, 0)
        await self._erase([row.id for row in rows])
        size, done = (await in_thread(thread, path.stat)).st_size, 0
        batches: Iterator[own.Batch] = own.batches(path)
        written: list[str] = []
        try:
            while batch := await in_thread(thread, partial(next, batches, None)):
                if batch.session not in written:
                    written.append(batch.session)
                many = await in_thread(thread, partial(bulk, batch.facts, batch.contents))
                await self._journal.pour(batch.session, many)
                done += batch.bytes
                heard(min(done, size), size)
            for name in names:
                await self._journal.copy(name, self._last_words(name, path, there[name]))
        except BaseException:
            await uncut(self._forget(written))
            raise
        return Brought(names[0], names, own.AGENT, sum(there.values()))

    async def _forget(self, sessions: Sequence[str]) -> None:
        await self._erase([name for name in sessions if self._reader.session(name)])

    def _last_words(self, session: str, path: Path, facts: int) -> list[tuple[int, RunEvent]]:
        row = self._reader.session(session)
        assert row is not None
        ends: list[tuple[int, RunEvent]] = [(row.updated, TranscriptRead(str(path), facts))]
        return [(row.updated, RunEnded("stopped", ENDED)), *ends] if row.status in GOES_ON else ends

    def _complete(self, session: str, there: dict[str, int]) -> bool:
        read = last_read(self._reader, session)
        return read is not None and read.records >= there[session]


async def _to_the_end(
    coming: "asyncio.Future[Part | None]", read: Callable[[], "asyncio.Future[Part | None]"], writing: Writing
) -> None:
    """After a cut something is read that is not written; then how far it went."""
    await asyncio.wait({coming})
    while not coming.exception() and (part := coming.result()):
        await writing.write(part)
        coming = read()
        await asyncio.wait({coming})


def _is_own(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return own.knows(file.read(HEAD))
