"""Run a command in a folder: its output kept head and tail, everything it started killed at the end."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import IO

from core.domain.problems import Problem

KEEP = 262_144  # bytes kept of the start, and of the end
FLOOD = 67_108_864  # a command that prints more is stopped
GRACE_S = 0.2  # for the last output, when a process that left the group still holds the pipe
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "SHELL", "SYSTEMROOT")
MARK = "JOURNEYMAN_CALL"
# A watcher in the command's group waits for the end of a pipe that we hold: when we are killed, the group dies too.
GUARD = 'exec 3<&0 0</dev/null; (read -r _ <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; exec /bin/sh -c "$0"'


@dataclass(frozen=True, slots=True)
class Finished:
    output: str
    exit_code: int
    ended: str = ""  # why it was ended, where it did not end by itself


async def run_command(command: str, folder: Path, timeout_s: float) -> Finished:
    """Run in a shell, in a session of its own. Cancelling kills what it started at once."""
    started = _start(command, folder)
    try:
        return await _follow(started, timeout_s)
    finally:
        os.close(started.life)
        started.output.close()


@dataclass(frozen=True, slots=True)
class _Started:
    """`output` is what it prints into; while `life` is open the group lives."""

    process: "subprocess.Popen[bytes]"
    output: IO[bytes]
    life: int
    mark: str

    def kill(self) -> None:
        kill_group(self.process.pid)
        end_marked(self.mark)


def _start(command: str, folder: Path) -> _Started:
    """Without a pause, so that no stop can fall between the start of a process and the knowing of its number."""
    # Pipes of ours: asyncio's own would make waiting last as long as any child that holds one.
    output, theirs = os.pipe()
    watched, life = os.pipe()
    mark = token_hex(8)
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, command],
            cwd=folder,
            stdin=watched,
            stdout=theirs,
            stderr=subprocess.STDOUT,
            env=clean_environment() | {MARK: mark},
            start_new_session=True,
        )
    except OSError as error:
        os.close(output)
        os.close(life)
        raise Problem("The command cannot be started.", f"{error}.", "Check that the folder is still there.") from error
    finally:
        os.close(theirs)
        os.close(watched)
    return _Started(process, os.fdopen(output, "rb"), life, mark)


async def _follow(started: _Started, timeout_s: float) -> Finished:
    reader = asyncio.StreamReader()
    kept = Kept()
    ended = ""
    exited = _exit_of(started.process)
    try:
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_read(started, reader, kept))
            done, _ = await asyncio.wait({exited}, timeout=timeout_s)
            if not done:
                ended = f"stopped after {timeout_s:g} s"
            started.kill()  # before the number of the group can be another's: its watcher lives until now
            await asyncio.wait({exited})
            await asyncio.wait({reading}, timeout=GRACE_S)
            reading.cancel()
    finally:
        if not exited.done():
            started.kill()
            await asyncio.wait({exited})
    if kept.size > FLOOD:
        ended = f"stopped after {FLOOD >> 20} MB of output"
    return Finished(kept.text(), started.process.returncode, ended)


def _exit_of(process: "subprocess.Popen[bytes]") -> asyncio.Future[None]:
    """Done when the process has ended."""
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[None] = loop.create_future()

    def wait() -> None:
        process.wait()
        loop.call_soon_threadsafe(exited.set_result, None)

    threading.Thread(target=wait, name=f"command {process.pid}", daemon=True).start()
    return exited


async def _read(started: _Started, reader: asyncio.StreamReader, kept: "Kept") -> None:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), started.output)
    try:
        while piece := await reader.read(65_536):
            kept.add(piece)
            if kept.size > FLOOD:
                kill_group(started.process.pid)
    finally:
        transport.close()


def clean_environment() -> dict[str, str]:
    """What a command may know of ours: no keys, no settings."""
    return {name: os.environ[name] for name in PASSED if name in os.environ} | {"TERM": "dumb"}


def kill_group(pid: int) -> None:
    """End every process of the group; the group may be gone already."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def end_marked(mark: str) -> None:
    """End what left the group: every process that still carries the mark of this command in its environment."""
    if not sys.platform.startswith("linux"):
        return
    needle = f"{MARK}={mark}".encode()
    for _ in range(3):  # one that is just being made is found the next time
        found = [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit() and _holds(place, needle)]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        if not found:
            return


def _holds(process: Path, needle: bytes) -> bool:
    try:
        return process.stat().st_uid == os.getuid() and needle in (process / "environ").read_bytes()
    except OSError:
        return False  # gone, or not ours


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
        tail = bytes(self._tail[-KEEP:])
        dropped = self.size - len(self._head) - len(tail)
        if dropped <= 0:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = self._head.decode("utf-8", "replace")
        return f"{head}\n… {dropped:,} bytes left out …\n{tail.decode('utf-8', 'replace')}"
