"""The only way out of the sandbox: a proxy on a socket of its own, which lets through to the allowed hosts."""

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from core.domain.problems import Problem
from core.workspace.egress import allowed_address, host_name

Check = Callable[[str], Awaitable[tuple[str, ...]]]
Door = tuple[str, int]

HEAD = 65_536
CONNECT_S, HEAD_S, IDLE_S = 20.0, 20.0, 300.0
MANY = 64  # connections at once
_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"te:", b"upgrade:")


@dataclass(frozen=True, slots=True)
class Knock:
    """Somebody wanted out: where to, and what came of it."""

    host: str
    port: int
    result: Literal["allowed", "refused", "failed"]
    why: str = ""


class Proxy:
    """Open from `async with` to its end. `doors` are pairs of host and port; `tell` hears every knock."""

    def __init__(self, doors: Iterable[Door], tell: Callable[[Knock], None], check: Check = allowed_address) -> None:
        self._doors = {(host_name(host), port) for host, port in doors}
        self._tell, self._check = tell, check
        self._folder = tempfile.TemporaryDirectory(prefix="journeyman-out-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name) / "way"
        self._server: asyncio.Server | None = None
        self._going: set[asyncio.Task[object]] = set()

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_unix_server(self._serve, self.path, limit=HEAD)
        return self

    async def __aexit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server:
            # asyncio forgets a connection it has just accepted when its server closes: those are let in first.
            for listener in server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
            for _turn in range(4):
                await asyncio.sleep(0)
            server.close()
        for task in self._going:
            task.cancel()
        if self._going:
            await asyncio.wait(self._going)
        self._folder.cleanup()

    def allow(self, host: str, port: int) -> None:
        """One more door, from now on."""
        self._doors.add((host_name(host), port))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._server is None or len(self._going) >= MANY:
            writer.transport.abort()
            return
        self._going.add(task)
        try:
            await self._one(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # whoever knocked hears it: its connection closes
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._going.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        first, *fields = head[:-4].split(b"\r\n")
        method, target, _ = first.decode("ascii").split(" ")
        host, port, path = _target(method, target)
        try:
            addresses = await self._admit(host, port)
        except Problem as problem:
            self._tell(Knock(host, port, "refused", str(problem)))
            await _answer(writer, 403, f"{problem}\n")
            return
        way = await self._connect(addresses, host, port, writer)
        if way is None:
            return
        self._tell(Knock(host, port, "allowed"))
        far_reader, far_writer = way
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                kept = [line for line in fields if not line.lower().startswith((*_HOP, b"host:"))]
                name = host if port == 80 else f"{host}:{port}"
                lines = [f"{method} {path} HTTP/1.1".encode(), f"Host: {name}".encode(), *kept, b"Connection: close"]
                far_writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, far_writer))
                both.create_task(_pump(far_reader, writer))
        finally:
            far_writer.close()

    async def _admit(self, host: str, port: int) -> tuple[str, ...]:
        name = host_name(host)
        if (name, port) not in self._doors:
            raise Problem(f"{name}:{port} is not allowed in this run.", "", "Ask the person to allow it.")
        return await self._check(name)

    async def _connect(
        self, addresses: tuple[str, ...], host: str, port: int, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """To the addresses that were looked at, never by the name again."""
        why = ""
        for address in addresses:
            try:
                async with asyncio.timeout(CONNECT_S):
                    return await asyncio.open_connection(address, port, limit=HEAD)
            except (OSError, TimeoutError) as error:
                why = str(error) or "no answer"
        self._tell(Knock(host, port, "failed", why))
        await _answer(writer, 502, f"{host}:{port} does not answer: {why}\n")
        return None


def _target(method: str, target: str) -> tuple[str, int, str]:
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        return host, int(port), ""
    found = urlsplit(target)
    if found.scheme != "http" or not found.hostname or found.username is not None:
        raise ValueError(target)
    return found.hostname, found.port or 80, (found.path or "/") + (f"?{found.query}" if found.query else "")


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            async with asyncio.timeout(IDLE_S):
                piece = await reader.read(65_536)
            if not piece:
                break
            writer.write(piece)
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
