"""Traces of other programs as they run: OTLP over HTTP, on this machine only, each trace a session that grows."""

import asyncio
import json
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Mapping
from contextlib import suppress

from core.domain.events import RunEvent
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.exchange.importers.opentelemetry import OpenTelemetry, in_order, tell_span
from core.exchange.importers.telling import Telling
from core.exchange.spans import Span, from_json, from_protobuf
from core.store.journal import Journal

HOST = "127.0.0.1"
HEAD = 65_536
BODY = 64 << 20
QUIET_S = 60.0
TRACES = 200  # held open; the one that was silent longest is closed for a new one
PATHS = ("/v1/traces", "/v1/logs", "/v1/metrics")
JSON, PROTOBUF = "application/json", "application/x-protobuf"
Fact = tuple[str, int, RunEvent, Mapping[str, bytes]]


class _Refused(Exception):
    """A status of HTTP, and why."""


class Receiver:
    """`journal` takes what comes. A page in a browser cannot send here: its host or its type of content gives it away.

    `report` is told a problem of the journal.
    """

    def __init__(self, journal: Journal, report: Callable[[Problem], None] = lambda problem: None) -> None:
        self._journal = journal
        self._report = report
        self._server: asyncio.Server | None = None
        self._tellings: dict[str, Telling] = {}
        self._ids: dict[str, str] = {}
        self._facts: list[Fact] = []
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
        for telling in self._tellings.values():
            telling.close()
        self._tellings.clear()
        with suppress(Problem):
            await self._write()

    async def take(self, spans: list[Span]) -> None:
        """Tell these spans to the sessions of their traces."""
        async with self._turn:
            for span in sorted(spans, key=in_order):
                tell_span(span, self._telling(span.trace))
                self.spans += 1
            await self._write()

    def _telling(self, trace: str) -> Telling:
        telling = self._tellings.pop(trace, None)
        if telling is None:
            while len(self._tellings) >= TRACES:
                self._tellings.pop(next(iter(self._tellings))).close()
            telling = Telling(OpenTelemetry.agent, trace, self._take, self._id_of)
        self._tellings[trace] = telling
        return telling

    def _id_of(self, key: str) -> str:
        return self._ids.setdefault(key, session_id())

    def _take(self, key: str, at: int, event: RunEvent, contents: Mapping[str, bytes]) -> None:
        self._facts.append((self._id_of(key), at, event, contents))

    async def _write(self) -> None:
        """What was gathered, session by session, in order."""
        facts, self._facts = self._facts, []
        for session in dict.fromkeys(fact[0] for fact in facts):
            mine = [fact for fact in facts if fact[0] == session]
            blobs = {name: body for fact in mine for name, body in fact[3].items()}
            await self._journal.copy(session, [(at, event) for _, at, event, _ in mine], blobs=blobs)

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
            body = _unpacked(await _body(reader, headers), headers.get("content-encoding", ""))
            if path == PATHS[0]:
                await self.take(_spans(body, kind))
        except _Refused as refused:
            await _answer(writer, refused.args[0], "text/plain", str(refused.args[1]).encode())
            return False
        except Problem as problem:
            self._report(problem)
            await _answer(writer, "503 Service Unavailable", "text/plain", str(problem).encode())
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
        return from_json(json.loads(body)) if kind == JSON else from_protobuf(body)
    except (ValueError, RecursionError) as error:
        raise _Refused("400 Bad Request", f"expected an export of traces: {error}") from error


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
    return plain


async def _answer(writer: StreamWriter, status: str, kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode("latin-1", "replace") + body)
    await writer.drain()
