"""Runs a helper program of a tool with limits of time and output."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

MAX_OUTPUT = 1 << 20  # bytes of standard output; a program that prints more is killed
TIMEOUT_S = 20.0
PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT")

ExceededLimit = Literal["", "time", "output"]


class BoundedOutput(NamedTuple):
    """The output of a program and how it ended.

    Attributes:
        stopped_by: the limit that it exceeded, so that it was killed; "" if it ended by itself.
        exit_code: negative if a signal ended it.
    """

    text: bytes
    stopped_by: ExceededLimit
    exit_code: int


async def run_bounded(command: Sequence[str], text: bytes, folder: Path) -> BoundedOutput:
    """Run a program with `text` as its input until it ends, or has printed too much or taken too long."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output = bytearray()
    stopped_by: ExceededLimit = ""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_feed(process, text))
                stopped_by = await _read_output(process, output)
            if not stopped_by:
                await process.wait()
    except TimeoutError:
        stopped_by = "time"
    finally:
        _kill(process)
        await process.wait()
        await _drain(process)
    return BoundedOutput(bytes(output), stopped_by, process.returncode or 0)


async def _read_output(process: asyncio.subprocess.Process, output: bytearray) -> ExceededLimit:
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        output += chunk
        if len(output) > MAX_OUTPUT:
            _kill(process)
            return "output"
    return ""


async def _feed(process: asyncio.subprocess.Process, text: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(text)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # The program has ended without reading all of its input.


async def _drain(process: asyncio.subprocess.Process) -> None:
    # asyncio closes the pipe only when all output was read.
    assert process.stdout is not None
    while await process.stdout.read(65_536):
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process. `process.kill` could reap a child that has just ended, so that asyncio would never notice."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.kill(process.pid, signal.SIGKILL)
