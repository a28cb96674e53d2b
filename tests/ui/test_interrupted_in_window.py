"""After a crash, the window begins where the user has to decide: at the bar of the interrupted step."""

import json
import subprocess
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.screen import wait_until
from tests.ui.hands import press
from tests.ui.test_desktop_app import Person, live, until
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
