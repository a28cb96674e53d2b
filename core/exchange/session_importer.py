"""Imports sessions of other programs, and our own exported ones, into the event log."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event

from core.domain.events import RunEnded, SessionEvent
from core.domain.import_events import TranscriptImported
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.exchange.import_process import LARGE_TRANSCRIPT, read_in_process
from core.exchange.imported_sessions import ImportedSessions, last_import_event
from core.exchange.importers import journeyman
from core.exchange.importers.record import Importer, is_compressed, open_transcript
from core.exchange.transcript_reader import HEAD_BYTES, ImportBatch, TranscriptReader, detect_importer
from core.exchange.transcript_writer import TranscriptWriter
from core.store.codec import decode_event
from core.store.event_batch import EventBatch, encode_batch
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.threads import await_to_completion, run_in_thread

UNFINISHED = frozenset({"running", "waiting", "interrupted", "paused"})
STOP_REASON = "the session was still running when it was exported"


@dataclass(frozen=True, slots=True)
class SessionImportResult:
    """The result of an import.

    `session` is the session to show first, and `sessions` are all sessions in the file. `agent` is the program that
    wrote the file. `added_events` is the number of new events; 0 means that everything was imported before.
    """

    session: str
    sessions: tuple[str, ...]
    agent: str
    added_events: int


ImportProgressCallback = Callable[[int, int], None]  # called with the bytes read and the total bytes
SessionCallback = Callable[[str], None]
PurgeSessions = Callable[[Sequence[str]], Awaitable[object]]


class SessionImporter:
    """Imports files: reads them in a thread and writes their events through the journal.

    `open_reader` opens a database reader for that thread. `purge` deletes sessions that could be written only in part.
    """

    def __init__(
        self, journal: Journal, reader: Reader, open_reader: Callable[[], Reader], purge: PurgeSessions
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._open_reader = open_reader
        self._purge = purge
        self.lock = asyncio.Lock()  # held by each import and each poll, so that no file is read twice at the same time

    def imported_sessions(self, agent: str) -> ImportedSessions:
        """Return an object that looks up which sessions of a program were imported before."""
        return ImportedSessions(self._open_reader, agent)

    def new_writer(self) -> TranscriptWriter:
        """Return a writer for the batches of one transcript, to be used while it is read or followed."""
        return TranscriptWriter(self._journal)

    async def import_file(
        self, path: Path, on_progress: ImportProgressCallback, on_session: SessionCallback
    ) -> SessionImportResult:
        """Import what is new in a file. The caller holds `lock`.

        If the import of another program's transcript is canceled, the events read so far stay, and the next import
        continues after them. If the import of a Journeyman export is canceled, its sessions are deleted again.
        `on_session` is called with a session that can already be shown while the import continues.
        """
        with ThreadPoolExecutor(1, "import") as thread:
            if await run_in_thread(thread, partial(_is_journeyman_file, path)):
                return await self._import_journeyman_file(path, on_progress, thread)
            return await self._import_foreign(path, on_progress, on_session, thread)

    async def _import_foreign(
        self, path: Path, on_progress: ImportProgressCallback, on_session: SessionCallback, thread: ThreadPoolExecutor
    ) -> SessionImportResult:
        importer = await run_in_thread(thread, partial(detect_importer, path))
        stopped = Event()
        read_next = partial(next, self._parts(path, importer, stopped.is_set), None)
        writing, added, names = self.new_writer(), 0, tuple[str, ...]()
        pending = run_in_thread(thread, read_next)
        try:
            while part := await asyncio.shield(pending):
                pending = run_in_thread(thread, read_next)  # read the next batch while this one is written
                added += await await_to_completion(writing.write(part))
                names = part.sessions
                if not part.last:
                    on_progress(part.bytes_read, part.total_bytes)
                    if names:
                        on_session(names[0])
        finally:
            stopped.set()
            await await_to_completion(_drain(pending, partial(run_in_thread, thread, read_next), writing))
        if not names:
            cause = f"None of its records is a message of {importer.agent} that Journeyman understands."
            raise Problem(f"{path.name} cannot be imported.", cause, "")
        return SessionImportResult(names[0], names, importer.agent, added)

    def _parts(self, path: Path, importer: Importer, stopped: Callable[[], bool]) -> Iterator[ImportBatch]:
        if path.stat().st_size >= LARGE_TRANSCRIPT or is_compressed(path):
            # Makes the earlier imports visible to the worker process, which reads the database file.
            self._reader.catch_up()
            yield from read_in_process(path, self._reader.path, stopped)
            return
        imported = self.imported_sessions(importer.agent)
        try:
            yield from TranscriptReader(path, importer, imported.id_of, imported.last_import).read_all(stopped)
        finally:
            imported.close()

    async def _import_journeyman_file(
        self, path: Path, on_progress: ImportProgressCallback, thread: ThreadPoolExecutor
    ) -> SessionImportResult:
        """Import a file that Journeyman exported: check the whole file, then write it.

        If that fails, delete what was written.
        """
        checked = await run_in_thread(thread, partial(journeyman.check_file, path))
        names = tuple(checked)
        rows = [row for name in names if (row := self._reader.session(name))]
        if any(not row.imported_from for row in rows) or (
            rows and all(self._is_complete(row.id, checked) for row in rows)
        ):
            return SessionImportResult(names[0], names, journeyman.AGENT, 0)
        if rows and not await run_in_thread(thread, partial(self._continues, path, tuple(row.id for row in rows))):
            cause = "Its session was imported before, with other events."
            raise Problem(f"{path.name} cannot be imported.", cause, "Delete the imported session first.")
        if rows:
            await self._replace(path, tuple(row.id for row in rows), checked, on_progress, thread)
            return SessionImportResult(names[0], names, journeyman.AGENT, sum(checked.values()))
        new_sessions: list[str] = []
        try:
            async for session, batch in _read_encoded(path, on_progress, thread):
                if session not in new_sessions:
                    new_sessions.append(session)
                await self._journal.append_batch(session, batch)
            for name in names:
                row = self._reader.session(name)
                assert row is not None
                await self._journal.append_timed(name, _closing_events(row, path, checked[name]))
        except BaseException:
            await await_to_completion(self._purge_written(new_sessions))
            raise
        return SessionImportResult(names[0], names, journeyman.AGENT, sum(checked.values()))

    async def _replace(
        self,
        path: Path,
        stored: Sequence[str],
        checked: Mapping[str, int],
        on_progress: ImportProgressCallback,
        thread: ThreadPoolExecutor,
    ) -> None:
        """Replace imported sessions by a newer export of them, all or none. What the user has added to them is kept."""
        added = await run_in_thread(thread, partial(self._added_by_user, stored))
        batches = [batch async for batch in _read_encoded(path, on_progress, thread)]

        def last_events(row: SessionRow) -> list[tuple[int, SessionEvent]]:
            return [*_closing_events(row, path, checked[row.id]), *added.get(row.id, ())]

        await await_to_completion(self._journal.replace_sessions(stored, batches, last_events))

    def _added_by_user(self, stored: Sequence[str]) -> dict[str, list[tuple[int, SessionEvent]]]:
        """Return the events that were added after the import, such as a rating, by session."""
        reader = self._open_reader()
        try:
            added: dict[str, list[tuple[int, SessionEvent]]] = {}
            for name in stored:
                last = last_import_event(reader, name)
                rows = reader.raw_events(name, last.records) if last else ()
                events = [(at, decode_event(kind, payload)) for _, _, at, kind, payload in rows]
                added[name] = [each for each in events if not isinstance(each[1], (RunEnded, TranscriptImported))]
            return added
        finally:
            reader.close()

    def _continues(self, path: Path, stored: Sequence[str]) -> bool:
        """Return whether a file begins with the same events as these sessions, which were imported before."""
        reader = self._open_reader()
        try:
            left = {name: _imported_events(reader, name) for name in stored}
            for batch in journeyman.read_batches(path):
                old = left.get(batch.session, iter(()))
                encoded = encode_batch(batch.events, batch.blobs).events
                for new, (at, kind, payload) in zip(encoded, islice(old, len(encoded)), strict=False):
                    if (at, new.event) != (new.at, decode_event(kind, payload)):
                        return False
            return not any(next(old, None) for old in left.values())
        finally:
            reader.close()

    async def _purge_written(self, sessions: Sequence[str]) -> None:
        await self._purge([name for name in sessions if self._reader.session(name)])

    def _is_complete(self, session: str, lengths: dict[str, int]) -> bool:
        last = last_import_event(self._reader, session)
        return last is not None and last.records >= lengths[session]


async def _read_encoded(
    path: Path, on_progress: ImportProgressCallback, thread: ThreadPoolExecutor
) -> AsyncIterator[tuple[str, EventBatch]]:
    """Yield (session, batch) with the events of an export, encoded for writing."""
    size, bytes_read = (await run_in_thread(thread, path.stat)).st_size, 0
    batches: Iterator[journeyman.ExportedBatch] = journeyman.read_batches(path)
    while batch := await run_in_thread(thread, partial(next, batches, None)):
        yield batch.session, await run_in_thread(thread, partial(encode_batch, batch.events, batch.blobs))
        bytes_read += batch.bytes
        on_progress(min(bytes_read, size), size)


def _closing_events(row: SessionRow, path: Path, events: int) -> list[tuple[int, SessionEvent]]:
    """Return the events to append to a session of which `events` events were imported.

    They record the import and, if the session was still running when it was exported, stop its run.
    """
    ends: list[tuple[int, SessionEvent]] = [(row.updated_at, TranscriptImported(str(path), events))]
    return [(row.updated_at, RunEnded("stopped", STOP_REASON)), *ends] if row.status in UNFINISHED else ends


def _imported_events(reader: Reader, session: str) -> Iterator[tuple[int, str, str]]:
    """Yield time, kind and payload of the events that came from the file, not of those added during or after import."""
    last = last_import_event(reader, session)
    if last is not None:
        for _, _, at, kind, payload in reader.raw_events(session, 0, last.records):
            yield at, kind, payload


async def _drain(
    pending: asyncio.Future[ImportBatch | None],
    read_next: Callable[[], asyncio.Future[ImportBatch | None]],
    writing: TranscriptWriter,
) -> None:
    """Write the batches that are left after an import was canceled. The last one stores how far the file was read."""
    await asyncio.wait({pending})
    while not pending.exception() and (part := pending.result()):
        await writing.write(part)
        pending = read_next()
        await asyncio.wait({pending})


def _is_journeyman_file(path: Path) -> bool:
    if not path.is_file():
        return False
    with open_transcript(path) as file:
        return journeyman.recognizes(file.read(HEAD_BYTES))
