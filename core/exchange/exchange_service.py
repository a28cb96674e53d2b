"""The service for exporting, importing, following and tracing sessions."""

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
from core.exchange.comparison import COMPARISON_FORMATS, SessionPair
from core.exchange.export_redactor import ExportRedactor, RemovedSecret
from core.exchange.export_source import ExportSource
from core.exchange.exporters.export_formats import Exporter, exporters
from core.exchange.exporters.web_page import MarkdownRenderer
from core.exchange.import_result import ImportProgressCallback, SessionCallback, SessionImportResult
from core.exchange.journeyman_importer import PurgeSessions
from core.exchange.session_follower import SessionFollower
from core.exchange.session_importer import SessionImporter
from core.exchange.trace_receiver import TraceReceiver
from core.exchange.trace_sender import TraceSender
from core.exchange.transcript_finder import TranscriptFile, find_transcripts, read_title
from core.store.files import file_size, replace_atomically
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.run_alignment import Alignment
from core.workspace.threads import await_to_completion, run_in_thread

T = TypeVar("T")
CHUNK_LENGTH = 1 << 16  # characters that an export writes at once; between two chunks it can be canceled
PROGRESS_MARK = "."  # a preview's only output: it yields this text to report progress


@dataclass(frozen=True, slots=True)
class ExportPreview:
    """What an export would contain: the numbers of events and sessions, and the secrets that would be removed."""

    events: int
    sessions: int
    removed: Counter[str]
    samples: tuple[RemovedSecret, ...]


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A written export. `size` is in bytes; `removed` counts the removed secrets by kind."""

    path: Path
    size: int
    removed: Counter[str]


class ExchangeService:
    """Exports and imports sessions, and sends and receives traces.

    `open_reader` opens a database reader for another thread. `known_secrets` returns the secrets that exports must
    remove. `purge` deletes sessions permanently. `markup` renders Markdown as HTML for the web page format.
    """

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        open_reader: Callable[[], Reader],
        known_secrets: Callable[[], Awaitable[Sequence[str]]],
        purge: PurgeSessions,
        markup: MarkdownRenderer | None = None,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._receiver: TraceReceiver | None = None
        self._open_reader = open_reader
        self._known_secrets = known_secrets
        self._exporters = exporters(markup)
        self._import_finished = asyncio.Event()
        self._follower: SessionFollower | None = None
        self._importer = SessionImporter(journal, reader, open_reader, purge, self._stop_following)

    async def receive_traces(self, port: int, report: Callable[[BaseException], None] = lambda problem: None) -> None:
        """Start to receive traces of other programs on this local port, and return. Port 0 stops receiving.

        Raise Problem if the port cannot be opened. `report` is called with the error if received traces cannot be
        stored.
        """
        if self._receiver and self._receiver.port == port:
            return
        previous = self._receiver
        self._receiver = None
        if previous:
            await previous.close()
        if port:
            receiver = TraceReceiver(self._journal, report)
            await receiver.listen(port)
            self._receiver = receiver

    async def send_traces(self, address: str, report: Callable[[BaseException], None]) -> None:
        """Send traces of our own sessions to an OTLP collector until canceled."""
        redactor = ExportRedactor(Redactor(await self._known_secrets()))
        sender = TraceSender(address, redactor, self._reader.find_blob, report)
        stop_listening = self._journal.listen(sender.on_journal_update)
        try:
            await sender.run()
        finally:
            stop_listening()

    async def stream_export(
        self, session: str, format_name: str, on_chunk: Callable[[str], None], *, keep_secrets: bool
    ) -> Counter[str]:
        """Pass an export to `on_chunk` chunk by chunk. Return how many secrets of each kind were removed."""
        return await self._run_export(
            session, keep_secrets, self._exporter(format_name).write, on_chunk, lambda done, total: None
        )

    async def export(
        self,
        session: str,
        format_name: str,
        path: Path,
        *,
        keep_secrets: bool = False,
        on_progress: ImportProgressCallback = lambda done, total: None,
    ) -> ExportResult:
        """Write an export to a file, which is replaced only once the export is complete."""
        exporter = self._exporter(format_name)
        try:
            with (
                replace_atomically(path) as part,
                part.open("w", encoding="utf-8", errors="replace", newline="\n") as file,
            ):
                removed = await self._run_export(session, keep_secrets, exporter.write, file.write, on_progress)
            return ExportResult(path, file_size(path), removed)
        except OSError as error:
            raise _write_error(path, error) from error

    async def preview_export(
        self, session: str, on_progress: ImportProgressCallback = lambda done, total: None
    ) -> ExportPreview:
        """Return what an export would contain, without writing it."""
        redactor = ExportRedactor(Redactor(await self._known_secrets()))
        source = await self._run_in_thread(session, redactor, _redact_all, lambda _: None, on_progress)
        return ExportPreview(
            events=source.event_count,
            sessions=len(source.sessions),
            removed=redactor.counts,
            samples=tuple(redactor.samples),
        )

    async def export_comparison(self, rows: SessionPair, alignment: Alignment, path: Path) -> ExportResult:
        """Write a comparison of two sessions in the format that the file extension names."""
        write = COMPARISON_FORMATS.get(path.suffix.removeprefix(".").lower())
        if write is None:
            extensions = ", ".join(f".{name}" for name in COMPARISON_FORMATS)
            raise Problem(f"{path.name} does not name a known format.", "", f"Use one of the extensions {extensions}.")
        redactor = ExportRedactor(Redactor(await self._known_secrets()))

        def write_file() -> None:
            text = write(rows, alignment, redactor.redact_text)
            with replace_atomically(path) as part:
                part.write_text(text, encoding="utf-8", errors="replace", newline="\n")

        try:
            await asyncio.to_thread(write_file)
            return ExportResult(path, file_size(path), redactor.counts)
        except OSError as error:
            raise _write_error(path, error) from error

    async def import_file(
        self,
        path: Path,
        on_progress: ImportProgressCallback = lambda done, total: None,
        on_session: SessionCallback = lambda session: None,
    ) -> SessionImportResult:
        """Import what is new in a file.

        `on_progress` is called with the bytes read and the total. `on_session` is called with a session that can
        already be shown while the import continues.
        """
        try:
            return await self._importer.import_file(path, on_progress, on_session)
        finally:
            self._import_finished.set()

    async def follow_sessions(self, home: Path, report: Callable[[BaseException], None]) -> None:
        """Follow sessions of other agents on this computer while they grow, until canceled."""
        self._follower = SessionFollower(home, self._importer, self._import_finished.set, report)
        try:
            await self._follower.run()
        finally:
            self._follower = None

    def search_backlog(self) -> int:
        """Return how many events are not in the search index yet."""
        return self._reader.search_backlog()

    async def index_backlog(self) -> None:
        """Add all imported events to the search index."""
        await self._journal.index_backlog()

    async def keep_indexing(self, report: Callable[[BaseException], None]) -> None:
        """Add imported events to the search index until canceled, also those left over from an earlier process."""
        while True:
            self._import_finished.clear()
            try:
                await self.index_backlog()
            except Problem as problem:  # the database may be writable again at the next import, which retries this
                report(problem)
            await self._import_finished.wait()

    async def find_transcripts(self, home: Path) -> list[TranscriptFile]:
        """Return transcripts of other agents on this computer, newest first."""
        return await asyncio.to_thread(find_transcripts, home)

    async def transcript_titles(self, files: Sequence[TranscriptFile]) -> list[str]:
        """Return the title of each transcript; empty if its beginning does not contain one."""
        return await asyncio.to_thread(lambda: [read_title(file) for file in files])

    def _stop_following(self, path: Path) -> None:
        """Stop following a file that is about to be imported; the next time it changes, it is followed again."""
        if self._follower:
            self._follower.forget(path)

    async def _run_export(
        self,
        session: str,
        keep_secrets: bool,
        write: Callable[[ExportSource], Iterator[str]],
        on_chunk: Callable[[str], object],
        on_progress: ImportProgressCallback,
    ) -> Counter[str]:
        redactor = ExportRedactor(None if keep_secrets else Redactor(await self._known_secrets()))
        await self._run_in_thread(session, redactor, write, on_chunk, on_progress)
        return redactor.counts

    async def _run_in_thread(
        self,
        session: str,
        redactor: ExportRedactor,
        write: Callable[[ExportSource], Iterator[str]],
        on_chunk: Callable[[str], object],
        on_progress: ImportProgressCallback,
    ) -> ExportSource:
        """Export in a separate thread, so that runs continue, and in chunks, so that the export can be canceled.

        Return the source that was read; its reader is closed.
        """
        with ThreadPoolExecutor(1, "export") as thread:
            reader = await run_in_thread(thread, self._open_reader)
            try:
                source = await run_in_thread(thread, partial(ExportSource, reader, session, redactor))
                chunks = write(source)
                while chunk := await run_in_thread(thread, partial(_next_chunk, chunks)):
                    await run_in_thread(thread, partial(on_chunk, chunk))
                    on_progress(source.events_read, source.event_count)
                return source
            finally:
                await await_to_completion(run_in_thread(thread, reader.close))

    def _exporter(self, format_name: str) -> Exporter:
        exporter = self._exporters.get(format_name)
        if exporter is None:
            raise Problem(
                f"There is no export format {format_name!r}.", "", f"Use one of: {', '.join(self._exporters)}."
            )
        return exporter


def _write_error(path: Path, error: OSError) -> Problem:
    return Problem(f"{path} could not be written.", f"{error.strerror or error}.", "Choose another folder or name.")


def _redact_all(source: ExportSource) -> Iterator[str]:
    """Redact all events, which counts their secrets. Yield PROGRESS_MARK every 200 events, to report progress."""
    for row in source.sessions:
        for entry in source.events(row):
            if entry.seq % 200 == 0:
                yield PROGRESS_MARK


def _next_chunk(chunks: Iterator[str]) -> str:
    """Return about CHUNK_LENGTH characters of the next chunks, joined; an empty string at the end."""
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= CHUNK_LENGTH or chunk == PROGRESS_MARK:
            break
    return "".join(parts)
