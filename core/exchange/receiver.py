"""Traces of other programs as they run: OTLP over HTTP, on this machine only, each trace a session that grows."""

import asyncio
import json
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Mapping
from contextlib import suppress

from core.domain.events import RunEvent, SessionOpened
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.exchange.importers.opentelemetry import OpenTelemetry, arranged, tell_span
from core.exchange.importers.telling import Telling
from core.exchange.reading import STRANGE
from core.exchange.spans import Span, from_json, from_protobuf
from core.store.journal import Journal
from core.workspace.thread import uncut

HOST = "127.0.0.1"
HEAD = 65_536
BODY = 64 << 20
QUIET_S = 60.0
TRACES = 200  # held open; the one that was silent longest is closed for a new one
KNOWN = 2000  # closed ones that go on in their session when they return
REST, REST_S = 4 * BODY, 10.0  # of a refused request that is still read, so that its sender reads the answer
PATHS = ("/v1/traces", "/v1/logs", "/v1/metrics")
JSON, PROTOBUF = "application/json", "application/x-protobuf"
Fact = tuple[int, RunEvent, Mapping[str, bytes]]


class _Refused(Exception):
    """A status of HTTP, and why."""


class Receiver:
    """`journal` takes what comes. A page in a browser cannot send here: its host or its type of content gives it away.

    `report` is told a problem of the journal, once until it is over. What could not be written is written first as
    soon as it can be; until then nothing more is taken.
    """

    def __init__(self, journal: Journal, report: Callable[[BaseException], None] = lambda problem: None) -> None:
        self._journal = journal
        self._report = report
        self._server: asyncio.Server | None = None
        self._tellings: dict[str, Telling] = {}
        self._closed: dict[str, Telling] = {}
        self._ids: dict[str, str] = {}
        self._facts: dict[str, list[Fact]] = {}
        self._failing = False
        self._turn = asyncio.Lock()
        self.port = 0
        self.spans = 0

    async def open(self, port: int) -> None:
        """Listen; on any free port for 0."""
        try:
            self._server = await asyncio.start_server(self._serve, HOST, port, limit=HEAD)
        except OSError as error:
            raise Problem(
                f"Traces cannot be received on port {port}.", f"{error.strerror or error}.", "Choose another port."
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Listen no more; runs that are open end."""
        if self._server:
            self._server.close()
            self._server = None
        async with self._turn:
            for telling in self._tellings.values():
                telling.close()
            for known in (self._tellings, self._closed, self._ids):
                known.clear()
            try:
                await self._write()
            except (Problem, *STRANGE) as problem:
                self._hear_of(problem)

    async def take(self, spans: list[Span]) -> None:
        """Tell these spans to the sessions of their traces. An odd one takes nothing from the others."""
        odd: BaseException | None = None
        async with self._turn:
            if self._server is None:
                raise _Refused("503 Service Unavailable", "Traces are received no more.")
            await self._write()
            for span in arranged(spans):
                try:
                    tell_span(span, self._telling(span.trace))
                except STRANGE as error:
                    odd = error
                self.spans += 1
            await self._write()
            self._failing = False
        if odd:
            raise _odd(odd)

    def _telling(self, trace: str) -> Telling:
        telling = self._tellings.pop(trace, None) or self._closed.pop(trace, None)
        self._tellings[trace] = telling or Telling(OpenTelemetry.agent, trace, self._take, self._id_of)
        while len(self._tellings) > TRACES:
            silent = next(iter(self._tellings))
            self._closed[silent] = self._tellings.pop(silent)
            self._closed[silent].close()
        while len(self._closed) > KNOWN:
            self._forget(next(iter(self._closed)))
        return self._tellings[trace]

    def _forget(self, trace: str) -> None:
        """Whatever comes of it begins a session of its own."""
        for known in (self._tellings, self._closed, self._ids):
            known.pop(trace, None)

    def _id_of(self, key: str) -> str:
        return self._ids.setdefault(key, session_id())

    def _take(self, key: str, at: int, event: RunEvent, contents: Mapping[str, bytes]) -> None:
        self._facts.setdefault(self._id_of(key), []).append((at, event, contents))

    async def _write(self) -> None:
        """What was gathered, session by session, in order. What fails takes nothing from the others."""
        wrong: BaseException | None = None
        for session, facts in tuple(self._facts.items()):
            blobs = {name: body for fact in facts for name, body in fact[2].items()}
            try:
                await self._journal.copy(session, [(at, event) for at, event, _ in facts], blobs=blobs)
                del self._facts[session]
            except (Problem, *STRANGE) as error:
                wrong = error if isinstance(error, Problem) else wrong or error
                self._give_up(session, error)
        if wrong:
            raise wrong

    def _give_up(self, session: str, error: BaseException) -> None:
        """Let go what will never be written: odd facts, and those of a session that the person erased."""
        erased = isinstance(error, Problem) and session in error.trouble.what  # others name no session
        if isinstance(error, Problem) and not erased:
            return
        facts = self._facts.pop(session)
        if erased or isinstance(facts[0][1], SessionOpened):
            for trace in [trace for trace, id in self._ids.items() if id == session]:
                self._forget(trace)

    def _hear_of(self, problem: BaseException) -> None:
        if self._facts and not self._failing:
            self._report(problem)
            self._failing = True

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while await asyncio.wait_for(self._one(reader, writer), QUIET_S):
                pass
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever sent has gone
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _one(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """One request; whether another may follow."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        try:
            path = self._fit(method, rest.split(" ")[0], headers, kind)
            body = _unpacked(await _body(reader, headers), headers.get("content-encoding", "").lower())
            if path == PATHS[0]:
                await uncut(self.take(_spans(body, kind)))
        except _Refused as refused:
            await _refuse(reader, writer, refused)
            return False
        except Problem as problem:
            self._hear_of(problem)
            await _refuse(reader, writer, _Refused("503 Service Unavailable", str(problem)))
            return False
        except STRANGE as error:
            await _refuse(reader, writer, _odd(error))
            return False
        await _answer(writer, "200 OK", kind, b"{}" if kind == JSON else b"")
        return headers.get("connection", "").lower() != "close"

    def _fit(self, method: str, path: str, headers: Mapping[str, str], kind: str) -> str:
        if headers.get("host", "") not in {f"{name}:{self.port}" for name in (HOST, "localhost")}:
            raise _Refused("403 Forbidden", "This is for programs on this machine.")
        if path not in PATHS:
            raise _Refused("404 Not Found", f"There is {', '.join(PATHS)}.")
        if method != "POST":
            raise _Refused("405 Method Not Allowed", "Send it with POST.")
        if kind not in (JSON, PROTOBUF):
            raise _Refused("415 Unsupported Media Type", f"Send {JSON} or {PROTOBUF}.")
        return path


def _spans(body: bytes, kind: str) -> list[Span]:
    try:
        if kind == PROTOBUF:
            return from_protobuf(body)
        request = json.loads(body)
        if not isinstance(request, dict) or (request and "resourceSpans" not in request):
            raise ValueError("it has no resourceSpans")
        return from_json(request)
    except STRANGE as error:
        raise _odd(error) from error


def _odd(error: BaseException) -> _Refused:
    return _Refused("400 Bad Request", f"expected an export of traces: {error}")


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
        raise _Refused("400 Bad Request", "expected a length") from error
    if size < 0 or size + before > BODY:
        raise _Refused("413 Content Too Large", f"at most {BODY >> 20} MB")
    return size


def _unpacked(body: bytes, coding: str) -> bytes:
    if coding in ("", "identity"):
        return body
    if coding != "gzip":
        raise _Refused("415 Unsupported Media Type", "gzip or nothing")
    unpack = zlib.decompressobj(31)
    try:
        plain = unpack.decompress(body, BODY)
    except zlib.error as error:
        raise _Refused("400 Bad Request", f"expected gzip: {error}") from error
    if unpack.unconsumed_tail:
        raise _Refused("413 Content Too Large", f"at most {BODY >> 20} MB")
    if not unpack.eof:
        raise _Refused("400 Bad Request", "expected gzip: it is cut off")
    return plain


async def _refuse(reader: StreamReader, writer: StreamWriter, refused: _Refused) -> None:
    """Say why, and read on for a while: who is still sending reads no answer before its end."""
    status, why = refused.args
    await _answer(writer, status, "text/plain", str(why).encode("utf-8", "replace"), "Connection: close\r\n")
    writer.write_eof()
    left = REST
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_S):
            while left > 0 and (part := await reader.read(HEAD)):
                left -= len(part)


async def _answer(writer: StreamWriter, status: str, kind: str, body: bytes, more: str = "") -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    writer.write(head.encode("latin-1", "replace") + body)
    await writer.drain()
