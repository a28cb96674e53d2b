"""The owner of a data folder lends its engine to other `journeyman` commands, over a local socket of mode 0600."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from app.output import Output
from core.domain.problems import Problem

Perform = Callable[[list[str], Path, Output], Coroutine[Any, Any, int]]
LINE = 16 << 20


class Owner:
    """Serves one request a connection: what was typed and where; answers with lines and an exit code."""

    def __init__(self, path: Path, perform: Perform) -> None:
        self._path = path
        self._perform = perform
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[Any]] = set()

    async def serve(self) -> None:
        """Listen. What an owner that was killed left behind is replaced: the lock says that we are the only one."""
        self._path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._hear, self._path, limit=LINE)
        finally:
            os.umask(mask)

    async def close(self) -> None:
        if self._server:
            self._server.close()
            for task in self._busy:
                task.cancel()
            if self._busy:
                await asyncio.wait(self._busy)
            self._path.unlink(missing_ok=True)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            await self._serve_one(reader, writer)
        except (ConnectionError, ValueError):
            return  # whoever asked is gone, or is no journeyman
        finally:
            self._busy.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(await reader.readline())

        def send(name: str, value: object) -> None:
            writer.write(json.dumps({name: value}).encode() + b"\n")

        out = Output(lambda text: send("out", text), lambda text: send("err", text))
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(self._perform(asked["typed"], Path(asked["folder"]), out))
            leaving = tasks.create_task(_gone(reader))
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                working.cancel()  # the person pressed Ctrl+C on the other side
            await asyncio.wait({working})
            leaving.cancel()
        if not working.cancelled():
            send("exit", working.result())
            await writer.drain()


async def _gone(reader: asyncio.StreamReader) -> None:
    await reader.read()


async def ask_owner(path: Path, typed: list[str], out: Output) -> int | None:
    """Let the owner of the folder do it; None when nobody listens."""
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LINE)
    except OSError:
        return None
    try:
        writer.write(json.dumps({"typed": typed, "folder": str(Path.cwd())}).encode() + b"\n")
        await writer.drain()
        while line := await reader.readline():
            told = json.loads(line)
            if "exit" in told:
                return int(told["exit"])
            (out.write if "out" in told else out.complain)(told.get("out") or told.get("err") or "")
    finally:
        writer.close()
    raise Problem(
        "The Journeyman that owns this data folder went away.",
        "It ended before the command did.",
        "Look with `journeyman sessions`, then try again.",
    )


def can_serve() -> bool:
    """Unix sockets keep others out by the file's mode; without them every command needs the folder for itself."""
    return sys.platform != "win32"
