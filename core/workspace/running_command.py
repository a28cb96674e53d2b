"""A running command: collects its output, enforces its limits, and ends together with all its processes."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from core.workspace.command_process import CommandProcess
from core.workspace.launcher import CommandLimits, ProcessLaunch
from core.workspace.limit_watch import LimitWatch, TickListener
from core.workspace.output_buffer import OutputBuffer
from core.workspace.scratch_folder import delete_folder

GRACE_S = 0.2  # for the last output, if a detached process still holds the pipe

OutputListener = Callable[[bytes], None]


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

    Its process exits (`_exit_code` is set), which ends all processes that it has started, and its output ends
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
        self._home = launch.home
        self._output_limit = limits.output
        self._on_output = on_output
        self._buffer = OutputBuffer()
        self._kill_reason = ""
        self._exit_code: int | None = None
        self._output_ended = False
        self._done: asyncio.Future[FinishedCommand] = self._loop.create_future()
        self._transport: asyncio.BaseTransport | None = None
        self._process = CommandProcess(launch, limits)
        self._limit_watch = LimitWatch(self.pid, limits, launch.home, self.kill, on_tick)
        threading.Thread(target=self._wait_for_exit, name=f"command {self.pid}", daemon=True).start()

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
        if self._exit_code is None:
            self._kill_reason = self._kill_reason or why
            self._process.kill()

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
            self._transport, _ = await self._loop.connect_read_pipe(lambda: self, self._process.output)
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
        if self._buffer.size > self._output_limit:
            self.kill(f"stopped after {self._output_limit / (1 << 20):g} MB of output")

    def connection_lost(self, exc: Exception | None) -> None:
        self._output_ended = True
        self._finish_if_ended()

    def _wait_for_exit(self) -> None:
        """Wait in a thread, and report the exit to the event loop."""
        self._process.wait_for_exit()
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._handle_exit)

    def _handle_exit(self) -> None:
        self._limit_watch.stop()
        self._exit_code = self._process.reap()
        if self._home:
            self._loop.run_in_executor(None, delete_folder, self._home)
        if self._output_ended:
            self._finish_if_ended()
        else:
            self._loop.call_later(GRACE_S, self._end_output)

    def _end_output(self) -> None:
        self._output_ended = True
        self._finish_if_ended()

    def _finish_if_ended(self) -> None:
        if self._exit_code is None or not self._output_ended or self._done.done():
            return
        if self._transport is None:
            self._process.output.close()
        else:
            self._transport.close()
        self._done.set_result(FinishedCommand(self._buffer.text(), self._exit_code, self._kill_reason))
