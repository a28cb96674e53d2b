"""The only network access from inside the sandbox: an HTTP proxy on a Unix socket, for allowed hosts only."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from core.domain.problems import Problem
from core.workspace.outbound_hosts import allowed_addresses, normalized_host
from core.workspace.scratch_folder import ScratchFolder
from core.workspace.socket_peer import is_own_user

AddressCheck = Callable[[str], Awaitable[tuple[str, ...]]]
HostPort = tuple[str, int]

OUT_PREFIX = "journeyman-out-"
MAX_HEAD = 65_536  # bytes of a request up to its body
# Time limits in seconds: for a connection to a host, for the head of a request, and between two chunks of data.
CONNECT_S = 20.0
HEAD_S = 20.0
IDLE_S = 300.0
MAX_CONNECTIONS = 64  # concurrent connections; further ones are closed at once
_HOP_BY_HOP_FIELDS = (b"proxy-", b"connection:", b"keep-alive:", b"te:", b"upgrade:")  # beginnings in lowercase


class _RequestTarget(NamedTuple):
    """Where a request is sent to. The path is "" for a tunnel (CONNECT)."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class ConnectionAttempt:
    """An attempt of a command to connect to a host, its result, and the reason if it was refused or failed."""

    host: str
    port: int
    result: Literal["allowed", "refused", "failed"]
    why: str = ""


class EgressProxy:
    """A proxy that listens on the socket `path` during its `async with` block and reports attempts to `on_attempt`."""

    def __init__(
        self,
        allowed: Iterable[HostPort],
        on_attempt: Callable[[ConnectionAttempt], None],
        check: AddressCheck = allowed_addresses,
    ) -> None:
        self._allowed = {(normalized_host(host), port) for host, port in allowed}
        self._on_attempt = on_attempt
        self._check = check
        self._folder = ScratchFolder(OUT_PREFIX)
        self.path = self._folder.path / "way"
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[object]] = set()

    async def __aenter__(self) -> "EgressProxy":
        self._server = await asyncio.start_unix_server(self._serve, self.path, limit=MAX_HEAD)
        return self

    async def __aexit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server:
            # When the server closes, asyncio would lose connections that it has just accepted, so let it serve them
            # first.
            for listener in server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
            for _turn in range(4):
                await asyncio.sleep(0)
            server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        self._folder.close()

    def allow_host(self, host: str, port: int) -> None:
        """Allow one more host and port."""
        self._allowed.add((normalized_host(host), port))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        is_own = is_own_user(writer.get_extra_info("socket"))
        if task is None or self._server is None or len(self._connections) >= MAX_CONNECTIONS or not is_own:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            await self._forward(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # the client only sees that its connection is closed
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        request_line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        method, url, _ = request_line.decode("ascii").split(" ")
        target = _parse_target(method, url)
        try:
            addresses = await self._admit(target.host, target.port)
        except Problem as problem:
            self._on_attempt(ConnectionAttempt(target.host, target.port, "refused", str(problem)))
            await _answer(writer, 403, f"{problem}\n")
            return
        connection = await self._connect(addresses, target.host, target.port, writer)
        if connection is None:
            return
        self._on_attempt(ConnectionAttempt(target.host, target.port, "allowed"))
        host_reader, host_writer = connection
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                host_writer.write(_forwarded_head(method, target, fields))
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(_pump(reader, host_writer))
                pumps.create_task(_pump(host_reader, writer))
        finally:
            host_writer.close()

    async def _admit(self, host: str, port: int) -> tuple[str, ...]:
        name = normalized_host(host)
        if (name, port) not in self._allowed:
            raise Problem(f"{name}:{port} is not allowed in this run.", "", "Ask the user to allow it.")
        return await self._check(name)

    async def _connect(
        self, addresses: tuple[str, ...], host: str, port: int, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connect to the first reachable address; if none is, answer 502 and return None.

        The name is not resolved again, because that could yield addresses that were not checked.
        """
        reason = ""
        for address in addresses:
            try:
                async with asyncio.timeout(CONNECT_S):
                    return await asyncio.open_connection(address, port, limit=MAX_HEAD)
            except (OSError, TimeoutError) as error:
                reason = str(error) or "timeout"
        self._on_attempt(ConnectionAttempt(host, port, "failed", reason))
        await _answer(writer, 502, f"{host}:{port} cannot be reached: {reason}\n")
        return None


def _parse_target(method: str, url: str) -> _RequestTarget:
    """Parse the target of a request to a proxy; raise ValueError if it is invalid."""
    if method == "CONNECT":
        host, _, port = url.rpartition(":")
        return _RequestTarget(host, int(port), path="")
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or parts.username is not None:
        raise ValueError(url)
    query = f"?{parts.query}" if parts.query else ""
    return _RequestTarget(parts.hostname, parts.port or 80, path=(parts.path or "/") + query)


def _forwarded_head(method: str, target: _RequestTarget, fields: Iterable[bytes]) -> bytes:
    """Return the head of the request to the host, without the fields that are meant for the proxy."""
    end_to_end = [line for line in fields if not line.lower().startswith((*_HOP_BY_HOP_FIELDS, b"host:"))]
    host = target.host if target.port == 80 else f"{target.host}:{target.port}"
    lines = [f"{method} {target.path} HTTP/1.1".encode(), f"Host: {host}".encode()]
    lines += [*end_to_end, b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            async with asyncio.timeout(IDLE_S):
                chunk = await reader.read(65_536)
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            if writer.can_write_eof():
                writer.write_eof()


async def _answer(writer: asyncio.StreamWriter, code: int, text: str) -> None:
    body = text.encode()
    writer.write(f"HTTP/1.1 {code} Refused\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    with contextlib.suppress(OSError):
        await writer.drain()
