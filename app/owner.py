"""The owner of a data folder lends its engine to other `journeyman` commands, over a local socket of mode 0600."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from app.commands.exits import STOPPED
from app.output import Hear, Output
from core.domain.problems import Problem

Perform = Callable[[list[str], Path, Output], Coroutine[Any, Any, int]]
LINE = 16 << 20
STOP_S = 10.0  # for the owner to say that it stopped what was cut


class Owner:
    """Serves one request a connection: what was typed and where; answers with lines and an exit code."""

    def __init__(self, path: Path, perform: Perform) -> None:
        self._path = path
        self._perform = perform
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[Any]] = set()
        self._working: set[asyncio.Task[Any]] = set()

    async def serve(self) -> None:
        """Listen. What an owner that was killed left behind is replaced: the lock says that we are the only one.

        Where the folder cannot be written nobody is served: each command can look for itself.
        """
        if self._path.parent.is_dir() and not os.access(self._path.parent, os.W_OK):
            return
        self._path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # without a pause: nothing else of ours makes files with it
        try:
            listening.bind(str(self._path))
        except OSError as error:
            listening.close()
            raise Problem(
                "Other commands could not reach this Journeyman.",
                f"The socket {self._path} cannot be made: {error.strerror}.",
                "Choose another data folder with --home.",
            ) from error
        finally:
            os.umask(mask)
        self._server = await asyncio.start_unix_server(self._hear, sock=listening, limit=LINE)

    async def idle(self, timeout_s: float | None = None) -> bool:
        """Wait until no other command uses our engine; False when one still does at the end of the time."""
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

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if asked := _request(await _first_line(reader)):
                self._working.add(task)
                await self._serve_one(asked, reader, writer)
                writer.close()
                await writer.wait_closed()  # the last lines are out
        except (ConnectionError, asyncio.CancelledError):
            return  # whoever asked is gone, or we close; Python 3.11 reports a cancelled one as a bug
        finally:
            self._open.discard(task)
            self._working.discard(task)
            writer.close()

    async def _serve_one(self, asked: "_Request", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(name: str, value: object) -> None:
            writer.write(json.dumps({name: value}).encode() + b"\n")

        heard: list[Hear] = []
        out = Output(lambda text: send("out", text), lambda text: send("err", text), heard.append)
        send("begun", True)
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(self._perform(asked.typed, asked.folder, out))
            leaving = tasks.create_task(_gone(reader, heard))
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                working.cancel()  # the person pressed Ctrl+C on the other side
            await asyncio.wait({working})
            leaving.cancel()
            if not working.cancelled() and working.exception() is None:
                send("exit", working.result())


async def _gone(reader: asyncio.StreamReader, heard: list[Hear]) -> None:
    """Until whoever asked is gone; what they type meanwhile is for the command that listens."""
    with suppress(ConnectionError, ValueError):
        while line := await reader.readline():
            for hear in heard:
                hear(_typed(line))


def _typed(line: bytes) -> bytes:
    try:
        return str(json.loads(line)["in"]).encode()
    except (ValueError, RecursionError, KeyError, TypeError):
        return b"\n"


async def _first_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # longer than any request
        return b""


class _Request(NamedTuple):
    typed: list[str]
    folder: Path


def _request(line: bytes) -> _Request | None:
    """What a journeyman asked; None for anything else."""
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match plain:
        case {"typed": list(typed), "folder": str(folder)} if all(isinstance(word, str) for word in typed):
            return _Request(typed, Path(folder))
        case _:
            return None


async def ask_owner(path: Path, typed: list[str], folder: Path, out: Output) -> int | None:
    """Let the owner of the data folder do it; None when nobody listens, or it ended before it began."""
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LINE)
    except OSError:
        return None
    told = _Told(out)
    try:
        writer.write(json.dumps({"typed": typed, "folder": str(folder)}).encode() + b"\n")
        if out.listen and "acp" in typed:  # the one command that listens
            out.listen(lambda line: writer.write(json.dumps({"in": line.decode("utf-8", "replace")}).encode() + b"\n"))
        await told.follow(reader)
    except asyncio.CancelledError:
        writer.write_eof()  # the owner stops what we asked for, and tells us of it
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await told.follow(reader)
        return STOPPED if told.code is None else told.code
    finally:
        writer.close()
    if told.code is None and told.begun:
        raise Problem(
            "The Journeyman that owns this data folder went away.",
            "It ended before the command did.",
            "Look with `journeyman sessions`, then try again.",
        )
    return told.code


class _Told:
    """What the owner has told us so far."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.begun = False
        self.code: int | None = None

    async def follow(self, reader: asyncio.StreamReader) -> None:
        """Print until the exit code, or until the owner is gone."""
        while line := await _line(reader):
            match json.loads(line):
                case {"out": str(text)}:
                    self._out.write(text)
                case {"err": str(text)}:
                    self._out.complain(text)
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


def can_serve() -> bool:
    """Unix sockets keep others out by the file's mode; without them every command needs the folder for itself."""
    return sys.platform != "win32"
