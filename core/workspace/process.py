"""Run a command in a folder: its output kept head and tail, its whole process group killed at the end."""

import asyncio
import os
import signal
from dataclasses import dataclass
from pathlib import Path

KEEP = 262_144  # bytes kept of the start, and of the end
FLOOD = 67_108_864  # a command that prints more is stopped
GRACE_S = 0.2  # for the last output, when a process that left the group still holds the pipe
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "SHELL", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class Finished:
    output: str
    exit_code: int
    ended: str = ""  # why it was ended, where it did not end by itself


async def run_command(command: str, folder: Path, timeout_s: float) -> Finished:
    """Run in a shell, in a session of its own. Cancelling kills the group at once."""
    # A pipe of ours: asyncio's own would make `wait` last as long as any child that holds it.
    ours, theirs = os.pipe()
    try:
        process = await asyncio.create_subprocess_shell(
            command,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=theirs,
            stderr=asyncio.subprocess.STDOUT,
            env=clean_environment(),
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return await _follow(process, ours, timeout_s)


async def _follow(process: asyncio.subprocess.Process, pipe: int, timeout_s: float) -> Finished:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb"))
    kept = Kept()
    ended = ""
    try:
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_read(reader, kept, process.pid))
            try:
                async with asyncio.timeout(timeout_s):
                    await process.wait()
            except TimeoutError:
                ended = f"stopped after {timeout_s:g} s"
            finally:
                kill_group(process.pid)
                await process.wait()
            await asyncio.wait({reading}, timeout=GRACE_S)
            reading.cancel()
    finally:
        transport.close()
    if kept.size > FLOOD:
        ended = f"stopped after {FLOOD >> 20} MB of output"
    return Finished(kept.text(), process.returncode if process.returncode is not None else -1, ended)


async def _read(reader: asyncio.StreamReader, kept: "Kept", pid: int) -> None:
    while piece := await reader.read(65_536):
        kept.add(piece)
        if kept.size > FLOOD:
            kill_group(pid)


def clean_environment() -> dict[str, str]:
    """What a command may know of ours: no keys, no settings."""
    return {name: os.environ[name] for name in PASSED if name in os.environ} | {"TERM": "dumb"}


def kill_group(pid: int) -> None:
    """End every process of the group; the group may be gone already."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class Kept:
    """The start and the end of an output of any length."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        room = KEEP - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:] if room < len(piece) else b""
        if len(self._tail) > 2 * KEEP:
            del self._tail[:-KEEP]

    def text(self) -> str:
        head = self._head.decode("utf-8", "replace")
        tail = bytes(self._tail[-KEEP:])
        dropped = self.size - len(self._head) - len(tail)
        gap = f"\n… {dropped:,} bytes left out …\n" if dropped > 0 else ""
        return head + gap + tail.decode("utf-8", "replace")
