"""Follow a command: its output as it comes, kept head and tail; its limits; its end, and that of all it left."""

import asyncio
import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import IO

from core.domain.problems import Problem
from core.workspace import jobobject, usage
from core.workspace.launch import Launch, Limits

KEEP = 262_144  # bytes kept of the start, and of the end
GRACE_S = 0.2  # for the last output, when a process that left us still holds the pipe
LOOK_S = 0.2  # between two looks at what a command uses
MARK = "JOURNEYMAN_CALL"

Hear = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Finished:
    output: str
    exit_code: int
    ended: str = ""  # why it was ended, where it did not end by itself


async def begin(
    launch: Launch, limits: Limits, hear: Hear | None = None, watch: Callable[[], None] | None = None
) -> "Running":
    """Start a command and follow it; `watch` is called now and then. Whoever does must wait for its end, or end it."""
    running = Running(launch, limits, hear, watch)
    await running.listen()
    return running


class Running(asyncio.Protocol):
    """A command, from its start."""

    def __init__(
        self, launch: Launch, limits: Limits, hear: Hear | None = None, watch: Callable[[], None] | None = None
    ) -> None:
        """Without a pause, so that no stop can fall between the start of a process and the knowing of its number."""
        self._loop = asyncio.get_running_loop()
        self._launch, self._limits, self._hear, self._watch = launch, limits, hear, watch
        self._kept = Kept()
        self._why = ""
        self._over = False  # the process has ended
        self._dry = False  # so has its output
        self._done: asyncio.Future[Finished] = self._loop.create_future()
        self._timers: list[asyncio.TimerHandle] = []
        self._transport: asyncio.BaseTransport | None = None
        self._mark = token_hex(8)
        self._process, self._output, self._life = _start(launch, self._mark)
        self._job = jobobject.hold(self._process, limits) if launch.ending == "job" else 0
        self._watch_exit()
        self._later(limits.time_s, self.kill, f"stopped after {limits.time_s:g} s")
        self._later(LOOK_S / 4, self._look)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def finished(self) -> Finished | None:
        """How it ended; None while it runs."""
        return self._done.result() if self._done.done() and not self._done.cancelled() else None

    def output(self) -> str:
        """What it printed so far."""
        return self._kept.text()

    def kill(self, why: str = "stopped") -> None:
        """End it and all it started, at once; `wait` tells how it was."""
        if not self._over:
            self._why = self._why or why
            self._end_all()

    async def wait(self) -> Finished:
        """Until it and its output have ended. A wait that is cut leaves the command as it is."""
        return await asyncio.shield(self._done)

    async def until_end(self) -> Finished:
        """The same; but a wait that is cut kills the command, and ends only when nothing of it is left."""
        try:
            return await self.wait()
        except asyncio.CancelledError:
            await self.end()
            raise

    async def end(self) -> None:
        """Kill it and wait until nothing of it is left, whatever comes."""
        self.kill()
        while not self._done.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({self._done})

    async def listen(self) -> None:
        """Hear its output from now on."""
        try:
            self._transport, _ = await self._loop.connect_read_pipe(lambda: self, self._output)
        except BaseException:
            self._dry = True
            await self.end()
            raise
        if self._done.done():
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._kept.add(data)
        if self._hear:
            self._hear(data)
        if self._kept.size > self._limits.output:
            self.kill(f"stopped after {self._limits.output / (1 << 20):g} MB of output")

    def connection_lost(self, exc: Exception | None) -> None:
        self._dry = True
        if self._over:
            self._finish()

    def _later(self, delay: float, act: Callable[..., None], *given: object) -> None:
        self._timers.append(self._loop.call_later(delay, act, *given))

    def _look(self) -> None:
        """Stop what uses too much. Root is not held by the limit on processes, so they are counted too."""
        if self._over:
            return
        if self._watch:
            self._watch()
        processes, memory = usage.used(self.pid)
        if memory > self._limits.memory:
            self.kill(f"stopped at {memory >> 20:,} MB of memory, {self._limits.memory >> 20:,} MB are allowed")
        elif processes > self._limits.processes + 2:
            self.kill(f"stopped at {processes:,} processes, {self._limits.processes:,} are allowed")
        else:
            self._later(LOOK_S, self._look)

    def _watch_exit(self) -> None:
        def wait() -> None:
            # Not yet collected: until we have killed what is left, its number cannot become another's.
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            else:
                self._process.wait()
            if self._launch.told >= 0:
                usage.await_namespace(self._launch.told)
            with contextlib.suppress(RuntimeError):  # the loop has gone first
                self._loop.call_soon_threadsafe(self._exited)

        threading.Thread(target=wait, name=f"command {self._process.pid}", daemon=True).start()

    def _exited(self) -> None:
        self._end_all()
        self._process.wait()
        self._over = True
        for timer in self._timers:
            timer.cancel()
        os.close(self._life)
        if self._dry:
            self._finish()
        else:
            self._later(GRACE_S, self._finish)

    def _end_all(self) -> None:
        if self._launch.ending == "job":
            job, self._job = self._job, 0
            if job:
                jobobject.let_go(job)
            return
        if self._launch.ending == "namespace":
            # Its first process dies with it, but not in the moment before it has asked the kernel for that.
            for pid in (*usage.descendants(self._process.pid), self._process.pid):
                usage.end(pid)
            if self._why:
                usage.end_marked(f"{MARK}={self._mark}".encode())
            return
        if self._launch.ending == "group":
            usage.end_group(self._process.pid)  # first, so that no shell tells of the death of its children
        usage.end_tree(self._process.pid)
        usage.end_group(self._process.pid)
        usage.end_marked(f"{MARK}={self._mark}".encode())

    def _finish(self) -> None:
        if self._done.done():
            return
        for timer in self._timers:
            timer.cancel()
        if self._transport is None:
            self._output.close()
        else:
            self._transport.close()
        self._done.set_result(Finished(self._kept.text(), self._process.returncode, self._why))


def _start(launch: Launch, mark: str) -> "tuple[subprocess.Popen[bytes], IO[bytes], int]":
    """The process, what it prints into, and the pipe that holds it alive."""
    # Pipes of ours: asyncio's own would make waiting last as long as any child that holds one.
    output, theirs = os.pipe()
    watched, life = os.pipe()
    given = None if launch.given is None else _held(launch.given)
    try:
        process = subprocess.Popen(
            launch.words,
            cwd=launch.folder,
            stdin=watched if launch.guarded else subprocess.DEVNULL if given is None else given,
            stdout=theirs,
            stderr=subprocess.STDOUT,
            env={**launch.environment, MARK: mark},
            start_new_session=True,
            pass_fds=launch.descriptors,
        )
    except OSError as error:
        for descriptor in (output, life, *([launch.told] if launch.told >= 0 else [])):
            os.close(descriptor)
        raise Problem("The command cannot be started.", f"{error}.", "Check that the folder is still there.") from error
    finally:
        for descriptor in (theirs, watched, *launch.descriptors):
            os.close(descriptor)
        if given is not None:
            os.close(given)
    return process, os.fdopen(output, "rb"), life


def _held(given: bytes) -> int:
    """In a file, not a pipe: a command that does not read must not hold us up."""
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        return os.dup(file.fileno())


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
