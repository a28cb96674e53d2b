"""Where sessions leave and arrive: exports with their preview, imports, and what others left on this computer."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from core.domain.problems import Problem
from core.domain.redact import Redactor
from core.exchange.clean import Cleaner, Removed
from core.exchange.comparison import COMPARISONS, Sides
from core.exchange.exporters.page import Markup
from core.exchange.exporters.table import Exporter, exporters
from core.exchange.following import Watch
from core.exchange.imports import Begun, Brought, Erase, Heard, Imports
from core.exchange.leaving import Leaving
from core.exchange.receiver import Receiver
from core.exchange.sender import Sender
from core.exchange.usual import Lying, lying
from core.store.files import in_place_of, size_of
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.align import Alignment
from core.workspace.thread import in_thread, uncut

T = TypeVar("T")
PIECE = 1 << 16  # characters that are handed on at a time


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be removed from an export, and how much there is of it."""

    facts: int
    sessions: int
    removed: Counter[str]
    samples: tuple[Removed, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """`removed` counts the secrets that were taken out, by kind."""

    path: Path
    size: int
    removed: Counter[str]


class Desk:
    """`read` opens a reader for another thread, `known` tells the secrets in use, `erase` forgets sessions."""

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        read: Callable[[], Reader],
        known: Callable[[], Awaitable[Sequence[str]]],
        erase: Erase,
        markup: Markup | None = None,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._receiver: Receiver | None = None
        self._read = read
        self._known = known
        self._exporters = exporters(markup)
        self._poured = asyncio.Event()
        self._watch: Watch | None = None
        self._imports = Imports(journal, reader, read, erase)

    async def receive(self, port: int, report: Callable[[BaseException], None] = lambda problem: None) -> None:
        """Receive traces of other programs on this port of this machine from now on; none for 0.

        `report` is told where they cannot be written.
        """
        if self._receiver and self._receiver.port == port:
            return
        before, self._receiver = self._receiver, None
        if before:
            await before.close()
        if port:
            made = Receiver(self._journal, report)
            await made.open(port)
            self._receiver = made

    async def send(self, address: str, report: Callable[[BaseException], None]) -> None:
        """Send what agents do here to a server of traces, until cancelled."""
        cleaner = Cleaner(Redactor(await self._known()))
        sender = Sender(address, cleaner, self._reader.kept, report)
        forget = self._journal.listen(sender.hear)
        try:
            await sender.run()
        finally:
            forget()

    async def pieces(self, session: str, form: str, told: Callable[[str], None], *, keep_secrets: bool) -> Counter[str]:
        """Tell an export a piece at a time; what was removed."""
        return await self._each(session, keep_secrets, self._exporter(form).write, told, lambda done, size: None)

    async def export(
        self, session: str, form: str, path: Path, *, keep_secrets: bool = False,
        heard: Heard = lambda done, size: None,
    ) -> Exported:  # fmt: skip
        """Write an export to a file, which is there in full or not at all."""
        exporter = self._exporter(form)
        try:
            with in_place_of(path) as part, part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                removed = await self._each(session, keep_secrets, exporter.write, file.write, heard)
            return Exported(path, size_of(path), removed)
        except OSError as error:
            raise _unwritten(path, error) from error

    async def preview(self, session: str, heard: Heard = lambda done, size: None) -> Preview:
        """Look an export through without writing any."""
        cleaner = Cleaner(Redactor(await self._known()))
        facts, sessions = await self._with(session, cleaner, _looked_through, lambda _: None, heard)
        return Preview(facts, sessions, cleaner.counts, tuple(cleaner.samples))

    async def export_comparison(self, sides: Sides, found: Alignment, path: Path) -> Exported:
        """Write two sessions side by side; the end of the file's name says how."""
        write = COMPARISONS.get(path.suffix.removeprefix(".").lower())
        if write is None:
            ends = ", ".join(f".{name}" for name in COMPARISONS)
            raise Problem(f"{path.name} does not say in which form.", "", f"End the name with one of {ends}.")
        cleaner = Cleaner(Redactor(await self._known()))

        def work() -> None:
            with in_place_of(path) as part:
                part.write_text(write(sides, found, cleaner.text), encoding="utf-8", errors="replace", newline="\n")

        try:
            await asyncio.to_thread(work)
            return Exported(path, size_of(path), cleaner.counts)
        except OSError as error:
            raise _unwritten(path, error) from error

    async def bring(
        self, path: Path, heard: Heard = lambda done, size: None, begun: Begun = lambda session: None
    ) -> Brought:
        """Import all of a file that is new. `begun` hears of the session that can be looked at meanwhile."""
        async with self._imports.turn:
            if self._watch:
                self._watch.forget(path)
            try:
                return await self._imports.bring(path, heard, begun)
            finally:
                self._poured.set()

    async def watch(self, home: Path, report: Callable[[BaseException], None]) -> None:
        """Show sessions of other agents on this computer as they grow, until cancelled."""
        self._watch = Watch(home, self._imports, self._poured.set, report)
        try:
            await self._watch.run()
        finally:
            self._watch = None

    def unsearched(self) -> int:
        """How many facts cannot be found by their words yet."""
        return self._reader.unsearched()

    async def make_findable(self) -> None:
        """Until all that was imported is found by its words."""
        await self._journal.make_findable()

    async def keep_findable(self, report: Callable[[BaseException], None]) -> None:
        """The same from now on, also what an earlier end of the program left, until cancelled."""
        while True:
            self._poured.clear()
            try:
                await self.make_findable()
            except Problem as problem:  # the file cannot be written now; it may be later
                report(problem)
            await self._poured.wait()

    async def lying(self, home: Path) -> list[Lying]:
        """Transcripts of other agents on this computer, the newest first."""
        return await asyncio.to_thread(lying, home)

    async def _each(
        self, session: str, keep_secrets: bool, write: Callable[[Leaving], Iterator[str]],
        told: Callable[[str], object], heard: Heard,
    ) -> Counter[str]:  # fmt: skip
        cleaner = Cleaner(None if keep_secrets else Redactor(await self._known()))
        await self._with(session, cleaner, write, told, heard)
        return cleaner.counts

    async def _with(
        self, session: str, cleaner: Cleaner, write: Callable[[Leaving], Iterator[str]],
        told: Callable[[str], object], heard: Heard,
    ) -> tuple[int, int]:  # fmt: skip
        """In a thread of its own, so that runs go on; a piece at a time, so that it can be cut."""
        with ThreadPoolExecutor(1, "export") as thread:
            reader = await in_thread(thread, self._read)
            try:
                leaving = await in_thread(thread, partial(Leaving, reader, session, cleaner))
                pieces = write(leaving)
                while piece := await in_thread(thread, partial(_gathered, pieces)):
                    await in_thread(thread, partial(told, piece))
                    heard(leaving.done, leaving.facts)
                return leaving.facts, len(leaving.family)
            finally:
                await uncut(in_thread(thread, reader.close))

    def _exporter(self, form: str) -> Exporter:
        found = self._exporters.get(form)
        if found is None:
            raise Problem(f"There is no format {form!r}.", "", f"The formats are: {', '.join(self._exporters)}.")
        return found


def _unwritten(path: Path, error: OSError) -> Problem:
    return Problem(f"{path} cannot be written.", f"{error.strerror or error}.", "Choose another folder or name.")


def _looked_through(leaving: Leaving) -> Iterator[str]:
    """Every fact is made clean, and a sign is given now and then."""
    for row in leaving.family:
        for entry in leaving.entries(row):
            if entry.seq % 200 == 0:
                yield "."


def _gathered(pieces: Iterator[str]) -> str:
    """So much that handing it on is worth it; empty at the end."""
    found: list[str] = []
    size = 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size >= PIECE or piece == ".":
            break
    return "".join(found)
