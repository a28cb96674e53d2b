"""A running command: keeps the start and end of its output, enforces its limits, and ends all its processes."""

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
from core.workspace import job_object, process_tree
from core.workspace.launcher import CommandLimits, ProcessLaunch, StartedProcess
from core.workspace.scratch_folder import delete_folder, occupied_space

KEPT_BYTES = 262_144  # bytes of output kept from the start, and as many from the end
GRACE_S = 0.2  # for the last output, if a detached process still holds the pipe
CHECK_INTERVAL_S = 0.2  # between two checks of the processes and memory of a command
HOME_INTERVAL_S = 0.5  # between two measurements of its home folder
MARKER_VARIABLE = "JOURNEYMAN_CALL"

OutputListener = Callable[[bytes], None]
TickListener = Callable[[], str]


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    output: str
    exit_code: int
    killed_because: str = ""  # why it was killed; empty if it ended by itself


async def start_command(
    launch: ProcessLaunch,
    limits: CommandLimits,
    on_output: OutputListener | None = None,
    on_tick: TickListener | None = None,
) -> "RunningCommand":
    """Start a command. `on_tick` is called several times a second, and returns why to end the command, or "".

    The caller must wait for its end or end it.
    """
    running = RunningCommand(launch, limits, on_output, on_tick)
    await running.connect_output()
    return running


class RunningCommand(asyncio.Protocol):
    """A command that was started, until its last process and its output have ended.

    Its process ends (`_has_exited`), which ends all processes that it has started, and its output ends
    (`_output_ended`), in any order. After both, or a moment after the process if a detached one keeps the output open,
    `_done` receives the result.
    """

    def __init__(
        self,
        launch: ProcessLaunch,
        limits: CommandLimits,
        on_output: OutputListener | None = None,
        on_tick: TickListener | None = None,
    ) -> None:
        """Start the process. There is no await, so no cancellation can come before its pid is known."""
        self._loop = asyncio.get_running_loop()
        self._launch, self._limits, self._on_output, self._on_tick = launch, limits, on_output, on_tick
        self._buffer = OutputBuffer()
        self._kill_reason = ""
        self._has_exited = False
        self._ended_itself = False  # it exited and was not killed by a signal
        self._output_ended = False
        self._done: asyncio.Future[FinishedCommand] = self._loop.create_future()
        self._timers: set[asyncio.TimerHandle] = set()
        self._transport: asyncio.BaseTransport | None = None
        self._mark = token_hex(8)
        self._process, self._output, self._life = _start(launch, self._mark)
        self._job = 0
        if launch.scope == "job" and isinstance(self._process, subprocess.Popen):
            try:
                self._job = job_object.assign_to_job(self._process, limits)
            except BaseException:
                self._process.kill()
                self._process.wait()
                self._output.close()
                os.close(self._life)
                raise
        self._watch_exit()
        self._schedule(limits.time_s, self.kill, f"stopped after {limits.time_s:g} s")
        self._schedule(CHECK_INTERVAL_S / 4, self._check_limits)
        if launch.home:
            self._schedule(HOME_INTERVAL_S, self._measure_home)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def finished(self) -> FinishedCommand | None:
        """The result; None while the command runs."""
        return self._done.result() if self._done.done() and not self._done.cancelled() else None

    def when_finished(self, act: Callable[[], None]) -> None:
        """Call a function once the command has finished."""
        self._done.add_done_callback(lambda _: act())

    def output(self) -> str:
        """Return the output so far."""
        return self._buffer.text()

    def kill(self, why: str = "stopped") -> None:
        """Kill the command and all processes it started. `wait` then returns the result."""
        if not self._has_exited:
            self._kill_reason = self._kill_reason or why
            self._end_all()

    async def wait(self) -> FinishedCommand:
        """Wait until the command and its output have ended. Canceling the wait does not affect the command."""
        return await asyncio.shield(self._done)

    async def wait_or_kill(self) -> FinishedCommand:
        """Wait like `wait`. If the wait is canceled, kill the command and return once no process is left."""
        try:
            return await self.wait()
        except asyncio.CancelledError:
            await self.kill_and_wait()
            raise

    async def kill_and_wait(self) -> None:
        """Kill the command and wait until no process is left, even if the caller is canceled."""
        self.kill()
        while not self._done.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({self._done})

    async def connect_output(self) -> None:
        """Start reading the output of the process."""
        try:
            self._transport, _ = await self._loop.connect_read_pipe(lambda: self, self._output)
        except BaseException:
            self._output_ended = True
            await self.kill_and_wait()
            raise
        if self._done.done():
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer.add(data)
        if self._on_output:
            self._on_output(data)
        if self._buffer.size > self._limits.output:
            self.kill(f"stopped after {self._limits.output / (1 << 20):g} MB of output")

    def connection_lost(self, exc: Exception | None) -> None:
        self._output_ended = True
        if self._has_exited:
            self._finish()

    def _schedule(self, delay: float, act: Callable[..., None], *arguments: object) -> None:
        def run() -> None:
            self._timers.discard(timer)
            act(*arguments)

        timer = self._loop.call_later(delay, run)
        self._timers.add(timer)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _check_limits(self) -> None:
        """Call `on_tick`, and check the limits even if it raises an exception."""
        if self._has_exited:
            return
        try:
            if self._on_tick and (reason := self._on_tick()):
                self.kill(reason)
        finally:
            self._check_usage()

    def _check_usage(self) -> None:
        """Kill the command if it exceeds its limits. Processes are counted, because `ulimit` does not limit root."""
        processes, memory = process_tree.measure_usage(self.pid)
        if memory > self._limits.memory:
            self.kill(f"stopped at {memory >> 20:,} MB of memory; the limit is {self._limits.memory >> 20:,} MB")
        elif processes > self._limits.processes + 2:
            self.kill(f"stopped at {processes:,} processes; the limit is {self._limits.processes:,}")
        else:
            self._schedule(CHECK_INTERVAL_S, self._check_limits)

    def _measure_home(self) -> None:
        """Kill the command if its home folder exceeds its limit. It is measured in a thread: it may have many files."""
        if self._has_exited or self._launch.home is None:
            return
        limit = self._limits.scratch
        measured = self._loop.run_in_executor(None, occupied_space, self._launch.home, limit)
        measured.add_done_callback(lambda future: self._check_home(future.result(), limit))

    def _check_home(self, size: int, limit: int) -> None:
        if size > limit:
            self.kill(f"stopped at {size >> 20:,} MB of temporary files; the limit is {limit >> 20:,} MB")
        elif not self._has_exited:
            self._schedule(HOME_INTERVAL_S, self._measure_home)

    def _watch_exit(self) -> None:
        def wait() -> None:
            # The process is not reaped yet: until the rest is killed, its pid must not be reused.
            if hasattr(os, "waitid"):
                ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
                self._ended_itself = ended is not None and ended.si_code == os.CLD_EXITED
            else:
                self._process.wait()
            if self._launch.info_fd >= 0:
                process_tree.await_namespace(self._launch.info_fd)
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._exited)

        threading.Thread(target=wait, name=f"command {self._process.pid}", daemon=True).start()

    def _exited(self) -> None:
        self._end_all()
        self._process.wait()
        self._has_exited = True
        self._cancel_timers()
        os.close(self._life)
        if self._launch.home:
            self._loop.run_in_executor(None, delete_folder, self._launch.home)
        if self._output_ended:
            self._finish()
        else:
            self._schedule(GRACE_S, self._finish)

    def _end_all(self) -> None:
        """Kill the processes of the command, as far as the scope of the launch (see ProcessLaunch) requires."""
        if self._launch.scope == "job":
            job, self._job = self._job, 0
            if job:
                job_object.close_job(job)
            return
        if self._launch.scope == "namespace":
            # The first process in the namespace dies with bubblewrap, but not before it has requested that from the
            # kernel, so every descendant is killed.
            for pid in (*process_tree.descendants(self._process.pid), self._process.pid):
                process_tree.kill_process(pid)
            if self._kill_reason:
                process_tree.kill_marked(f"{MARKER_VARIABLE}={self._mark}".encode())
            return
        if self._launch.scope == "group":
            process_tree.kill_group(self._process.pid)  # first, so that no shell reports that its children were killed
        process_tree.kill_tree(self._process.pid)
        if self._launch.scope == "tree" and self._ended_itself:
            return  # it ends after all its descendants, because it adopts them
        process_tree.kill_group(self._process.pid)
        process_tree.kill_marked(f"{MARKER_VARIABLE}={self._mark}".encode())

    def _finish(self) -> None:
        if self._done.done():
            return
        self._cancel_timers()
        if self._transport is None:
            self._output.close()
        else:
            self._transport.close()
        self._done.set_result(FinishedCommand(self._buffer.text(), self._process.wait(), self._kill_reason))


def _start(launch: ProcessLaunch, mark: str) -> tuple[StartedProcess, IO[bytes], int]:
    """Start the process, or raise Problem. Return it with its output pipe and the pipe whose closing ends it."""
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as own_ends:
        for descriptor in launch.descriptors:
            child_ends.callback(os.close, descriptor)
        if launch.info_fd >= 0:
            own_ends.callback(os.close, launch.info_fd)
        try:
            # Pipes of our own: with asyncio's pipes, waiting would last until every child process has closed them.
            output_read, output_write = _pipe(own_ends, child_ends)
            life_read, life_write = _pipe(child_ends, own_ends)
            data = launch.stdin_data
            stdin = os.open(os.devnull, os.O_RDONLY) if data is None else _stdin_file(data)
            child_ends.callback(os.close, stdin)
            environment = {**launch.environment, MARKER_VARIABLE: mark}
            process: StartedProcess
            if launch.fork:
                process = launch.fork(environment, stdin, output_write)
            else:
                process = subprocess.Popen(
                    launch.argv,
                    cwd=launch.folder,
                    stdin=life_read if launch.stdin_is_watchdog else stdin,
                    stdout=output_write,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                    pass_fds=launch.descriptors,
                )
        except OSError as error:
            fix = "Check that the folder still exists."
            raise Problem("The command cannot be started.", f"{error}.", fix) from error
        own_ends.pop_all()  # From now on they belong to the caller.
    return process, os.fdopen(output_read, "rb"), life_write


def _pipe(read_end: contextlib.ExitStack, write_end: contextlib.ExitStack) -> tuple[int, int]:
    """Return the read end and the write end of a new pipe, which these stacks close."""
    read, write = os.pipe()
    read_end.callback(os.close, read)
    write_end.callback(os.close, write)
    return read, write


def _stdin_file(data: bytes) -> int:
    """Return a descriptor of a temporary file: a command that does not read would block a pipe."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())


class OutputBuffer:
    """A buffer that keeps the start and the end of an output of any length."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        free = KEPT_BYTES - len(self._head)
        self._head += chunk[:free]
        self._tail += chunk[free:] if free < len(chunk) else b""
        if len(self._tail) > 2 * KEPT_BYTES:
            del self._tail[:-KEPT_BYTES]

    def text(self) -> str:
        tail = bytes(self._tail[-KEPT_BYTES:])
        dropped = self.size - len(self._head) - len(tail)
        if dropped <= 0:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = self._head.decode("utf-8", "replace")
        return f"{head}\n… {dropped:,} bytes omitted …\n{tail.decode('utf-8', 'replace')}"
