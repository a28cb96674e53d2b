"""A stall that is really made is written down with its place; an exception nobody caught, too."""

import sys
import threading
import time
from pathlib import Path

from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.crash import Crash, CrashDoor
from app.heartbeat import Heartbeat, Ran, Schedule


def stand_still(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1_000))


def test_a_stall_is_written_down_with_its_place(qtbot: QtBot, home: Path) -> None:
    heartbeat = Heartbeat(home)
    log = home / "stalls.log"
    heartbeat.start()
    try:
        QTimer.singleShot(0, lambda: stand_still(0.5))
        qtbot.waitUntil(lambda: log.exists() and "stand_still" in log.read_text(), timeout=10_000)
    finally:
        heartbeat.close()
    assert "the window stood still for" in log.read_text().splitlines()[0]


def test_work_and_waiting_of_a_thread_are_told_apart() -> None:
    schedule = Schedule(threading.get_native_id())
    before = schedule.ran()
    stand_still(0.05)
    after = schedule.ran()
    schedule.close()
    assert schedule.ran() == Ran(), "nobody counts any more"
    if sys.platform == "linux":
        assert after.worked > before.worked and after.queued >= before.queued


def test_where_nothing_can_be_written_nothing_breaks(qtbot: QtBot, tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path / "missing")
    heartbeat.start()
    over = list[bool]()
    QTimer.singleShot(0, lambda: stand_still(0.35))
    QTimer.singleShot(600, lambda: over.append(True))
    qtbot.waitUntil(lambda: bool(over), timeout=10_000)
    heartbeat.close()


def test_the_door_writes_and_tells_and_gives_back_what_was_there(home: Path) -> None:
    before = sys.excepthook, threading.excepthook
    told: list[Crash] = []
    door = CrashDoor(home, told.append)
    door.open()
    try:
        thread = threading.Thread(target=lambda: [].pop(), name="faulty")
        thread.start()
        thread.join()
        error = ValueError("wrong")
        sys.excepthook(ValueError, error, None)
        door.of_loop(None, {"message": "a task failed"})
    finally:
        door.close()
    assert [crash.line for crash in told] == [
        "IndexError: pop from empty list",
        "ValueError: wrong",
        "RuntimeError: a task failed",
    ]
    log = (home / "crash.log").read_text()
    assert log.count("--- ") == 3 and "pop from empty list" in log
    assert (home / "crash.log").stat().st_mode & 0o077 == 0
    assert (sys.excepthook, threading.excepthook) == before
