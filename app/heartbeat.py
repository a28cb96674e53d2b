"""Write down where the window's thread was whenever it did not move for too long."""

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
SOON_S: Final = 0.02
RENEW: Final = 20  # looks, until threads that began since are counted as well


class Ran(NamedTuple):
    """Of a thread: seconds it has worked, and seconds it could have and the system let others go first."""

    worked: float = 0.0
    queued: float = 0.0


class Schedule:
    """What the kernel counts of a thread. Kept open: opening it anew would be most of what an idle window does."""

    def __init__(self, thread: int) -> None:
        try:
            self._file = os.open(Path(f"/proc/self/task/{thread}/schedstat"), os.O_RDONLY)
        except OSError:
            self._file = -1

    def ran(self) -> Ran:
        """Nothing where nobody counts."""
        try:
            worked, queued, _ = os.pread(self._file, 100, 0).split()
            return Ran(int(worked) / 1e9, int(queued) / 1e9)
        except (OSError, ValueError):
            return Ran()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Others:
    """The threads that can keep the one that asks, `mine`, from the interpreter."""

    def __init__(self, mine: int) -> None:
        self._mine = mine
        self._known: dict[int, Schedule] = {}

    def find(self) -> None:
        """Those that there are now, but for the one that looks."""
        alive = {thread.native_id for thread in threading.enumerate() if thread.native_id}
        alive -= {self._mine, threading.get_native_id()}
        for gone in self._known.keys() - alive:
            self._known.pop(gone).close()
        for fresh in alive - self._known.keys():
            self._known[fresh] = Schedule(fresh)

    def held(self) -> float:
        """Seconds in which they could have gone on."""
        return sum(each.ran().queued for each in self._known.values())

    def close(self) -> None:
        for each in self._known.values():
            each.close()


def behind(stalled: float, before: Ran, after: Ran, held: float) -> float:
    """How much of a stall is not our own. Waiting counts as behind other programs as long as one of our threads was
    kept from working meanwhile: the window waits as well for one that was interrupted while it had the interpreter."""
    worked, queued = after.worked - before.worked, after.queued - before.queued
    return max(queued, min(stalled - worked, queued + held))


class Heartbeat(QObject):
    """A tick in the window, and a thread that watches for it. Each stall is one paragraph in `stalls.log`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = folder / "stalls.log"
        self._window, native = threading.get_ident(), threading.get_native_id()
        self._schedule = Schedule(native)
        self._others = Others(native)
        self._beat = (time.monotonic(), Ran())
        self._over = threading.Lock()  # an Event costs many times as much at each look
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
        self._beat = (time.monotonic(), self._schedule.ran())

    def _watch(self) -> None:
        """Awake as seldom as will do: a moment after each tick, when one is late, and while that lasts."""
        seen, held = (0.0, Ran()), 0.0
        stack, looks, wait = "", 0, 0.0
        while not self._over.acquire(timeout=max(0.0, wait)):
            beat, now = self._beat, time.monotonic()
            if beat != seen:
                if stack:
                    stalled = beat[0] - seen[0] - TICK_S
                    self._write(stalled, behind(stalled, seen[1], beat[1], self._others.held() - held), stack)
                    stack = ""
                seen = beat
                if looks % RENEW == 0:
                    self._others.find()
                held, looks = self._others.held(), looks + 1
                wait = seen[0] + TICK_S + SOON_S - now
            elif not stack:
                wait = seen[0] + TICK_S + STALL_S - now
                if wait <= 0:
                    stack = "".join(traceback.format_stack(sys._current_frames().get(self._window)))
                    wait = SOON_S
            else:
                wait = SOON_S

    def _write(self, stalled: float, kept: float, stack: str) -> None:
        moment = datetime.now().astimezone().isoformat(timespec="seconds")
        others = f", for {kept * 1000:.0f} of them behind other programs" if kept > 0.001 else ""
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"--- {moment} the window stood still for {stalled * 1000:.0f} ms{others}\n{stack}")
