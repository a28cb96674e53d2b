"""A real model works in the real window: five tasks, a stop, and a kill in the middle of a reply."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.store.partial_reply import FOLDER
from tests.e2e.accessibility import AccessibilityBus
from tests.e2e.screen import Screen, wait_until
from tests.monkey.monkey_run import MonkeyRun
from tests.monkey.runs import start_run
from tests.servers.thinking import NEEDS_MODEL, serve_thinking

pytestmark = NEEDS_MODEL

TASK_BOUND_S = 600.0
ENDED = ("done", "failed", "paused", "stopped")
FILES = {
    "calc.py": "def half(number):\n    return number / 3\n\n\ndef same(number):\n    return number\n",
    "test_calc.py": (
        "import unittest\nfrom calc import half\n\n\nclass Calc(unittest.TestCase):\n"
        "    def test_half(self):\n        self.assertEqual(half(4), 2)\n"
    ),
    "config.ini": "[server]\nhost = 127.0.0.1\nport = 8080\n",
    "draft.md": "# Pancakes\n\nFlour: 200 g\n",
}
LONG_TASK = "Explain in ten long paragraphs how a {} works."


@pytest.fixture
def person(display: Screen, accessibility_bus: AccessibilityBus, tmp_path: Path) -> Iterator[MonkeyRun]:
    with serve_thinking("qwen", tmp_path / "log") as url:
        made = MonkeyRun(display, accessibility_bus, tmp_path / "person", url, "keys", random.Random(1))
        for name, text in FILES.items():
            (made.work / name).write_text(text)
        try:
            made.open()
            yield made
        finally:
            made.close()


def do_task(person: MonkeyRun, task: str) -> str:
    """Start a task from the start page, allow by keyboard whatever it asks for, and return the status at its end."""
    session = start_run(person, task).id

    def has_ended() -> bool:
        if person.status(session) == "waiting":
            person.display.keys("ctrl+j", "a")  # has no effect until the delay of the request has passed
        return person.status(session) in ENDED

    wait_until(has_ended, task, TASK_BOUND_S)
    return person.status(session)


def start_long_reply(person: MonkeyRun, task: str) -> str:
    """Start a run, and return its session when a part of the reply has arrived."""
    session = start_run(person, task).id
    wait_until(lambda: (person.home / FOLDER / session).exists(), "a part of the reply", TASK_BOUND_S)
    return session


def test_five_tasks_a_stop_and_a_kill(person: MonkeyRun) -> None:
    assert do_task(person, "Create a file hello.txt that holds exactly the line: Hello, world.") == "done"
    assert (person.work / "hello.txt").read_text().strip() == "Hello, world."
    assert do_task(person, "In config.ini, change the port from 8080 to 9090.") == "done"
    assert (person.work / "config.ini").read_text() == FILES["config.ini"].replace("8080", "9090")
    status = do_task(person, "A test fails. Find the bug and repair it.")
    tests = subprocess.run([sys.executable, "-B", "-m", "unittest", "-q"], cwd=person.work, check=False)
    assert status == ("done" if tests.returncode == 0 else "failed"), "the model does not repair it each time"
    assert do_task(person, "Rename draft.md to final.md without changing its contents.") == "done"
    assert (person.work / "final.md").read_text() == FILES["draft.md"] and not (person.work / "draft.md").exists()
    assert do_task(person, "What is the value of port in config.ini?") == "done"

    stopped = start_long_reply(person, LONG_TASK.format("heat pump"))
    person.display.keys("ctrl+period")
    person.wait_for_status(stopped, "stopped")

    killed = start_long_reply(person, LONG_TASK.format("fridge"))
    sessions, kinds = {row.id for row in person.rows()}, person.kinds(stopped)
    person.kill()
    person.open()
    person.user.wait_for("sessions.list", role="cell")
    person.wait_for_status(killed, "interrupted")
    assert {row.id for row in person.rows()} == sessions and person.kinds(stopped) == kinds
    assert "reply_interrupted" in person.kinds(killed), "the part of the reply that had arrived is kept"
    person.quit()
