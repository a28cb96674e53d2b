"""Checks the limits of a running command that the kernel does not enforce: time, memory, processes and home folder."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from core.workspace import process_tree
from core.workspace.launcher import CommandLimits
from core.workspace.scratch_folder import occupied_space

FIRST_CHECK_S = 0.05
CHECK_INTERVAL_S = 0.2  # between two checks of memory and number of processes
HOME_INTERVAL_S = 0.5  # between two measurements of the home folder
SANDBOX_PROCESSES = 2  # the most processes of the sandbox itself, which are counted with those of the command

TickListener = Callable[[], str]


class LimitWatch:
    """A watch over one command, from creation until `stop`, in the event loop.

    It calls `on_exceeded` with a description of an exceeded limit. At each check it calls `on_tick`, which may return a
    reason to end the command, to be passed to `on_exceeded` as well, or "".
    """

    def __init__(
        self,
        pid: int,
        limits: CommandLimits,
        home: Path | None,
        on_exceeded: Callable[[str], None],
        on_tick: TickListener | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._pid = pid
        self._limits = limits
        self._home = home
        self._on_exceeded = on_exceeded
        self._on_tick = on_tick
        self._time_timer = self._loop.call_later(limits.time_s, on_exceeded, f"stopped after {limits.time_s:g} s")
        self._check_timer = self._loop.call_later(FIRST_CHECK_S, self._check)
        self._home_timer = self._loop.call_later(HOME_INTERVAL_S, self._measure_home)
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True
        for timer in (self._time_timer, self._check_timer, self._home_timer):
            timer.cancel()

    def _check(self) -> None:
        """Call `on_tick` and then check memory and processes, even if `on_tick` raises an exception."""
        try:
            if self._on_tick and (reason := self._on_tick()):
                self._on_exceeded(reason)
        finally:
            self._check_usage()

    def _check_usage(self) -> None:
        """Check the memory, and the number of processes, which `ulimit` does not limit for root."""
        usage, limits = process_tree.measure_usage(self._pid), self._limits
        if usage.memory > limits.memory:
            self._on_exceeded(
                f"stopped at {usage.memory >> 20:,} MB of memory; the limit is {limits.memory >> 20:,} MB"
            )
        elif usage.processes > limits.processes + SANDBOX_PROCESSES:
            self._on_exceeded(f"stopped at {usage.processes:,} processes; the limit is {limits.processes:,}")
        else:
            self._check_timer = self._loop.call_later(CHECK_INTERVAL_S, self._check)

    def _measure_home(self) -> None:
        """Measure the size of the home folder in a thread, because it may contain many files."""
        if self._home is None:
            return
        measured = self._loop.run_in_executor(None, occupied_space, self._home, self._limits.scratch)
        measured.add_done_callback(lambda future: self._check_home(future.result()))

    def _check_home(self, size: int) -> None:
        limit = self._limits.scratch
        if self.is_stopped:
            return
        if size > limit:
            self._on_exceeded(f"stopped at {size >> 20:,} MB of temporary files; the limit is {limit >> 20:,} MB")
        else:
            self._home_timer = self._loop.call_later(HOME_INTERVAL_S, self._measure_home)
