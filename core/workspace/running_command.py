"""A running command: collects its output, enforces its limits, and ends together with all its processes."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from core.workspace.command_process import CommandProcess
from core.workspace.launcher import CommandLimits, ProcessLaunch
from core.workspace.limit_watch import LimitWatch, TickListener
from core.workspace.mount_watch import MountWatch
from core.workspace.output_buffer import OutputBuffer
from core.workspace.scratch_folder import delete_folder

GRACE_S = 0.2  # time for the last output, in case a detached process keeps the pipe open

OutputListener = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    output: str
    exit_code: int
    killed_because: str = ""  # the reason why it was killed; "" if it ended by itself


async def start_command(
    launch: ProcessLaunch,
    limits: CommandLimits,
    on_output: OutputListener | None = None,
    on_tick: TickListener | None = None,
) -> "RunningCommand":
    """Start a command. The caller must await its end or kill it.

    `on_tick` is called several times a second and returns a reason to end the command, or "".
    """
    running = RunningCommand(launch, limits, on_output, on_tick)
    await running.connect_output()
    return running


class RunningCommand(asyncio.Protocol):
    """A command from its start until both its processes and its output have ended.

    When the first process exits, `_exit_code` is set and all its descendants are killed. Independently, the output ends
    (`_output_ended`). After both, or shortly after the exit if a detached process keeps the output open, `_done`
    receives the result.
    """

    def __init__(
        self,
        launch: ProcessLaunch,
        limits: CommandLimits,
        on_output: OutputListener | None = None,
        on_tick: TickListener | None = None,
    ) -> None:
        """Start the process. There is no await before its pid is stored, so a cancellation cannot leave it running."""
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
        self._mount_watch = MountWatch(launch.mounts)
        try:
            self._process = CommandProcess(launch, limits)
        except BaseException:
            self._mount_watch.stop()
            raise
        self._mount_watch.start(self.kill)
        self._limit_watch = LimitWatch(self.pid, limits, launch.home, self.kill, partial(self._tick, on_tick))
        threading.Thread(target=self._wait_for_exit, name=f"command {self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def finished(self) -> FinishedCommand | None:
        """The result of the command; None while it runs."""
        return self._done.result() if self._done.done() and not self._done.cancelled() else None

    def when_finished(self, act: Callable[[], None]) -> None:
        """Call a function in the event loop once the command has finished."""
        self._done.add_done_callback(lambda _: act())

    def output(self) -> str:
        """Return the output so far."""
        return self._buffer.text()

    def kill(self, why: str = "stopped") -> None:
        """Kill all processes of the command; callable from any thread. `wait` then returns a result with the reason."""
        if self._exit_code is None:
            self._kill_reason = self._kill_reason or why
            self._process.kill()

    async def wait(self) -> FinishedCommand:
        """Wait for the result. Canceling this does not affect the command."""
        return await asyncio.shield(self._done)

    async def wait_or_kill(self) -> FinishedCommand:
        """Wait for the result. If canceled, kill the command and return only after all its processes have ended."""
        try:
            return await self.wait()
        except asyncio.CancelledError:
            await self.kill_and_wait()
            raise

    async def kill_and_wait(self) -> None:
        """Kill the command and wait for its end, even if the caller is canceled meanwhile."""
        self.kill()
        while not self._done.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({self._done})

    async def connect_output(self) -> None:
        """Start to read the output; if that fails, kill the command and raise the error."""
        try:
            self._transport, _ = await self._loop.connect_read_pipe(lambda: self, self._process.output)
        except BaseException:
            self._output_ended = True
            await self.kill_and_wait()
            raise
        if self._done.done():
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self._mount_watch.shows_secret():
            return
        self._buffer.add(data)
        if self._on_output:
            self._on_output(data)
        if self._buffer.size > self._output_limit:
            self.kill(f"stopped after {self._output_limit / (1 << 20):g} MB of output")

    def connection_lost(self, exc: Exception | None) -> None:
        self._output_ended = True
        self._finish_if_ended()

    def _tick(self, on_tick: TickListener | None) -> str:
        self._mount_watch.check()
        return on_tick() if on_tick else ""

    def _wait_for_exit(self) -> None:
        """Wait for the exit of the process while watching its mounts, in a thread, and report it to the event loop."""
        self._mount_watch.watch_until_exit(self.pid)
        self._process.wait_for_exit()
        with contextlib.suppress(RuntimeError):  # the event loop has already been closed
            self._loop.call_soon_threadsafe(self._handle_exit)

    def _handle_exit(self) -> None:
        self._limit_watch.stop()
        self._mount_watch.check()
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
        self._mount_watch.stop()
        reason = self._mount_watch.reason or self._kill_reason
        self._done.set_result(FinishedCommand(self._buffer.text(), self._exit_code, reason))
