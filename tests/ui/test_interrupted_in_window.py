"""After a crash, the window begins where the user has to decide: at the bar of the interrupted step."""

import json
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from core.domain.steps import Step
from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.screen import wait_until
from tests.ui.hands import press
from tests.ui.test_desktop_app import Person, live, until
from ui.style.theme import Look
from ui.timeline import interruption_bar
from ui.timeline.interruption_bar import InterruptionBar


def kill_during_a_command(home: Path) -> None:
    """Run the program until its agent executes a command, then kill it."""
    (home / "work").mkdir(parents=True)
    call = {"name": "run", "arguments": {"command": "touch began; sleep 60"}}
    (home / "script.json").write_text(json.dumps({"replies": [{"calls": [call]}]}))
    words = ("run", "Wait.", "-C", str(home / "work"), "--script", str(home / "script.json"), "--mode", "auto")
    with subprocess.Popen(program_command(*words), env=program_environment(home), stdout=subprocess.DEVNULL) as running:
        try:
            wait_until(lambda: (home / "work" / "began").exists(), "the command", 60)
        finally:
            running.kill()


def test_the_bar_of_an_interrupted_step_has_the_focus_after_a_crash(qapp: QApplication, home: Path) -> None:
    kill_during_a_command(home)

    async def act(person: Person) -> None:
        bar = await until(lambda: person.window.findChild(InterruptionBar), "the bar")
        await until(lambda: QApplication.focusWidget() is bar, "its focus")
        press(bar, Qt.Key.Key_Return)
        row = person.window.row(person.window.selection.session)
        assert bar.isVisible() and row.status == "interrupted", "Enter repeats no command"

    live(qapp, home, act)


def test_a_bar_that_appears_is_announced_once(look: Look, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    announced = list[str]()
    monkeypatch.setattr(interruption_bar, "announce", lambda _, text: announced.append(text))
    parent = QWidget()
    qtbot.addWidget(parent)
    bar = InterruptionBar(look, parent)
    step = Step(3, "interrupted", "waiting", 0, object="run sleep 60", metrics={"calls": 1})
    for shown in (None, step, step, None, step):
        bar.show_step(shown)
    assert announced == [bar.accessibleName()] * 2 and "sleep 60" in bar.accessibleName()
