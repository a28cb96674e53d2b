"""Logs what the process was doing whenever the window's thread blocks for too long."""

import faulthandler
import time
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO

from PySide6.QtCore import QObject, Qt, QTimer

TICK_S: Final = 0.1  # interval of the timer in the window's thread
STALL_S: Final = 0.1  # a tick that is late by this much is a stall
SCHEDULER_STATS: Final = Path("/proc/thread-self/schedstat")  # nanoseconds running and waiting for a CPU; Linux only


class StallLog(QObject):
    """A timer in the window's thread. While a tick is late, `faulthandler` writes all stacks to `stalls.log`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file: TextIO | None
        try:
            self._file = (folder / "stalls.log").open("a", encoding="utf-8")
        except OSError:  # the folder is not writable
            self._file = None
        self._ticked_at = time.monotonic()
        self._queued_s = 0.0
        self._timer = QTimer(self, interval=int(TICK_S * 1000))
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        if self._file is not None:
            self._begin_tick(self._file)
            self._timer.start()

    def close(self) -> None:
        self._timer.stop()
        if self._file is not None:
            faulthandler.cancel_dump_traceback_later()
            self._file.close()
            self._file = None

    def _tick(self) -> None:
        if self._file is None:
            return
        stalled_s, queued_before_s = time.monotonic() - self._ticked_at - TICK_S, self._queued_s
        self._begin_tick(self._file)
        if stalled_s >= STALL_S:
            moment = datetime.now().astimezone().isoformat(timespec="seconds")
            queued_ms = (self._queued_s - queued_before_s) * 1000
            behind = f", for {queued_ms:.0f} of them behind other programs" if queued_ms >= 1 else ""
            self._file.write(f"--- {moment} the window was blocked for {stalled_s * 1000:.0f} ms{behind}\n")
            self._file.flush()

    def _begin_tick(self, file: TextIO) -> None:
        self._ticked_at, self._queued_s = time.monotonic(), _queued_seconds()
        faulthandler.dump_traceback_later(TICK_S + STALL_S, file=file)


def _queued_seconds() -> float:
    """Return how long this thread has been ready to run but waited for a processor."""
    try:
        return int(SCHEDULER_STATS.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
