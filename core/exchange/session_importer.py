"""Imports sessions of other programs, and our own exported ones, into the event log."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

from core.exchange.import_result import ImportProgressCallback, SessionCallback, SessionImportResult
from core.exchange.imported_sessions import ImportedSessions
from core.exchange.importers import journeyman
from core.exchange.importers.record import open_transcript
from core.exchange.journeyman_importer import JourneymanImporter, PurgeSessions
from core.exchange.transcript_importer import TranscriptImporter
from core.exchange.transcript_reader import HEAD_BYTES
from core.exchange.transcript_writer import TranscriptWriter
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.threads import run_in_thread


class SessionImporter:
    """Imports files, one at a time: reads them in a thread and writes their events through the journal.

    `open_reader` opens a database reader for that thread. `purge` deletes sessions that could be written only in part.
    `before_import` is called with each file just before it is read, while nothing else is imported.
    """

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        open_reader: Callable[[], Reader],
        purge: PurgeSessions,
        before_import: Callable[[Path], None],
    ) -> None:
        self._journal = journal
        self._open_reader = open_reader
        self._before_import = before_import
        self._journeyman_importer = JourneymanImporter(journal, reader, open_reader, purge)
        self._transcript_importer = TranscriptImporter(journal, reader, open_reader)
        self._lock = asyncio.Lock()

    def exclusive(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which no file is imported. It is entered once the running import has ended."""
        return self._lock

    def imported_sessions(self, agent: str) -> ImportedSessions:
        """Return an object that looks up which sessions of a program were imported before."""
        return ImportedSessions(self._open_reader, agent)

    def new_writer(self) -> TranscriptWriter:
        """Return a writer for the batches of one transcript that is followed."""
        return TranscriptWriter(self._journal)

    async def import_file(
        self, path: Path, on_progress: ImportProgressCallback, on_session: SessionCallback
    ) -> SessionImportResult:
        """Import what is new in a file.

        If the import of another program's transcript is canceled, the events read so far stay, and the next import
        continues after them. If the import of a Journeyman export is canceled, its sessions stay as they were before.
        """
        async with self._lock:
            self._before_import(path)
            with ThreadPoolExecutor(1, "import") as thread:
                if await run_in_thread(thread, partial(_is_journeyman_file, path)):
                    return await self._journeyman_importer.import_file(path, on_progress, thread)
                return await self._transcript_importer.import_file(path, on_progress, on_session, thread)


def _is_journeyman_file(path: Path) -> bool:
    if not path.is_file():
        return False
    with open_transcript(path) as file:
        return journeyman.recognizes(file.read(HEAD_BYTES))
