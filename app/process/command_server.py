"""Lets the process that owns a data folder run commands for other `journeyman` processes, over a local socket.

The socket has mode 0600, and each end checks that the other belongs to the same user. A request is one line of JSON
with the arguments and the current folder; the reply is lines of output and an exit code.
"""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from app.process.exit_codes import STOPPED
from app.process.output import LineHandler, Output
from core.domain.problems import Problem
from core.workspace.socket_peer import is_own_user

CommandRunner = Callable[[list[str], Path, Output], Coroutine[Any, Any, int]]
MAX_LINE = 16 << 20
STOP_S = 10.0  # how long a client waits for the owner to confirm that it stopped a canceled command


class CommandServer:
    """The socket server in the process that holds the data folder (the owner). A connection carries one request."""

    def __init__(self, path: Path, perform: CommandRunner) -> None:
        self._path = path
        self._perform = perform
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[Any]] = set()
        self._working: set[asyncio.Task[Any]] = set()

    async def serve(self) -> None:
        """Listen on the socket. A stale socket file is replaced: holding the lock proves that its owner was killed.

        In a read-only folder there is no socket: each process reads the data directly.
        """
        if self._path.parent.is_dir() and not os.access(self._path.parent, os.W_OK):
            return
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # the socket file gets mode 0600; no `await` may follow until the mask is restored
        try:
            self._path.unlink(missing_ok=True)
            listener.bind(str(self._path))
        except OSError as error:
            listener.close()
            raise Problem(
                f"The socket {self._path} cannot be created.",
                f"{error.strerror}. Other commands could not reach this process.",
                f"Remove {self._path} if it is in the way, or choose another data folder with --data-dir.",
            ) from error
        finally:
            os.umask(mask)
        self._server = await asyncio.start_unix_server(self._handle_connection, sock=listener, limit=MAX_LINE)

    async def wait_until_idle(self, timeout_s: float | None = None) -> bool:
        """Wait until no other process has a command running here. Return false if one still runs at the timeout."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._working:
                    await asyncio.wait(self._working)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        if self._server:
            self._path.unlink(missing_ok=True)
            self._server.close()
            for task in self._open:
                task.cancel()
            if self._open:
                await asyncio.wait(self._open)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if not is_own_user(writer.get_extra_info("socket")):
                return
            if request := _parse_request(await _first_line(reader)):
                self._working.add(task)
                await self._serve_one(request, reader, writer)
                writer.close()
                await writer.wait_closed()  # wait until the last lines are sent
        except (ConnectionError, asyncio.CancelledError):
            return  # the client disconnected or the server closes; Python 3.11 reports a canceled handler as an error
        finally:
            self._open.discard(task)
            self._working.discard(task)
            writer.close()

    async def _serve_one(self, request: "_Request", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(name: str, value: object) -> None:
            writer.write(_message(name, value))

        handlers: list[LineHandler] = []
        out = Output(lambda text: send("out", text), lambda text: send("err", text), handlers.append)
        send("begun", True)
        async with asyncio.TaskGroup() as tasks:
            command = tasks.create_task(self._perform(request.argv, request.folder, out))
            input_relay = tasks.create_task(_relay_input(reader, handlers))
            await asyncio.wait({command, input_relay}, return_when=asyncio.FIRST_COMPLETED)
            if not command.done():
                command.cancel()  # the client was stopped, for example by Ctrl+C
            await asyncio.wait({command})
            input_relay.cancel()
            if not command.cancelled() and command.exception() is None:
                send("exit", command.result())


async def _relay_input(reader: asyncio.StreamReader, handlers: list[LineHandler]) -> None:
    """Pass the client's input lines to the command that reads them, and return when the client disconnects."""
    with suppress(ConnectionError, ValueError):
        while line := await reader.readline():
            for on_line in handlers:
                on_line(_input_line(line))


def _input_line(line: bytes) -> bytes:
    """Return the line of input in a message of the client; an empty line if the message is invalid."""
    try:
        return str(json.loads(line)["in"]).encode()
    except (ValueError, RecursionError, KeyError, TypeError):
        return b"\n"


def _message(name: str, value: object, **more: object) -> bytes:
    """Encode a message as a line of JSON."""
    return json.dumps({name: value, **more}).encode() + b"\n"


async def _first_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # the line is longer than MAX_LINE bytes
        return b""


class _Request(NamedTuple):
    argv: list[str]
    folder: Path


def _parse_request(line: bytes) -> _Request | None:
    """Parse a request; None if it is invalid."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match request:
        case {"typed": list(argv), "folder": str(folder)} if all(isinstance(word, str) for word in argv):
            return _Request(argv, Path(folder))
        case _:
            return None


async def run_in_owner(path: Path, argv: list[str], folder: Path, out: Output) -> int | None:
    """Run a command in the process that holds the data folder (the owner), and return its exit code.

    Return None if no process listens on the socket, or if it exits before the command begins.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=MAX_LINE)
    except OSError:
        return None
    if not is_own_user(writer.get_extra_info("socket")):
        writer.close()
        raise Problem(
            f"The socket {path} belongs to another user.",
            "Its program could imitate Journeyman.",
            "Remove it, or choose another data folder with --data-dir.",
        )
    reply = _Reply(out)
    try:
        writer.write(_message("typed", argv, folder=str(folder)))
        reads_input = "acp" in argv or {"mcp", "serve"} <= set(argv)
        if out.read_input and reads_input:
            out.read_input(lambda line: writer.write(_message("in", line.decode("utf-8", "replace"))))
        await reply.follow(reader)
    except asyncio.CancelledError:
        writer.write_eof()  # the owner then stops the command, and sends its last lines
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await reply.follow(reader)
        return STOPPED if reply.code is None else reply.code
    finally:
        writer.close()
    if reply.code is None and reply.begun:
        raise Problem(
            "The Journeyman that owns the data folder went away.",
            "It exited before the command was done.",
            "See `journeyman sessions`, then try again.",
        )
    return reply.code


class _Reply:
    """Prints the owner's reply to a command as it arrives, and keeps whether the command began and its exit code."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.begun = False
        self.code: int | None = None

    async def follow(self, reader: asyncio.StreamReader) -> None:
        """Print the output lines until the exit code arrives or the connection ends."""
        while line := await _line(reader):
            match json.loads(line):
                case {"out": str(text)}:
                    self._out.write(text)
                case {"err": str(text)}:
                    self._out.write_error(text)
                case {"exit": int(code)}:
                    self.code = code
                    return
                case _:
                    self.begun = True


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ConnectionError:
        return b""


def has_private_sockets() -> bool:
    """Return whether this system has sockets that only their user can open; Windows does not."""
    return sys.platform != "win32"
