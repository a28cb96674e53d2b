"""Imports a transcript of another program, and reads its next batch while the one before is written."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

from core.domain.problems import Problem
from core.exchange.import_process import LARGE_TRANSCRIPT, read_in_process
from core.exchange.import_result import ImportProgressCallback, SessionCallback, SessionImportResult
from core.exchange.imported_sessions import ImportedSessions
from core.exchange.importers.record import Importer, is_compressed
from core.exchange.transcript_reader import ImportBatch, TranscriptReader, detect_importer
from core.exchange.transcript_writer import TranscriptWriter
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.threads import await_to_completion, run_in_thread

IsStopped = Callable[[], bool]


class TranscriptImporter:
    """Imports transcripts of other programs: reads them in a thread and writes their events through the journal.

    `open_reader` opens a database reader for that thread.
    """

    def __init__(self, journal: Journal, reader: Reader, open_reader: Callable[[], Reader]) -> None:
        self._journal = journal
        self._reader = reader
        self._open_reader = open_reader

    async def import_file(
        self, path: Path, on_progress: ImportProgressCallback, on_session: SessionCallback, thread: ThreadPoolExecutor
    ) -> SessionImportResult:
        """Import what is new in a transcript.

        If this is canceled or fails, what was read so far is still written, with the position to continue at.
        """
        importer = await run_in_thread(thread, partial(detect_importer, path))
        batches = _ReadAhead(thread, partial(self._read, path, importer))
        writer = TranscriptWriter(self._journal)
        sessions: tuple[str, ...] = ()
        added_events = 0
        try:
            while batch := await batches.next_batch():
                added_events += await await_to_completion(writer.write(batch))
                sessions = batch.sessions
                if not batch.last:
                    _report(batch, on_progress, on_session)
        finally:
            batches.stop()
            await await_to_completion(_write_rest(batches, writer))
        if not sessions:
            cause = f"None of its records is a message of {importer.agent} that Journeyman understands."
            raise Problem(f"{path.name} cannot be imported.", cause, "")
        return SessionImportResult(sessions[0], sessions, importer.agent, added_events)

    def _read(self, path: Path, importer: Importer, is_stopped: IsStopped) -> Iterator[ImportBatch]:
        """Yield the batches of a transcript, which is read in a process of its own if it is large or compressed."""
        if path.stat().st_size >= LARGE_TRANSCRIPT or is_compressed(path):
            # Makes the earlier imports visible to the worker process, which reads the database file.
            self._reader.catch_up()
            yield from read_in_process(path, self._reader.path, is_stopped)
        else:
            yield from self._read_in_thread(path, importer, is_stopped)

    def _read_in_thread(self, path: Path, importer: Importer, is_stopped: IsStopped) -> Iterator[ImportBatch]:
        imported = ImportedSessions(self._open_reader, importer.agent)
        try:
            yield from TranscriptReader(path, importer, imported.id_of, imported.last_import).read_all(is_stopped)
        finally:
            imported.close()


class _ReadAhead:
    """Reads batches in a thread, each while the caller works on the one before.

    `read` returns the batches. It is passed a function that returns whether `stop` was called; it then has to end
    after a batch that stores the read position.
    """

    def __init__(self, thread: ThreadPoolExecutor, read: Callable[[IsStopped], Iterator[ImportBatch]]) -> None:
        self._thread = thread
        self._stopped = Event()
        self._batches = read(self._stopped.is_set)
        self._next = self._start_reading()

    async def next_batch(self) -> ImportBatch | None:
        """Return the next batch, or None at the end. If this is canceled, the next call returns the same batch."""
        batch = await asyncio.shield(self._next)
        if batch is not None:
            self._next = self._start_reading()
        return batch

    async def next_readable_batch(self) -> ImportBatch | None:
        """Return the next batch, or None at the end or if reading it fails."""
        await asyncio.wait({self._next})
        if self._next.exception() is not None:
            return None
        return await self.next_batch()

    def stop(self) -> None:
        """Ask the reading thread to end early."""
        self._stopped.set()

    def _start_reading(self) -> asyncio.Future[ImportBatch | None]:
        return run_in_thread(self._thread, partial(next, self._batches, None))


def _report(batch: ImportBatch, on_progress: ImportProgressCallback, on_session: SessionCallback) -> None:
    on_progress(batch.bytes_read, batch.total_bytes)
    if batch.sessions:
        on_session(batch.sessions[0])


async def _write_rest(batches: _ReadAhead, writer: TranscriptWriter) -> None:
    """Write the batches that are left after an import was stopped. The last one stores how far the file was read."""
    while batch := await batches.next_readable_batch():
        await writer.write(batch)
