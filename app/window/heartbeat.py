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

TICK_S: Final = 0.1
STALL_S: Final = 0.1
MARGIN_S: Final = 0.02
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
            worked, queued, _ = os.pread(self._file, 100, 0).split()
            return CpuTimes(int(worked) / 1e9, int(queued) / 1e9)
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
        self._known: dict[int, SchedulerStats] = {}

    def find(self) -> None:
        """Find the threads that exist now, except for `mine` and the calling one."""
        alive = {thread.native_id for thread in threading.enumerate() if thread.native_id}
        alive -= {self._mine, threading.get_native_id()}
        for gone in self._known.keys() - alive:
            self._known.pop(gone).close()
        for fresh in alive - self._known.keys():
            self._known[fresh] = SchedulerStats(fresh)

    def queued(self) -> float:
        """Return the total seconds in which these threads were ready to run but waited for a CPU."""
        return sum(each.read().queued for each in self._known.values())

    def close(self) -> None:
        for each in self._known.values():
            each.close()


def time_behind_others(stalled: float, before: CpuTimes, after: CpuTimes, held: float) -> float:
    """Return how many seconds of a stall other programs caused.

    Time in which one of our threads waited for a CPU counts too, since the window also waits for a thread that was
    preempted while it held the interpreter lock.
    """
    worked, queued = after.running - before.running, after.queued - before.queued
    return max(queued, min(stalled - worked, queued + held))


class Heartbeat(QObject):
    """A timer in the window's thread, and a thread that watches it and writes each stall to `stalls.log`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = folder / "stalls.log"
        self._window, native = threading.get_ident(), threading.get_native_id()
        self._schedule = SchedulerStats(native)
        self._others = OtherThreads(native)
        self._beat = (time.monotonic(), CpuTimes())
        self._over = threading.Lock()  # cheaper to wait for than a threading.Event
        self._over.acquire()
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
            self._over.release()
            self._watcher.join()
        self._schedule.close()
        self._others.close()

    def _tick(self) -> None:
        self._beat = (time.monotonic(), self._schedule.read())

    def _watch(self) -> None:
        """Watch the timer. Wake only shortly after each tick is due, and repeatedly while a tick is late."""
        seen, held = (0.0, CpuTimes()), 0.0
        stack, looks, wait = "", 0, 0.0
        while not self._over.acquire(timeout=max(0.0, wait)):
            beat, now = self._beat, time.monotonic()
            if beat != seen:
                if stack:
                    stalled = beat[0] - seen[0] - TICK_S
                    self._write(
                        stalled, time_behind_others(stalled, seen[1], beat[1], self._others.queued() - held), stack
                    )
                    stack = ""
                seen = beat
                if looks % TICKS_PER_SEARCH == 0:
                    self._others.find()
                held, looks = self._others.queued(), looks + 1
                wait = seen[0] + TICK_S + MARGIN_S - now
            elif not stack:
                wait = seen[0] + TICK_S + STALL_S - now
                if wait <= 0:
                    stack = "".join(traceback.format_stack(sys._current_frames().get(self._window)))
                    wait = MARGIN_S
            else:
                wait = MARGIN_S

    def _write(self, stalled: float, kept: float, stack: str) -> None:
        moment = datetime.now().astimezone().isoformat(timespec="seconds")
        others = f", for {kept * 1000:.0f} of them behind other programs" if kept > 0.001 else ""
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"--- {moment} the window was blocked for {stalled * 1000:.0f} ms{others}\n{stack}")
