"""The only network access from inside the sandbox: an HTTP proxy on a Unix socket, for allowed hosts only."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from core.domain.problems import Problem
from core.workspace.outbound_hosts import allowed_address, normalized_host
from core.workspace.scratch_folder import ScratchFolder
from core.workspace.socket_peer import is_own_user

AddressCheck = Callable[[str], Awaitable[tuple[str, ...]]]
HostPort = tuple[str, int]

OUT_PREFIX = "journeyman-out-"
HEAD = 65_536
CONNECT_S, HEAD_S, IDLE_S = 20.0, 20.0, 300.0
MAX_CONNECTIONS = 64  # concurrent connections; further ones are closed at once
_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"te:", b"upgrade:")


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
        check: AddressCheck = allowed_address,
    ) -> None:
        self._allowed = {(normalized_host(host), port) for host, port in allowed}
        self._on_attempt = on_attempt
        self._check = check
        self._folder = ScratchFolder(OUT_PREFIX)
        self.path = self._folder.path / "way"
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[object]] = set()

    async def __aenter__(self) -> "EgressProxy":
        self._server = await asyncio.start_unix_server(self._serve, self.path, limit=HEAD)
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
        first, *fields = head[:-4].split(b"\r\n")
        method, target, _ = first.decode("ascii").split(" ")
        host, port, path = _target(method, target)
        try:
            addresses = await self._admit(host, port)
        except Problem as problem:
            self._on_attempt(ConnectionAttempt(host, port, "refused", str(problem)))
            await _answer(writer, 403, f"{problem}\n")
            return
        connection = await self._connect(addresses, host, port, writer)
        if connection is None:
            return
        self._on_attempt(ConnectionAttempt(host, port, "allowed"))
        host_reader, host_writer = connection
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                end_to_end = [line for line in fields if not line.lower().startswith((*_HOP, b"host:"))]
                name = host if port == 80 else f"{host}:{port}"
                lines = [f"{method} {path} HTTP/1.1".encode(), f"Host: {name}".encode()]
                lines += [*end_to_end, b"Connection: close"]
                host_writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
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
                    return await asyncio.open_connection(address, port, limit=HEAD)
            except (OSError, TimeoutError) as error:
                reason = str(error) or "timeout"
        self._on_attempt(ConnectionAttempt(host, port, "failed", reason))
        await _answer(writer, 502, f"{host}:{port} cannot be reached: {reason}\n")
        return None


def _target(method: str, target: str) -> tuple[str, int, str]:
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        return host, int(port), ""
    url = urlsplit(target)
    if url.scheme != "http" or not url.hostname or url.username is not None:
        raise ValueError(target)
    return url.hostname, url.port or 80, (url.path or "/") + (f"?{url.query}" if url.query else "")


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
