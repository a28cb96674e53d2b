"""The whole program in a real window, used with mouse and keys as a person would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.screen import ROOT, Screen, opened, until

LONG = {"text": "word " * 2_000, "chunks": 400, "delay_s": 60}
ASKS = {
    "text": "I ask.",
    "calls": [
        {
            "name": "ask_user",
            "arguments": {
                "question": "Which tone?",
                "why": "It decides the rest.",
                "options": [{"label": "Firm"}, {"label": "Friendly"}],
            },
        }
    ],
}


@pytest.fixture
def waiting(tmp_path: Path, home: Path) -> Path:
    """A data folder in which a run waits for an answer, and would then talk for a minute."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [ASKS, LONG]}))
    (folder := tmp_path / "work").mkdir()
    words = ["run", "Write the letter", "--script", str(script), "-C", str(folder), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "app", "--home", str(home), *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    return home


def test_the_demo_is_started_killed_in_its_question_and_answered_by_mouse(display: Screen, home: Path) -> None:
    with opened(display, home) as program:
        display.click(*program.resting_button(after=program.button().right).middle)
        program.card()
        program.comes_to("waiting")
        until(lambda: display.titles() == ["(1) Journeyman"], "the count in the title")
        asked = json.loads(program.command("questions", "--json").stdout)
        assert asked["text"] == "Which tone should the letter take?"
        program.kill()
    with opened(display, home) as program:
        display.click(*program.option(2))
        card = program.card()
        display.click(*program.button(after=card.left, above=card.top).middle)
        program.comes_to("done")
        until(lambda: display.titles() == ["Journeyman"], "nothing waits any more")
        assert "Friendly first reminder" in program.command("show", asked["session"]).stdout
        display.keys("alt+F4")
        program.ends()
        program.moved_freely()


def test_a_question_outlives_a_close_and_is_answered_with_keys(display: Screen, waiting: Path) -> None:
    with opened(display, waiting) as program:
        program.card()
        display.keys("ctrl+q")
        program.ends()
        assert program.statuses() == ["waiting"]
    with opened(display, waiting) as program:
        program.card()
        display.keys("ctrl+j", "1", "Return")
        program.comes_to("running")
        display.keys("ctrl+period")
        program.comes_to("stopped")
        display.keys("ctrl+q")
        program.ends()
        program.moved_freely()


def test_a_second_start_raises_the_first_window(display: Screen, home: Path) -> None:
    with opened(display, home) as program:
        window = display.hand("search", "--onlyvisible", "--name", "Journeyman").split()[0]
        display.hand("windowminimize", window)
        until(lambda: not display.titles(), "the window is away")
        assert program.command().returncode == 0
        until(lambda: display.titles() == ["Journeyman"], "the window is back")
        program.process.terminate()
        program.ends()


def test_without_a_screen_it_says_so(home: Path, tmp_path: Path) -> None:
    nowhere = Screen("", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "app", "--home", str(home)],
        cwd=ROOT,
        env=nowhere.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "what: The window cannot be opened."
    assert "DISPLAY" in done.stderr
