"""Imports a file that Journeyman exported: its sessions are written whole, or stay as they were."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path

from core.domain.events import RunEnded, SessionEvent
from core.domain.import_events import TranscriptImported
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.exchange.import_result import ImportProgressCallback, SessionImportResult
from core.exchange.imported_sessions import last_import_event
from core.exchange.importers import journeyman
from core.store.codec import decode_event
from core.store.event_batch import EventBatch, encode_batch
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.threads import await_to_completion, run_in_thread

UNFINISHED = frozenset({"running", "waiting", "interrupted", "paused"})
STOP_REASON = "the session was still running when it was exported"

PurgeSessions = Callable[[Sequence[str]], Awaitable[object]]
TimedEvent = tuple[int, SessionEvent]  # an event and its time


class _ExportState(Enum):
    """How an export relates to the stored sessions with the same IDs."""

    NEW = auto()  # none of its sessions is stored
    KNOWN = auto()  # it has no event that is not stored
    LONGER = auto()  # it has the events that were imported before, and more
    DIFFERENT = auto()  # its events differ from those that were imported before


@dataclass(frozen=True, slots=True)
class _Export:
    """An export that was checked.

    Attributes:
        event_counts: the number of its events, by session.
        stored: the stored sessions that have the ID of one of its sessions.
    """

    path: Path
    event_counts: Mapping[str, int]
    stored: tuple[SessionRow, ...]

    @property
    def stored_ids(self) -> tuple[str, ...]:
        return tuple(row.id for row in self.stored)


class JourneymanImporter:
    """Imports files that Journeyman exported: reads them in a thread and writes their events through the journal.

    `open_reader` opens a database reader for that thread. `purge` deletes sessions that could be written only in part.
    """

    def __init__(
        self, journal: Journal, reader: Reader, open_reader: Callable[[], Reader], purge: PurgeSessions
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._open_reader = open_reader
        self._purge = purge

    async def import_file(
        self, path: Path, on_progress: ImportProgressCallback, thread: ThreadPoolExecutor
    ) -> SessionImportResult:
        """Check a whole file, then write its sessions, or replace those that were imported from an earlier export.

        Raise Problem if the file is invalid, or if its sessions were imported with other events.
        """
        export = await self._check(path, thread)
        added_events = sum(export.event_counts.values())
        match await self._compare(export, thread):
            case _ExportState.NEW:
                await self._write_new(export, on_progress, thread)
            case _ExportState.LONGER:
                await self._replace_stored(export, on_progress, thread)
            case _ExportState.KNOWN:
                added_events = 0
            case _ExportState.DIFFERENT:
                cause = "Its session was imported before, with other events."
                raise Problem(f"{path.name} cannot be imported.", cause, "Delete the imported session first.")
        sessions = tuple(export.event_counts)
        return SessionImportResult(sessions[0], sessions, journeyman.AGENT, added_events)

    async def _check(self, path: Path, thread: ThreadPoolExecutor) -> _Export:
        event_counts = await run_in_thread(thread, partial(journeyman.check_file, path))
        rows = (self._reader.session(session) for session in event_counts)
        return _Export(path, event_counts, tuple(row for row in rows if row is not None))

    async def _compare(self, export: _Export, thread: ThreadPoolExecutor) -> _ExportState:
        if not export.stored:
            return _ExportState.NEW
        was_created_here = any(not row.imported_from for row in export.stored)
        if was_created_here or self._is_imported_whole(export):
            return _ExportState.KNOWN
        if await run_in_thread(thread, partial(self._begins_with_stored_events, export)):
            return _ExportState.LONGER
        return _ExportState.DIFFERENT

    def _is_imported_whole(self, export: _Export) -> bool:
        """Return whether at least as many events as the export has were imported before, for each stored session."""
        for session in export.stored_ids:
            last_import = last_import_event(self._reader, session)
            if last_import is None or last_import.records < export.event_counts[session]:
                return False
        return True

    def _begins_with_stored_events(self, export: _Export) -> bool:
        """Return whether an export begins with all events that were imported before, for each stored session."""
        reader = self._open_reader()
        try:
            stored_events = {session: _imported_events(reader, session) for session in export.stored_ids}
            for session, exported_event in _exported_events(export.path):
                stored_event = next(stored_events.get(session, iter(())), None)
                if stored_event is not None and stored_event != exported_event:
                    return False
            return all(next(events, None) is None for events in stored_events.values())
        finally:
            reader.close()

    async def _write_new(
        self, export: _Export, on_progress: ImportProgressCallback, thread: ThreadPoolExecutor
    ) -> None:
        """Write the sessions of an export of which none is stored. If that fails, delete what was written."""
        try:
            async for session, batch in _encoded_batches(export.path, on_progress, thread):
                await self._journal.append_batch(session, batch)
            for session in export.event_counts:
                row = self._reader.session(session)
                assert row is not None
                await self._journal.append_timed(session, _closing_events(export, row))
        except BaseException:
            await await_to_completion(self._purge_written(export))
            raise

    async def _purge_written(self, export: _Export) -> None:
        await self._purge([session for session in export.event_counts if self._reader.session(session)])

    async def _replace_stored(
        self, export: _Export, on_progress: ImportProgressCallback, thread: ThreadPoolExecutor
    ) -> None:
        """Replace imported sessions by a newer export of them, all or none. What the user has added to them is kept."""
        added_events = await run_in_thread(thread, partial(self._added_by_user, export.stored_ids))
        batches = [batch async for batch in _encoded_batches(export.path, on_progress, thread)]

        def last_events(row: SessionRow) -> list[TimedEvent]:
            return [*_closing_events(export, row), *added_events.get(row.id, ())]

        await await_to_completion(self._journal.replace_sessions(export.stored_ids, batches, last_events))

    def _added_by_user(self, sessions: Sequence[str]) -> dict[str, list[TimedEvent]]:
        """Return the events that were added after the import, such as a rating, by session."""
        reader = self._open_reader()
        try:
            return {session: _events_after_import(reader, session) for session in sessions}
        finally:
            reader.close()


async def _encoded_batches(
    path: Path, on_progress: ImportProgressCallback, thread: ThreadPoolExecutor
) -> AsyncIterator[tuple[str, EventBatch]]:
    """Yield (session, batch) with the events of an export, encoded for writing."""
    total_bytes = (await run_in_thread(thread, path.stat)).st_size
    bytes_read = 0
    batches: Iterator[journeyman.ExportedBatch] = journeyman.read_batches(path)
    while batch := await run_in_thread(thread, partial(next, batches, None)):
        yield batch.session, await run_in_thread(thread, partial(encode_batch, batch.events, batch.blobs))
        bytes_read += batch.bytes
        on_progress(min(bytes_read, total_bytes), total_bytes)


def _exported_events(path: Path) -> Iterator[tuple[str, TimedEvent]]:
    """Yield (session, event) for the events of an export, in the form in which they are stored."""
    for batch in journeyman.read_batches(path):
        for encoded in encode_batch(batch.events, batch.blobs).events:
            yield batch.session, (encoded.at, encoded.event)


def _imported_events(reader: Reader, session: str) -> Iterator[TimedEvent]:
    """Yield the stored events that came from the file, not those added during or after the import."""
    last_import = last_import_event(reader, session)
    if last_import is not None:
        for row in reader.raw_events(session, until=last_import.records):
            yield row.at, decode_event(row.kind, row.payload)


def _events_after_import(reader: Reader, session: str) -> list[TimedEvent]:
    """Return the stored events that follow those from the file, without the ones that the import itself added."""
    last_import = last_import_event(reader, session)
    if last_import is None:
        return []
    rows = reader.raw_events(session, after=last_import.records)
    events = [(row.at, decode_event(row.kind, row.payload)) for row in rows]
    return [(at, event) for at, event in events if not isinstance(event, (RunEnded, TranscriptImported))]


def _closing_events(export: _Export, row: SessionRow) -> list[TimedEvent]:
    """Return the events to append to an imported session.

    They record the import and, if the session was still running when it was exported, stop its run.
    """
    closing_events: list[TimedEvent] = []
    if row.status in UNFINISHED:
        closing_events.append((row.updated_at, RunEnded("stopped", STOP_REASON)))
    record = TranscriptImported(str(export.path), export.event_counts[row.id])
    closing_events.append((row.updated_at, record))
    return closing_events
