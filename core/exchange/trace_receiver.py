"""Receives traces of running programs as OTLP over HTTP on the loopback interface. Each trace becomes a session."""

import asyncio
import json
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Mapping
from contextlib import suppress

from core.domain.events import SessionCreated, SessionEvent
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.exchange.importers.opentelemetry import OpenTelemetryImporter, add_span, sort_spans
from core.exchange.importers.session_builder import SessionBuilder
from core.exchange.otlp_spans import OtlpSpan, from_json, from_protobuf
from core.exchange.transcript_reader import MALFORMED_ERRORS
from core.store.journal import Journal
from core.workspace.threads import await_to_completion

HOST = "127.0.0.1"
MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 64 << 20  # bytes of a request body, also after decompression
IDLE_TIMEOUT_S = 60.0  # after which an idle connection is closed
MAX_OPEN_TRACES = 200  # open at once; the one that has been silent longest is closed for a new one
MAX_CLOSED_TRACES = 2000  # closed traces whose later spans are still added to their session
DRAIN_LIMIT, DRAIN_TIMEOUT_S = (
    4 * MAX_BODY_BYTES,
    10.0,
)  # bytes and seconds that a refused request is still read, so that its client gets the reply
PATHS = ("/v1/traces", "/v1/logs", "/v1/metrics")
JSON, PROTOBUF = "application/json", "application/x-protobuf"
PendingEvent = tuple[int, SessionEvent, Mapping[str, bytes]]


class _HttpError(Exception):
    """An HTTP error reply. Its arguments are the status line and the reason sent as the body."""


class TraceReceiver:
    """An HTTP server that writes received spans to `journal`.

    Web pages cannot send to it: their requests are refused because of their Host or Content-Type header.

    If the journal cannot be written, `report` is called once and requests are refused. Events that could not be written
    are written first once the journal works again.
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
            self._server = await asyncio.start_server(self._serve, HOST, port, limit=MAX_HEAD_BYTES)
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
        """Add spans to the sessions of their traces. A malformed span is reported after the others were added."""
        malformed: BaseException | None = None
        async with self._lock:
            if self._server is None:
                raise _HttpError("503 Service Unavailable", "Journeyman no longer receives traces.")
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
        """Drop the state of a trace. Its later spans start a new session."""
        for state in (self._builders, self._closed, self._ids):
            state.pop(trace, None)

    def _id_of(self, key: str) -> str:
        return self._ids.setdefault(key, session_id())

    def _add_event(self, key: str, at: int, event: SessionEvent, contents: Mapping[str, bytes]) -> None:
        self._pending.setdefault(self._id_of(key), []).append((at, event, contents))

    async def _write(self) -> None:
        """Write the pending events in order, session by session. An error in one session does not affect the others."""
        first_error: BaseException | None = None
        for session, events in tuple(self._pending.items()):
            blobs = {name: body for fact in events for name, body in fact[2].items()}
            try:
                await self._journal.append_timed(session, [(at, event) for at, event, _ in events], blobs=blobs)
                del self._pending[session]
            except (Problem, *MALFORMED_ERRORS) as error:
                first_error = error if isinstance(error, Problem) else first_error or error
                self._drop_unwritable(session, error)
        if first_error:
            raise first_error

    def _drop_unwritable(self, session: str, error: BaseException) -> None:
        """Drop events that can never be written: malformed ones, and those of a session that the user purged."""
        purged = (
            isinstance(error, Problem) and session in error.details.message
        )  # only the error of a purged session names it
        if isinstance(error, Problem) and not purged:
            return
        events = self._pending.pop(session)
        if purged or isinstance(events[0][1], SessionCreated):
            for trace in [trace for trace, id in self._ids.items() if id == session]:
                self._drop_trace(trace)

    def _report_once(self, problem: BaseException) -> None:
        if self._pending and not self._failing:
            self._report(problem)
            self._failing = True

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while await asyncio.wait_for(self._handle_request(reader, writer), IDLE_TIMEOUT_S):
                pass
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client disconnected, was idle for too long, or sent a head that is too large
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _handle_request(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """Handle one request. Return whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").split("\r\n")
        method, _, target = request_line.partition(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        try:
            path = self._check_request(method, target.split(" ")[0], headers, kind)
            body = _decompressed(await _body(reader, headers), headers.get("content-encoding", "").lower())
            if path == PATHS[0]:
                await await_to_completion(self.ingest(_spans(body, kind)))
        except _HttpError as http_error:
            await _refuse(reader, writer, http_error)
            return False
        except Problem as problem:
            self._report_once(problem)
            await _refuse(reader, writer, _HttpError("503 Service Unavailable", str(problem)))
            return False
        except MALFORMED_ERRORS as error:
            await _refuse(reader, writer, _bad_request(error))
            return False
        await _respond(writer, "200 OK", kind, b"{}" if kind == JSON else b"")
        return headers.get("connection", "").lower() != "close"

    def _check_request(self, method: str, path: str, headers: Mapping[str, str], kind: str) -> str:
        if headers.get("host", "") not in {f"{name}:{self.port}" for name in (HOST, "localhost")}:
            raise _HttpError("403 Forbidden", "Only programs on this computer may send traces.")
        if path not in PATHS:
            raise _HttpError("404 Not Found", f"The paths are {', '.join(PATHS)}.")
        if method != "POST":
            raise _HttpError("405 Method Not Allowed", "Use POST.")
        if kind not in (JSON, PROTOBUF):
            raise _HttpError("415 Unsupported Media Type", f"Send {JSON} or {PROTOBUF}.")
        return path


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


def _bad_request(error: BaseException) -> _HttpError:
    return _HttpError("400 Bad Request", f"expected a trace export request: {error}")


async def _body(reader: StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        parts: list[bytes] = []
        while size := _size((await reader.readuntil(b"\r\n")).split(b";")[0].strip(), 16, sum(map(len, parts))):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        while (await reader.readuntil(b"\r\n")).strip():
            pass
        return b"".join(parts)
    return await reader.readexactly(_size(headers.get("content-length", "0").encode(), 10, 0))


def _size(text: bytes, base: int, before: int) -> int:
    try:
        size = int(text, base)
    except ValueError as error:
        raise _HttpError("400 Bad Request", "invalid length") from error
    if size < 0 or size + before > MAX_BODY_BYTES:
        raise _HttpError("413 Content Too Large", f"at most {MAX_BODY_BYTES >> 20} MB")
    return size


def _decompressed(body: bytes, coding: str) -> bytes:
    if coding in ("", "identity"):
        return body
    if coding != "gzip":
        raise _HttpError("415 Unsupported Media Type", "expected gzip or no content encoding")
    unpack = zlib.decompressobj(31)
    try:
        plain = unpack.decompress(body, MAX_BODY_BYTES)
    except zlib.error as error:
        raise _HttpError("400 Bad Request", f"invalid gzip data: {error}") from error
    if unpack.unconsumed_tail:
        raise _HttpError("413 Content Too Large", f"at most {MAX_BODY_BYTES >> 20} MB")
    if not unpack.eof:
        raise _HttpError("400 Bad Request", "the gzip data is truncated")
    return plain


async def _refuse(reader: StreamReader, writer: StreamWriter, error: _HttpError) -> None:
    """Send an error reply, then read on for a while: most clients read the reply only after sending everything."""
    status, message = error.args
    await _respond(writer, status, "text/plain", str(message).encode("utf-8", "replace"), "Connection: close\r\n")
    writer.write_eof()
    remaining = DRAIN_LIMIT
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            while remaining > 0 and (part := await reader.read(MAX_HEAD_BYTES)):
                remaining -= len(part)


async def _respond(writer: StreamWriter, status: str, kind: str, body: bytes, extra_headers: str = "") -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra_headers}\r\n"
    writer.write(head.encode("latin-1", "replace") + body)
    await writer.drain()
