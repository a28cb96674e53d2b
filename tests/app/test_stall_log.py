"""A real stall is logged with its stack, and so is an uncaught exception."""

import sys
import threading
import time
from pathlib import Path

from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.process.crash import CrashHandler, CrashReport
from app.window.stall_log import StallLog


def stand_still(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1_000))


def test_a_stall_is_logged_with_its_location(qtbot: QtBot, home: Path) -> None:
    stall_log = StallLog(home)
    log = home / "stalls.log"
    stall_log.start()
    try:
        QTimer.singleShot(0, lambda: stand_still(0.5))
        qtbot.waitUntil(lambda: log.exists() and "the window was blocked for" in log.read_text(), timeout=10_000)
    finally:
        stall_log.close()
    assert "stand_still" in log.read_text() and log.read_text().startswith("--- ")


def test_an_unwritable_log_breaks_nothing(qtbot: QtBot, tmp_path: Path) -> None:
    stall_log = StallLog(tmp_path / "missing")
    stall_log.start()
    over = list[bool]()
    QTimer.singleShot(0, lambda: stand_still(0.35))
    QTimer.singleShot(600, lambda: over.append(True))
    qtbot.waitUntil(lambda: bool(over), timeout=10_000)
    stall_log.close()


def test_crash_handler_writes_reports_and_restores_the_previous_hooks(home: Path) -> None:
    before = sys.excepthook, threading.excepthook
    told: list[CrashReport] = []
    door = CrashHandler(home, told.append)
    door.open()
    try:
        thread = threading.Thread(target=lambda: [].pop(), name="faulty")
        thread.start()
        thread.join()
        error = ValueError("wrong")
        sys.excepthook(ValueError, error, None)
        door.handle_loop_exception(None, {"message": "a task failed"})
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
