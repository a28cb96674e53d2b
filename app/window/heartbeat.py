"""Logs the stack of the window's thread whenever it blocks for too long."""

import contextlib
import os
import sys
import threading
import time
import traceback
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, Qt, QTimer

TICK_S: Final = 0.1  # interval of the timer in the window's thread
STALL_S: Final = 0.1  # a tick that is late by this much is a stall
MARGIN_S: Final = 0.02  # how long after a tick is due the watcher looks, and its interval while a tick is late
TICKS_PER_SEARCH: Final = 20  # timer ticks between two searches for new threads


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


class Tick(NamedTuple):
    """When the window's timer ticked, on the monotonic clock, and the CPU times of the window's thread then."""

    at: float
    times: CpuTimes


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


class Heartbeat(QObject):
    """A timer in the window's thread, and a thread that watches it and writes each stall to `stalls.log`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = folder / "stalls.log"
        self._window_thread, native_id = threading.get_ident(), threading.get_native_id()
        self._stats = SchedulerStats(native_id)
        self._others = OtherThreads(native_id)
        self._last_tick = Tick(time.monotonic(), CpuTimes())
        self._closed = threading.Lock()  # held until `close`; cheaper to wait for than a threading.Event
        self._closed.acquire()
        self._timer = QTimer(self, interval=int(TICK_S * 1000))
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._watcher = threading.Thread(target=self._watch, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._tick()
        self._timer.start()
        self._watcher.start()

    def close(self) -> None:
        self._timer.stop()
        if self._watcher.is_alive():
            self._closed.release()
            self._watcher.join()
        self._stats.close()
        self._others.close()

    def _tick(self) -> None:
        self._last_tick = Tick(time.monotonic(), self._stats.read())

    def _watch(self) -> None:
        """Watch the timer. Wake only shortly after each tick is due, and repeatedly while a tick is late."""
        previous = Tick(0.0, CpuTimes())
        others_queued_s = 0.0  # of the other threads, at `previous`
        stack = ""  # of the window's thread, while it stalls
        tick_count, wait_s = 0, 0.0
        while not self._closed.acquire(timeout=max(0.0, wait_s)):
            tick, now = self._last_tick, time.monotonic()
            if tick != previous:
                if stack:
                    self._write(previous, tick, self._others.queued() - others_queued_s, stack)
                    stack = ""
                previous = tick
                if tick_count % TICKS_PER_SEARCH == 0:
                    self._others.find()
                others_queued_s, tick_count = self._others.queued(), tick_count + 1
                wait_s = tick.at + TICK_S + MARGIN_S - now
            elif not stack:
                wait_s = previous.at + TICK_S + STALL_S - now
                if wait_s <= 0:
                    stack = "".join(traceback.format_stack(sys._current_frames().get(self._window_thread)))
                    wait_s = MARGIN_S
            else:
                wait_s = MARGIN_S

    def _write(self, before: Tick, after: Tick, others_queued_s: float, stack: str) -> None:
        """Log the stall between two ticks."""
        stalled_s = after.at - before.at - TICK_S
        behind_s = time_behind_others(stalled_s, before.times, after.times, others_queued_s)
        moment = datetime.now().astimezone().isoformat(timespec="seconds")
        # A share of less than a millisecond is measurement noise.
        behind = f", for {behind_s * 1000:.0f} of them behind other programs" if behind_s > 0.001 else ""
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"--- {moment} the window was blocked for {stalled_s * 1000:.0f} ms{behind}\n{stack}")
