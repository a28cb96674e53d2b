"""Logs what the window's thread was doing whenever it blocks for too long."""

import contextlib
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
RECHECK_S: Final = 0.02  # how often a blocked thread is checked for being unblocked
# The kernel's statistics of this thread: nanoseconds on a CPU, then nanoseconds waiting for one. Linux only.
SCHEDULER_STATS: Final = Path("/proc/thread-self/schedstat")


class Tick(NamedTuple):
    """A tick of the window's timer: its time, and for how long the window's thread had waited for a CPU until then."""

    at: float
    queued_s: float


class StallLog(QObject):
    """Logs where the window's thread is blocked, which another thread notices when the ticks of a timer stay away.

    `faulthandler.dump_traceback_later` needs no other thread, but it reads the frames of a running thread without the
    interpreter lock, and crashes.
    """

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = folder / "stalls.log"
        self._window_thread = threading.get_ident()
        self._tick = Tick(time.monotonic(), 0.0)
        self._closed = threading.Lock()  # held until `close`; waiting for a lock is cheaper than for a threading.Event
        self._closed.acquire()
        self._timer = QTimer(self, interval=int(TICK_S * 1000))
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_tick)
        self._watcher = threading.Thread(target=self._watch, name="stall log", daemon=True)

    def start(self) -> None:
        self._on_tick()
        self._timer.start()
        self._watcher.start()

    def close(self) -> None:
        self._timer.stop()
        if self._watcher.is_alive():
            self._closed.release()
            self._watcher.join()

    def _on_tick(self) -> None:
        self._tick = Tick(time.monotonic(), _queued_seconds())

    def _watch(self) -> None:
        wait_s = TICK_S
        while not self._closed.acquire(timeout=max(0.0, wait_s)):
            tick = self._tick
            wait_s = tick.at + TICK_S + STALL_S - time.monotonic()
            if wait_s > 0:
                continue
            stack = "".join(traceback.format_stack(sys._current_frames().get(self._window_thread)))
            while self._tick is tick:
                if self._closed.acquire(timeout=RECHECK_S):
                    return
            self._write(tick, self._tick, stack)

    def _write(self, before: Tick, after: Tick, stack: str) -> None:
        stalled_ms = (after.at - before.at - TICK_S) * 1000
        queued_ms = (after.queued_s - before.queued_s) * 1000
        behind = f", for {queued_ms:.0f} of them behind other programs" if queued_ms >= 1 else ""
        moment = datetime.now().astimezone().isoformat(timespec="seconds")
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"--- {moment} the window was blocked for {stalled_ms:.0f} ms{behind}\n{stack}")


def _queued_seconds() -> float:
    """Return the seconds for which this thread was ready to run but waited for a CPU; 0 where that is unknown."""
    try:
        return int(SCHEDULER_STATS.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
