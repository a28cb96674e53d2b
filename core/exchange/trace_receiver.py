"""Receives traces of running programs as OTLP over HTTP on the loopback interface. Each trace becomes a session."""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

from core.domain.events import SessionCreated, SessionEvent
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.exchange.importers.opentelemetry import OpenTelemetryImporter, add_span, sort_spans
from core.exchange.importers.session_builder import SessionBuilder
from core.exchange.otlp_spans import OtlpSpan, from_json, from_protobuf
from core.exchange.trace_connection import READ_BYTES, HttpError, RequestHead, TraceConnection
from core.exchange.transcript_reader import MALFORMED_ERRORS
from core.store.journal import Journal
from core.workspace.socket_owner import is_own_peer
from core.workspace.threads import await_to_completion

HOST = "127.0.0.1"
IDLE_TIMEOUT_S = 60.0  # an idle connection is closed after this time
MAX_OPEN_TRACES = 200  # when one more trace begins, the run of the one that has been silent longest is ended
MAX_CLOSED_TRACES = 2000  # ended traces that are remembered: their later spans still go to the same session
PATHS = ("/v1/traces", "/v1/logs", "/v1/metrics")
JSON, PROTOBUF = "application/json", "application/x-protobuf"


class PendingEvent(NamedTuple):
    """An event that is not written yet, with its time and the blobs that it refers to."""

    at: int
    event: SessionEvent
    blobs: Mapping[str, bytes]


class TraceReceiver:
    """An HTTP server that writes received spans to `journal`.

    Web pages cannot send to it: their requests are refused because of their Host or Content-Type header.

    While the journal cannot be written, requests are refused, and `report` is called once. The events that could not be
    written are written first when the journal works again.
    """

    def __init__(self, journal: Journal, report: Callable[[BaseException], None] = lambda problem: None) -> None:
        self._journal = journal
        self._report = report
        self._server: asyncio.Server | None = None
        self._builders: dict[str, SessionBuilder] = {}
        self._closed: dict[str, SessionBuilder] = {}
        self._ids: dict[str, str] = {}
        self._pending: dict[str, list[PendingEvent]] = {}
        self._failing = False
        self._lock = asyncio.Lock()
        self.port = 0
        self.span_count = 0

    async def listen(self, port: int) -> None:
        """Listen on a port, or on any free port if it is 0. Raises Problem if the port is not available."""
        try:
            self._server = await asyncio.start_server(self._serve, HOST, port, limit=READ_BYTES)
        except OSError as error:
            raise Problem(
                f"Port {port} cannot be used to receive traces.", f"{error.strerror or error}.", "Choose another port."
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening, end the open runs and write what is left."""
        if self._server:
            self._server.close()
            self._server = None
        async with self._lock:
            for builder in self._builders.values():
                builder.finish()
            for state in (self._builders, self._closed, self._ids):
                state.clear()
            try:
                await self._write()
            except (Problem, *MALFORMED_ERRORS) as problem:
                self._report_once(problem)

    async def ingest(self, spans: list[OtlpSpan]) -> None:
        """Add spans to the sessions of their traces.

        Raise HttpError for a malformed span after the others were added.
        """
        malformed: BaseException | None = None
        async with self._lock:
            if self._server is None:
                raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "Journeyman no longer receives traces.")
            await self._write()
            for span in sort_spans(spans):
                try:
                    add_span(span, self._builder(span.trace))
                except MALFORMED_ERRORS as error:
                    malformed = error
                self.span_count += 1
            await self._write()
            self._failing = False
        if malformed:
            raise _bad_request(malformed)

    def _builder(self, trace: str) -> SessionBuilder:
        builder = self._builders.pop(trace, None) or self._closed.pop(trace, None)
        self._builders[trace] = builder or SessionBuilder(
            OpenTelemetryImporter.agent, trace, self._add_event, self._id_of
        )
        while len(self._builders) > MAX_OPEN_TRACES:
            oldest = next(iter(self._builders))
            self._closed[oldest] = self._builders.pop(oldest)
            self._closed[oldest].finish()
        while len(self._closed) > MAX_CLOSED_TRACES:
            self._drop_trace(next(iter(self._closed)))
        return self._builders[trace]

    def _drop_trace(self, trace: str) -> None:
        """Forget a trace, so that its later spans start a new session."""
        for state in (self._builders, self._closed, self._ids):
            state.pop(trace, None)

    def _id_of(self, key: str) -> str:
        return self._ids.setdefault(key, session_id())

    def _add_event(self, key: str, at: int, event: SessionEvent, blobs: Mapping[str, bytes]) -> None:
        self._pending.setdefault(self._id_of(key), []).append(PendingEvent(at, event, blobs))

    async def _write(self) -> None:
        """Write the pending events of each session in order.

        An error in one session does not keep the others from writing.
        """
        first_error: BaseException | None = None
        for session, pending in tuple(self._pending.items()):
            blobs = {name: body for entry in pending for name, body in entry.blobs.items()}
            try:
                await self._journal.append_timed(session, [(entry.at, entry.event) for entry in pending], blobs=blobs)
                del self._pending[session]
            except (Problem, *MALFORMED_ERRORS) as error:
                first_error = error if isinstance(error, Problem) else first_error or error
                self._drop_unwritable(session, error)
        if first_error:
            raise first_error

    def _drop_unwritable(self, session: str, error: BaseException) -> None:
        """Drop the pending events of a session that can never be written, as they are malformed or it was purged."""
        # Of all errors of the journal, only that of a purged session contains the session's ID.
        is_purged = isinstance(error, Problem) and session in error.details.message
        if isinstance(error, Problem) and not is_purged:
            return
        first, *_ = self._pending.pop(session)
        if is_purged or isinstance(first.event, SessionCreated):
            for trace in [trace for trace, name in self._ids.items() if name == session]:
                self._drop_trace(trace)

    def _report_once(self, problem: BaseException) -> None:
        if self._pending and not self._failing:
            self._report(problem)
            self._failing = True

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        connection = TraceConnection(reader, writer)
        try:
            if not is_own_peer(*(writer.get_extra_info(name)[:2] for name in ("sockname", "peername"))):
                await connection.refuse(HttpError(HTTPStatus.FORBIDDEN, "Only your own programs may send traces."))
                return
            while await asyncio.wait_for(self._handle_request(connection), IDLE_TIMEOUT_S):
                pass
        except (TimeoutError, OSError):
            pass  # the client disconnected or was idle for too long
        finally:
            await connection.close()

    async def _handle_request(self, connection: TraceConnection) -> bool:
        """Handle one request. Return whether the connection stays open."""
        try:
            if (head := await connection.read_head()) is None:
                return False
            kind = self._check_head(head)
            body = await connection.read_body(head)
            if head.path == PATHS[0]:
                await await_to_completion(self.ingest(_spans(body, kind)))
        except HttpError as http_error:
            await connection.refuse(http_error)
            return False
        except Problem as problem:
            self._report_once(problem)
            await connection.refuse(HttpError(HTTPStatus.SERVICE_UNAVAILABLE, str(problem)))
            return False
        except MALFORMED_ERRORS as error:
            await connection.refuse(_bad_request(error))
            return False
        return await connection.reply(kind, b"{}" if kind == JSON else b"")

    def _check_head(self, head: RequestHead) -> str:
        """Check the head of a request and return its content type. Raise `HttpError` if it may not send traces."""
        if head.headers.get("host", "") not in {f"{name}:{self.port}" for name in (HOST, "localhost")}:
            raise HttpError(HTTPStatus.FORBIDDEN, "Only programs on this computer may send traces.")
        if head.path not in PATHS:
            raise HttpError(HTTPStatus.NOT_FOUND, f"The paths are {', '.join(PATHS)}.")
        if head.method != "POST":
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "Use POST.")
        if head.content_type not in (JSON, PROTOBUF):
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send {JSON} or {PROTOBUF}.")
        return head.content_type


def _spans(body: bytes, kind: str) -> list[OtlpSpan]:
    try:
        if kind == PROTOBUF:
            return from_protobuf(body)
        request = json.loads(body)
        if not isinstance(request, dict) or (request and "resourceSpans" not in request):
            raise ValueError("there is no resourceSpans")
        return from_json(request)
    except MALFORMED_ERRORS as error:
        raise _bad_request(error) from error


def _bad_request(error: BaseException) -> HttpError:
    return HttpError(HTTPStatus.BAD_REQUEST, f"expected a trace export request: {error}")
