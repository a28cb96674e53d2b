"""Unhandled errors: the report, crashes of the process, the error dialog, and safe mode."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton

from app.main import main
from app.process.crash import CRASH_LOG, FATAL_LOG, MAX_REPEATS, CrashHandler, CrashReport
from app.process.data_folder_lock import DataFolderLock
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.dialogs.crash_dialog import CrashDialog

ROOT = Path(__file__).parents[2]
KEY = "sk-live-0123456789abcdefghijkl"
FALLS = """
import os, sys
from pathlib import Path
from app.process.crash import CrashHandler

handler = CrashHandler(Path(sys.argv[1]), print)
handler.open()
os.abort()
"""


def fail(words: str) -> None:
    raise ValueError(words)


def dialog_of(person: Person) -> CrashDialog | None:
    return person.window.findChild(CrashDialog)


def test_a_report_names_error_and_location_but_no_key_and_no_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("SOME_API_KEY", "canary-of-the-environment")
    told: list[CrashReport] = []
    door = CrashHandler(home, told.append)
    door.report(ValueError(f"{KEY} canary-of-the-environment /home/ada/letters"))
    (crash,) = told
    for kept in ("ValueError", "~/letters", "Journeyman 0", "Python 3", "Thread: MainThread"):
        assert kept in crash.report
    for secret in (KEY, "canary-of-the-environment", "/home/ada"):
        assert secret not in crash.report + crash.line


def test_a_repeated_error_is_logged_a_limited_number_of_times(home: Path) -> None:
    told: list[CrashReport] = []
    door = CrashHandler(home, told.append)
    door.open()
    for _ in range(MAX_REPEATS * 3):
        door.report(ValueError("painted wrong"))
    door.close()
    assert len(told) == MAX_REPEATS == (home / CRASH_LOG).read_text().count("--- ")


def test_a_fatal_error_is_reported_once_by_the_next_process(home: Path) -> None:
    """Python cannot catch an abort in Qt or a fault in a library."""
    home.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-c", FALLS, home], capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGABRT and (home / FATAL_LOG).stat().st_mode & 0o077 == 0
    door = CrashHandler(home, lambda crash: fail(crash.line))
    door.open()
    door.close()
    assert door.previous_crash is not None
    assert door.previous_crash.line == "Fatal Python error: Aborted"
    assert (
        'File "<string>", line 8' in door.previous_crash.report
        and door.previous_crash.report in (home / CRASH_LOG).read_text()
    )
    later = CrashHandler(home, lambda crash: fail(crash.line))
    later.open()
    assert later.previous_crash is None
    later.close()
    assert not (home / FATAL_LOG).exists()


def test_c20_an_internal_error_in_the_window_is_shown_and_the_program_continues(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        window.show_session(await person.start()())
        await until(person.card, "the card")
        write(find(window.view, QPlainTextEdit, "composer.input"), "half a thought")
        QTimer.singleShot(0, lambda: fail(f"in a slot {KEY}"))
        dialog = await until(lambda: dialog_of(person), "the dialog")
        assert "ValueError: in a slot" in find(dialog, QLabel, "crash.what").text()
        assert "sessions are saved" in find(dialog, QLabel, "crash.saved").text()
        report = find(dialog, QPlainTextEdit, "crash.report")
        assert "fail(" in report.toPlainText() and KEY not in report.toPlainText()
        QTimer.singleShot(0, lambda: fail("and another"))
        await until(lambda: "and another" in report.toPlainText(), "both in one dialog")
        click(find(dialog, QPushButton, "crash.copy"))
        assert QGuiApplication.clipboard().text() == report.toPlainText()
        dialog.save(str(tmp_path / "report.txt"))
        assert (tmp_path / "report.txt").read_text().strip() == report.toPlainText()
        dialog.save(str(tmp_path))
        assert "The error report could not be saved." in person.notice()
        press(dialog, Qt.Key.Key_Escape)
        await until(lambda: dialog_of(person) is None, "it closed")
        QTimer.singleShot(0, lambda: fail("and another"))
        await until(lambda: "same internal error occurred again" in person.notice(), "a line")
        assert dialog_of(person) is None
        assert person.state.draft(window.selection.session) == "half a thought"
        card = person.card()
        assert card is not None
        write(person.words(), "Firm")
        click(card)
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "the answer counts")

    assert live(qapp, home, act, crashes=True).restart_mode is None


def test_a_failed_engine_is_reported_and_a_restart_recovers(qapp: QApplication, home: Path) -> None:
    names: list[str] = []

    async def fall(person: Person) -> None:
        names.append(await person.start()())
        person.window.show_session(names[0])
        await until(person.card, "the card")

        async def leave(_: Any) -> None:
            def go() -> None:
                raise SystemExit("out of the loop")

            asyncio.get_running_loop().call_soon(go)

        await person.program.engine.ask(leave)
        dialog = await until(lambda: dialog_of(person), "the dialog")
        assert "The engine has stopped" in find(dialog, QLabel, "crash.saved").text()
        click(find(dialog, QPushButton, "crash.restart"))

    async def back(person: Person) -> None:
        await until(person.card, "the question, in the session that was shown")
        assert person.window.selection.session == names[0]

    assert live(qapp, home, fall, crashes=True).restart_mode == "usual"
    (home / CRASH_LOG).unlink()
    live(qapp, home, back)


def test_a_crash_of_the_last_start_is_shown_and_safe_mode_is_offered(qapp: QApplication, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / FATAL_LOG).write_text("Fatal Python error: Segmentation fault\n\nThread 1:\n")

    async def act(person: Person) -> None:
        dialog = await until(lambda: dialog_of(person), "the dialog")
        assert "Segmentation fault" in find(dialog, QLabel, "crash.what").text()
        click(find(dialog, QPushButton, "crash.safe"))

    assert live(qapp, home, act, crashes=True).restart_mode == "safe"


def test_safe_mode_is_shown_and_leaves_the_window_state_alone(qapp: QApplication, home: Path) -> None:
    names: list[str] = []

    async def before(person: Person) -> None:
        names.append(await person.start()())
        person.window.show_session(names[0])
        person.state.set_text("theme", "contrast")
        await until(person.card, "the card")
        write(find(person.window.view, QPlainTextEdit, "composer.input"), "words")

    async def safe(person: Person) -> None:
        await until(lambda: "Journeyman runs in safe mode." in person.notice(), "it says so")
        assert person.window.look.theme.name != "contrast"
        person.window.selection.choose_session("")
        person.window.show_session(names[0])
        assert find(person.window.view, QPlainTextEdit, "composer.input").toPlainText() == "words"
        person.state.set_text("theme", "dark")

    async def after(person: Person) -> None:
        assert person.window.look.theme.name == "contrast"

    live(qapp, home, before)
    live(qapp, home, safe, safe=True)
    live(qapp, home, after)


def run(home: Path, *words: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "app", "--data-dir", str(home), *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_safe_mode_runs_no_hooks_and_follows_no_project_instructions(home: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Speak French.")
    (tmp_path / "script.json").write_text(json.dumps({"replies": [{"text": "done"}]}))
    home.mkdir(exist_ok=True)
    (home / "hooks.toml").write_text('[[hook]]\non = "run_start"\ncommand = "true"\n')
    words = ("run", "Go.", "-C", str(tmp_path / "work"), "--script", str(tmp_path / "script.json"))
    usual, safe = run(home, *words), run(home, "--safe", *words)
    assert {"hook_ran"} == {line["kind"] for line in usual} - {line["kind"] for line in safe}
    assert [len(line["instruction_files"]) for line in (*usual, *safe) if line["kind"] == "run_started"] == [1, 0]


def test_safe_mode_needs_exclusive_access_to_the_data(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = DataFolderLock(home / "lock")
    assert lock.acquire()
    assert main(["--data-dir", str(home), "--safe", "sessions"]) == 1
    lock.release()
    assert "Safe mode cannot start." in capsys.readouterr().err
