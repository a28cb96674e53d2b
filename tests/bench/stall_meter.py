"""Measures how long an event loop was blocked, without the time other programs occupied the processor."""

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

TICK_S: Final = 0.01


class CpuTimes(NamedTuple):
    """The seconds that a thread has run on a CPU, and the seconds that it was ready to run but waited for a CPU."""

    running: float = 0.0
    queued: float = 0.0


class SchedulerStats:
    """Linux scheduler statistics of a thread. The file stays open: reopening it would dominate idle CPU time."""

    def __init__(self, thread: int) -> None:
        try:
            self._file = os.open(Path(f"/proc/self/task/{thread}/schedstat"), os.O_RDONLY)
        except OSError:
            self._file = -1

    def read(self) -> CpuTimes:
        """Read the statistics; zeros if the kernel does not provide them."""
        try:
            running_ns, queued_ns, _ = os.pread(self._file, 100, 0).split()
            return CpuTimes(int(running_ns) / 1e9, int(queued_ns) / 1e9)
        except (OSError, ValueError):
            return CpuTimes()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class OtherThreads:
    """The other threads of the process, which can hold the interpreter lock while `mine` waits for it."""

    def __init__(self, mine: int) -> None:
        self._mine = mine
        self._stats: dict[int, SchedulerStats] = {}  # by native thread ID

    def find(self) -> None:
        """Find the threads that exist now, except for `mine` and the calling one."""
        alive = {thread.native_id for thread in threading.enumerate() if thread.native_id}
        alive -= {self._mine, threading.get_native_id()}
        for thread_id in self._stats.keys() - alive:
            self._stats.pop(thread_id).close()
        for thread_id in alive - self._stats.keys():
            self._stats[thread_id] = SchedulerStats(thread_id)

    def queued(self) -> float:
        """Return the total seconds in which these threads were ready to run but waited for a CPU."""
        return sum(stats.read().queued for stats in self._stats.values())

    def close(self) -> None:
        for stats in self._stats.values():
            stats.close()


def time_behind_others(stalled_s: float, before: CpuTimes, after: CpuTimes, others_queued_s: float) -> float:
    """Return how many seconds of a stall other programs caused.

    `before` and `after` are the times of the window's thread at the ends of the stall; `others_queued_s` is how long
    our other threads waited for a CPU in it. Their waiting counts too, since the window also waits for a thread that
    was preempted while it held the interpreter lock. It counts at most for the time in which the window did not run.
    """
    running_s, queued_s = after.running - before.running, after.queued - before.queued
    return max(queued_s, min(stalled_s - running_s, queued_s + others_queued_s))


class StallMeter:
    """The longest delay of the window's event loop, excluding the time other programs occupied the processor."""

    def __init__(self) -> None:
        mine = threading.get_native_id()
        self._schedule, self._others = SchedulerStats(mine), OtherThreads(mine)
        self.ms = 0.0

    async def watch(self) -> None:
        while True:
            self._others.find()
            began, before, held = time.perf_counter(), self._schedule.read(), self._others.queued()
            await asyncio.sleep(TICK_S)
            late = time.perf_counter() - began - TICK_S
            others = time_behind_others(late, before, self._schedule.read(), self._others.queued() - held)
            self.ms = max(self.ms, (late - others) * 1000)
