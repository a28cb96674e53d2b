"""The whole program in a real window, used with mouse and keyboard as by a user."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.screen import ROOT, Screen, running_program, wait_until

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
    """A data folder with a run that waits for an answer and will then stream for a minute."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [ASKS, LONG]}))
    (folder := tmp_path / "work").mkdir()
    words = ["run", "Write the letter", "--script", str(script), "-C", str(folder), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "app", "--data-dir", str(home), *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    return home


def test_the_demo_is_killed_at_its_question_and_answered_with_the_mouse(display: Screen, home: Path) -> None:
    with running_program(display, home) as program:
        program.start_demo()
        program.wait_for_card()
        program.wait_for_status("waiting")
        wait_until(lambda: display.waiting_in_title() == 1, "the count in the title")
        asked = json.loads(program.command("pending", "--json").stdout)
        assert asked["text"] == "Which tone should the letter take?"
        program.kill()
    with running_program(display, home) as program:
        display.click(*program.wait_for_option(2))
        card = program.wait_for_card()
        display.click(*program.wait_for_button(after=card.left, above=card.top).middle)
        program.wait_for_status("done")
        wait_until(lambda: display.waiting_in_title() == 0, "nothing is pending")
        assert "Friendly first reminder" in program.command("show", asked["session"]).stdout
        display.keys("alt+F4")
        program.check_clean_exit()
        program.report_stalls()


def test_a_question_survives_closing_and_is_answered_with_the_keyboard(display: Screen, waiting: Path) -> None:
    with running_program(display, waiting) as program:
        program.wait_for_card()
        display.keys("ctrl+q")
        program.check_clean_exit()
        assert program.statuses() == ["waiting"]
    with running_program(display, waiting) as program:
        program.wait_for_card()
        display.keys("ctrl+j", "1", "Return")
        program.wait_for_status("running")
        display.keys("ctrl+period")
        program.wait_for_status("stopped")
        display.keys("ctrl+q")
        program.check_clean_exit()
        program.report_stalls()


def test_a_second_start_raises_the_first_window(display: Screen, home: Path) -> None:
    with running_program(display, home) as program:
        window = display.xdotool("search", "--onlyvisible", "--name", "Journeyman").split()[0]
        display.xdotool("windowminimize", window)
        wait_until(lambda: not display.titles(), "the window is minimized")
        assert program.command().returncode == 0
        wait_until(lambda: display.titles() == ["Journeyman"], "the window is restored")
        program.process.terminate()
        program.check_clean_exit()


def test_without_a_screen_the_error_names_the_display(home: Path, tmp_path: Path) -> None:
    nowhere = Screen("", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "app", "--data-dir", str(home)],
        cwd=ROOT,
        env=nowhere.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: The window cannot be opened.")
    assert "DISPLAY" in done.stderr
