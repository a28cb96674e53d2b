"""Follows sessions of other agents on this computer while their programs write them."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.domain.problems import Problem
from core.exchange.imported_sessions import ImportedSessions
from core.exchange.importers.followable import FileReplaced, FollowableImporter
from core.exchange.importers.registry import FOLLOWABLE
from core.exchange.session_importer import SessionImporter
from core.exchange.transcript_poller import TranscriptPoller
from core.exchange.transcript_reader import ImportBatch, TranscriptReader
from core.exchange.transcript_writer import TranscriptWriter
from core.workspace.threads import await_to_completion, run_in_thread

TICK_S = 1.0
IDLE_RATIO = 10  # the pause after a poll lasts at least this many times as long as the poll
QUIET_POLLS = 2  # after this many polls without new records, a reply is taken to be complete
MAX_FOLLOWED = 40  # transcripts followed at once; for a new one, the one that has been quiet longest is dropped


@dataclass(slots=True)
class _Followed:
    """A transcript that is followed. `quiet_polls` is the number of polls since its last new record."""

    imported: ImportedSessions
    reader: TranscriptReader
    writer: TranscriptWriter
    quiet_polls: int = 0


class SessionFollower:
    """Polls for changed transcripts and imports their new records.

    `on_written` is called after new events are stored, `report` with the error of a file, once for each file.
    """

    def __init__(
        self,
        home: Path,
        session_importer: SessionImporter,
        on_written: Callable[[], None],
        report: Callable[[BaseException], None],
    ) -> None:
        self._pollers = [(TranscriptPoller(home, importer.default_locations), importer) for importer in FOLLOWABLE]
        self._importer = session_importer
        self._on_written = on_written
        self._report = report
        self._followed: dict[Path, _Followed] = {}
        self._ignored: set[Path] = set()
        self._to_close: list[ImportedSessions] = []  # of files that are no longer followed

    async def run(self) -> None:
        """Poll until canceled, then close the sessions of the followed transcripts."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "watch") as thread:
            try:
                while True:
                    started = loop.time()
                    async with self._importer.exclusive():
                        await await_to_completion(self._poll(thread))
                    await asyncio.sleep(max(TICK_S, IDLE_RATIO * (loop.time() - started)))
            finally:
                for path in tuple(self._followed):
                    await await_to_completion(self._unfollow(path, thread))

    def forget(self, path: Path) -> None:
        """Stop following a file that is about to be imported: its read position becomes outdated.

        Called while no poll is running.
        """
        if followed := self._followed.pop(path.absolute(), None):
            self._to_close.append(followed.imported)

    async def _poll(self, thread: ThreadPoolExecutor) -> None:
        while self._to_close:
            await run_in_thread(thread, self._to_close.pop().close)
        for followed in self._followed.values():
            followed.quiet_polls += 1
        for poller, importer in self._pollers:
            for path in await run_in_thread(thread, poller.changed_files):
                if path not in self._ignored:
                    await self._import_new(path, importer, thread)
        for path, followed in tuple(self._followed.items()):
            if followed.quiet_polls == QUIET_POLLS:
                await self._write(path, _single(followed.reader.flush), thread)
        while len(self._followed) > MAX_FOLLOWED:
            await self._unfollow(next(iter(self._followed)), thread)

    async def _import_new(self, path: Path, importer: FollowableImporter, thread: ThreadPoolExecutor) -> None:
        """Import the new records of a file. A file that was replaced is read from its beginning."""
        followed = self._followed.pop(path, None) or self._follow(path, importer)
        followed.quiet_polls = 0
        self._followed[path] = followed  # as the last entry, because the first one is dropped when there are too many
        try:
            await self._write(path, followed.reader.read_new(), thread)
        except FileReplaced:
            await self._unfollow(path, thread)
            await self._import_new(path, importer, thread)

    def _follow(self, path: Path, importer: FollowableImporter) -> _Followed:
        imported = self._importer.imported_sessions(importer.agent)
        reader = TranscriptReader(path, importer, imported.id_of, imported.last_import, importer.follow(path))
        return _Followed(imported, reader, self._importer.new_writer())

    async def _write(self, path: Path, batches: Iterator[ImportBatch], thread: ThreadPoolExecutor) -> None:
        """Store batches of events from a file, and report a failure.

        A file that cannot be read is ignored from then on. If only the database could not be written, the file is read
        again from the last stored position when it changes next.
        """
        writer = self._followed[path].writer
        try:
            while batch := await run_in_thread(thread, partial(next, batches, None)):
                await writer.write(batch)
                self._on_written()
        except Problem as problem:
            if writer.intact:
                self._ignored.add(path)
            await run_in_thread(thread, self._followed.pop(path).imported.close)
            self._report(problem)

    async def _unfollow(self, path: Path, thread: ThreadPoolExecutor) -> None:
        await self._write(path, _single(self._followed[path].reader.finish), thread)
        if followed := self._followed.pop(path, None):
            await run_in_thread(thread, followed.imported.close)


def _single(make: Callable[[], ImportBatch]) -> Iterator[ImportBatch]:
    """Yield one batch. It is created by the thread that advances the iterator."""
    yield make()
