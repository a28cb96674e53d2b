"""One HTTP/1.1 connection of the trace receiver: reads export requests and writes the replies."""

import asyncio
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import h11

READ_BYTES = 65_536  # size of one read, and the largest head that a request may have
MAX_BODY_BYTES = 64 << 20  # largest body of a request, also after decompression
# Bytes and seconds for which a refused request is read on, since clients often send all before reading the reply.
DRAIN_LIMIT_BYTES, DRAIN_TIMEOUT_S = 4 * MAX_BODY_BYTES, 10.0


class HttpError(Exception):
    """Raised for a request that is refused with this HTTP status and reason."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The method, path and headers of a request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip().lower()


class TraceConnection:
    """Reads the requests of one client one after another. Raises `HttpError` for a malformed or too large request."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=READ_BYTES)

    async def read_head(self) -> RequestHead | None:
        """Return the head of the next request, or None once the client has disconnected."""
        request = await self._next_event()
        if not isinstance(request, h11.Request):
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
        return RequestHead(request.method.decode("latin-1"), request.target.decode("latin-1"), headers)

    async def read_body(self, head: RequestHead) -> bytes:
        """Return the decompressed body of the request whose head was read."""
        _check_size(int(head.headers.get("content-length", "0")))
        if self._http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[]))
        body = bytearray()
        while isinstance(part := await self._next_event(), h11.Data):
            body += part.data
            _check_size(len(body))
        return _decompressed(body, head.headers.get("content-encoding", "").lower())

    async def reply(self, content_type: str, body: bytes) -> bool:
        """Send a successful reply. Return whether the connection stays open for another request."""
        await self._respond(HTTPStatus.OK, [("Content-Type", content_type)], body)
        if self._http.our_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def refuse(self, error: HttpError) -> None:
        """Send an error reply, then read the rest of the request for a while, so that the client reads the reply."""
        headers = [("Content-Type", "text/plain"), ("Connection", "close")]
        await self._respond(error.status, headers, str(error).encode("utf-8", "replace"))
        self._writer.write_eof()
        remaining = DRAIN_LIMIT_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_TIMEOUT_S):
                while remaining > 0 and (part := await self._reader.read(READ_BYTES)):
                    remaining -= len(part)

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _next_event(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(READ_BYTES))
        except h11.RemoteProtocolError as error:
            raise HttpError(HTTPStatus(error.error_status_hint), str(error)) from error
        return event

    async def _respond(self, status: HTTPStatus, headers: list[tuple[str, str]], body: bytes) -> None:
        headers = [*headers, ("Content-Length", str(len(body)))]
        self._send(h11.Response(status_code=status, headers=headers, reason=status.phrase))
        self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())
        await self._writer.drain()

    def _send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")


def _check_size(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MAX_BODY_BYTES >> 20} MB")


def _decompressed(body: bytes | bytearray, coding: str) -> bytes:
    if coding in ("", "identity"):
        return bytes(body)
    if coding != "gzip":
        raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected gzip or no content encoding")
    unpack = zlib.decompressobj(31)
    try:
        plain = unpack.decompress(body, MAX_BODY_BYTES)
    except zlib.error as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"invalid gzip data: {error}") from error
    if unpack.unconsumed_tail:
        _check_size(MAX_BODY_BYTES + 1)
    if not unpack.eof:
        raise HttpError(HTTPStatus.BAD_REQUEST, "the gzip data is truncated")
    return plain
