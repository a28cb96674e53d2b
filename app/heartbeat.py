"""Write down where the window's thread was whenever it did not move for too long."""

import contextlib
import os
import sys
import threading
import time
import traceback
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer

TICK_S = 0.1
STALL_S = 0.1


class Heartbeat(QObject):
    """A tick in the window, and a thread that watches for it. Each stall is one paragraph in `stalls.log`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = folder / "stalls.log"
        self._window = threading.get_ident()
        self._schedule = _opened(Path(f"/proc/self/task/{threading.get_native_id()}/schedstat"))
        self._beat = (time.monotonic(), 0.0)
        self._over = threading.Event()
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
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join()
        if self._schedule >= 0:
            os.close(self._schedule)
            self._schedule = -1

    def _tick(self) -> None:
        self._beat = (time.monotonic(), self._queued())

    def _queued(self) -> float:
        """Seconds in which the thread could have gone on and the system let others go first; 0 where nobody counts."""
        if self._schedule < 0:
            return 0.0
        try:
            return int(os.pread(self._schedule, 100, 0).split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def _watch(self) -> None:
        seen = (0.0, 0.0)
        stack = ""
        while not self._over.wait(TICK_S / 2):
            beat = self._beat
            if beat == seen:
                continue
            if stack:
                self._write(beat[0] - seen[0] - TICK_S, beat[1] - seen[1], stack)
                stack = ""
            if time.monotonic() - beat[0] - TICK_S > STALL_S:
                seen = beat
                stack = "".join(traceback.format_stack(sys._current_frames().get(self._window)))

    def _write(self, stalled: float, queued: float, stack: str) -> None:
        moment = datetime.now().astimezone().isoformat(timespec="seconds")
        others = f", for {queued * 1000:.0f} of them behind other programs" if queued > 0.001 else ""
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"--- {moment} the window stood still for {stalled * 1000:.0f} ms{others}\n{stack}")


def _opened(path: Path) -> int:
    """Kept open: ten times a second it would be most of what an idle window does. Below 0 where there is none."""
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return -1
