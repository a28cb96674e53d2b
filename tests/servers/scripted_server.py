"""A raw socket server for tests that sends arbitrary bytes, ends arbitrarily, and records the requests."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ServerAction = bytes | Literal["reset", "hang", "drip"]
DRIP_S = 0.02


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ScriptedServer:
    """A server that answers each connection with the next of `answers`, and further ones with the last.

    `connection_ended` is set whenever a connection has ended.
    """

    answers: Sequence[Sequence[ServerAction]]
    drip: bytes = b": still here\n\n"
    requests: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    sent: int = 0
    port: int = 0
    scheme: str = "http"
    connection_ended: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)
    _closed: bool = False

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a new connection; not a coroutine, so that `close` knows a connection whose task has not begun."""
        if self._closed:  # accepted before the server was closed, connected only now
            writer.transport.abort()
            return
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(self.connections, reader, writer))
        self._tasks.add(task)
        self._writers.append(writer)

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(request := await _request(reader))
            for action in self.answer_to(request, number):
                await self._play(action, reader, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client disconnected, or the test is over
        finally:
            self.connection_ended.set()
            writer.close()

    def answer_to(self, request: ReceivedRequest, number: int) -> Sequence[ServerAction]:
        """Return the actions for a request; `number` is the number of the connection, from 1."""
        return self.answers[min(number, len(self.answers)) - 1]

    async def close(self) -> None:
        """Close all connections, also those that have been answered, but whose client has not read everything."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()  # unlike close(), it does not wait for a client that reads no more

    async def _play(self, act: ServerAction, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match act:
            case "reset":
                await writer.drain()
                await asyncio.sleep(DRIP_S)
                writer.transport.abort()
            case "hang":
                await reader.read()
            case "drip":
                while True:
                    await self._write(self.drip, writer)
                    await asyncio.sleep(DRIP_S if len(self.drip) < 1000 else 0)
            case _:
                await self._write(act, writer)

    async def _write(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)
        if writer.is_closing():
            raise ConnectionResetError


async def _request(reader: asyncio.StreamReader) -> ReceivedRequest:
    start = await reader.readexactly(1)
    if start == b"\x16":  # the start of a TLS handshake, which a server without TLS rejects
        raise ConnectionResetError
    head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ReceivedRequest(method, path, headers, body)


@contextlib.asynccontextmanager
async def scripted_server(
    *answers: Sequence[ServerAction],
    drip: bytes = b": still here\n\n",
    tls: ssl.SSLContext | None = None,
    kind: type[ScriptedServer] = ScriptedServer,
) -> AsyncIterator[ScriptedServer]:
    """Run a server that sends these responses, one per connection."""
    played = kind(answers, drip)
    server = await asyncio.start_server(played.serve, "127.0.0.1", 0, ssl=tls)
    played.port = server.sockets[0].getsockname()[1]
    played.scheme = "https" if tls else "http"
    try:
        yield played
    finally:
        await close_listener(server)
        await played.close()


async def close_listener(server: asyncio.Server) -> None:
    """Close a listening server once its accepted connections have their transports.

    `asyncio.Server.close` lets the transport of a connection that was accepted just before fail half made, and its
    socket is then reported as never closed.
    """
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    await asyncio.sleep(0)
    server.close()


def answer(
    body: bytes,
    kind: str = "text/event-stream",
    status: str = "200 OK",
    headers: Sequence[str] = (),
    sized: bool = True,
) -> list[ServerAction]:
    """Return a complete response. If not `sized`, the end of the connection ends it."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *headers, "Connection: close"]
    if sized:
        lines.append(f"Content-Length: {len(body)}")
    return ["\r\n".join([*lines, "", ""]).encode("latin-1") + body]


def stream(*chunks: Any, end: str = "[DONE]") -> bytes:
    """Encode Chat Completions chunks as server-sent events."""
    events = [f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n" for chunk in chunks]
    return ("".join(events) + (f"data: {end}\n\n" if end else "")).encode()


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return one Chat Completions chunk."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def failure(status: str, body: Any, headers: Sequence[str] = ()) -> list[ServerAction]:
    """Return an error response."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return answer(data, "application/json", status, headers)
