"""A new user's walk through the whole program in a real window: once with the mouse, once with the keyboard alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.store.reader import Reader
from tests.e2e.screen import ROOT, Screen, opened
from tests.e2e.tree import Bus, Tree
from tests.e2e.walker import Walker

LETTER = "Write the letter to the landlord"
REPORT = "Write the report"
ASKS = {
    "text": "I ask.",
    "calls": [
        {
            "name": "ask_user",
            "arguments": {
                "question": "For whom is it?",
                "why": "It decides how long it gets.",
                "options": [{"label": "The board"}, {"label": "Everybody"}],
            },
        }
    ],
}
LONG = {"text": "word " * 2_000, "chunks": 400, "delay_s": 60}
AFTER_ALL = {"text": "Shorter then. " * 500, "chunks": 400, "delay_s": 60}


@contextmanager
def walking(display: Screen, told: Bus, home: Path) -> Iterator[Walker]:
    with opened(display, home) as program:
        tree = Tree(told)
        try:
            yield Walker(display, program, tree)
        finally:
            tree.close()


def add_report(home: Path, tmp_path: Path) -> None:
    """A second session, from the command line: it asks, then talks for a minute, and for another one when told to."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [ASKS, LONG, AFTER_ALL]}))
    words = ["run", REPORT, "--script", str(script), "-C", str(tmp_path), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "app", "--home", str(home), *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3, done.stderr


def letters(home: Path) -> list[Path]:
    """What the demo wrote."""
    return list((home / "demo").glob("*/complaint.md"))


def _kinds(home: Path, title: str) -> list[str]:
    """What the journal of this session has, in order."""
    reader = Reader(home / "journeyman.db")
    try:
        return [kind for row in reader.sessions() if row.title == title for *_, kind, _ in reader.raw(row.id)]
    finally:
        reader.close()


def _set_to_42(home: Path) -> bool:
    """The file is made with the first setting."""
    file = home / "settings.json"
    return file.exists() and "42" in file.read_text()


def test_by_mouse(display: Screen, told: Bus, home: Path, tmp_path: Path) -> None:
    with walking(display, told, home) as walker:
        walker.click("start.demo")
        walker.thing("question.option.2")
        walker.program.kill()
    add_report(home, tmp_path)
    with walking(display, told, home) as walker:
        walker.until(lambda: display.titles() == ["(2) Journeyman"], "both questions are still there")
        _mouse_answers_and_queues(walker)
        _mouse_steers_and_stops(walker)
        _mouse_puts_back_forks_compares(walker)
        _mouse_searches_and_sets(walker)
        display.keys("alt+F4")  # a window manager's key: openbox's own button has no name
        walker.program.ends()
        walker.program.moved_freely()


def _mouse_answers_and_queues(walker: Walker) -> None:
    walker.click(name=LETTER, role="cell")
    walker.thing("question.option.3")
    walker.write_into("composer.input", "Add a line about the cat")
    walker.click("composer.send")
    walker.thing(name="Queued message 1: Add a line about the cat")
    walker.click("question.option.2")
    walker.click("question.answer")
    walker.thing("run.status", name="Done")
    walker.gone(name="Queued message 1")
    walker.thing(name="You said Add a line about the cat")
    assert letters(walker.program.home)


def _mouse_steers_and_stops(walker: Walker) -> None:
    walker.click(name=REPORT, role="cell")
    walker.thing("question.option.1", name="The board")
    walker.click("question.option.1")
    walker.click("question.answer")
    walker.thing("run.status", name="Running")
    walker.write_into("composer.input", "Shorter please")
    walker.click("composer.send")
    walker.click(name="Send message 1 now")
    walker.thing(name="You said Shorter please")
    walker.until(lambda: _kinds(walker.program.home, REPORT).count("request_sent") == 3, "the model is told at once")
    walker.click("run.stop")
    walker.thing("run.status", name="Stopped")


def _mouse_puts_back_forks_compares(walker: Walker) -> None:
    home = walker.program.home
    walker.click(name=LETTER, role="cell")
    walker.thing("run.status", name="Done")
    walker.click(name="Changes", role="page tab")
    walker.click("changes.undo")
    walker.click("putback.yes")
    walker.until(lambda: not letters(home), "the file is as it was")
    walker.gone("putback")
    walker.click("changes.again")
    walker.click("putback.yes")
    walker.until(lambda: letters(home), "the file is back")
    walker.click(name="Steps", role="page tab")
    walker.click(name="Step 9: Wrote")
    walker.click("run.fork")
    walker.thing(name="Forked from")
    walker.click("run.compare")
    walker.thing("compare.steps")
    walker.thing("compare.said", name="steps are equal")


def _mouse_searches_and_sets(walker: Walker) -> None:
    walker.click("sessions.search_button")
    walker.has_focus("sessions.search")
    walker.write("damp meter")
    walker.thing(name="Found in the text")
    walker.click(name=LETTER, role="cell")
    walker.thing("run.title", name=LETTER)
    walker.click("sessions.settings")
    walker.write_into("settings.search", "round")
    field = walker.thing("settings.max_rounds")
    walker.display.hand("mousemove", field.area.left + 20, field.area.middle[1], "click", "--repeat", 3, 1)
    walker.has_focus("settings.max_rounds")
    walker.write("42")
    walker.click("settings.close")
    walker.until(lambda: _set_to_42(walker.program.home), "the setting is kept")


def test_by_keys(display: Screen, told: Bus, home: Path, tmp_path: Path) -> None:
    with walking(display, told, home) as walker:
        walker.tab_to("start.demo")
        display.keys("space")
        walker.thing("question.option.2")
        walker.program.kill()
    add_report(home, tmp_path)
    with walking(display, told, home) as walker:
        walker.until(lambda: display.titles() == ["(2) Journeyman"], "both questions are still there")
        _keys_answer_and_queue(walker)
        _keys_steer_and_stop(walker)
        _keys_put_back_fork_compare(walker)
        _keys_search_and_set(walker)
        display.keys("ctrl+q")
        walker.program.ends()
        walker.program.moved_freely()


def _keys_go_to(walker: Walker, title: str) -> None:
    """By the list of sessions that opens over the window."""
    walker.display.keys("ctrl+p")
    walker.has_focus("palette.field")
    walker.write(title)
    walker.thing("palette.list", name=title, role="list item")
    walker.display.keys("Return")
    walker.thing("run.title", name=title)


def _keys_command(walker: Walker, words: str) -> None:
    walker.display.keys("ctrl+k")
    walker.has_focus("palette.field")
    walker.write(words)
    walker.thing("palette.list", name=words, role="list item")
    walker.display.keys("Return")
    walker.gone("palette.field")


def _keys_answer_and_queue(walker: Walker) -> None:
    _keys_go_to(walker, LETTER)
    walker.thing("question.option.3")
    walker.display.keys("ctrl+l")
    walker.has_focus("composer.input")
    walker.write("Add a line about the cat")
    walker.display.keys("Return")
    walker.thing(name="Queued message 1: Add a line about the cat")
    walker.tab_to("question.option.2")
    walker.display.keys("2", "Return")
    walker.thing("run.status", name="Done")
    walker.gone(name="Queued message 1")
    assert letters(walker.program.home)


def _keys_steer_and_stop(walker: Walker) -> None:
    walker.display.keys("ctrl+j")
    walker.thing("question.option.1", name="The board")
    walker.display.keys("1", "Return")
    walker.thing("run.status", name="Running")
    walker.display.keys("ctrl+l")
    walker.has_focus("composer.input")
    walker.write("Shorter please")
    walker.display.keys("ctrl+Return")
    walker.thing(name="You said Shorter please")
    walker.until(lambda: _kinds(walker.program.home, REPORT).count("request_sent") == 3, "the model is told at once")
    walker.display.keys("ctrl+period")
    walker.thing("run.status", name="Stopped")


def _keys_put_back_fork_compare(walker: Walker) -> None:
    home, display = walker.program.home, walker.display
    _keys_go_to(walker, LETTER)
    walker.thing("run.status", name="Done")
    walker.tab_to("run.tabs", role="page tab list")
    display.keys("Right", "Right")
    walker.tab_to("changes.undo")
    display.keys("space")
    walker.tab_to("putback.yes")
    display.keys("space")
    walker.until(lambda: not letters(home), "the file is as it was")
    walker.gone("putback")
    walker.tab_to("changes.again")
    display.keys("space")
    walker.tab_to("putback.yes")
    display.keys("space")
    walker.until(lambda: letters(home), "the file is back")
    _keys_command(walker, "Fork the session")
    walker.until(lambda: len(walker.seen(name=LETTER, role="cell")) == 2, "the fork is listed")
    walker.tab_to("run.compare")
    display.keys("space")
    walker.thing("compare.said", name="steps are equal")


def _keys_search_and_set(walker: Walker) -> None:
    display = walker.display
    display.keys("ctrl+shift+f")
    walker.has_focus("sessions.search")
    walker.write("damp meter")
    walker.thing(name="Found in the text")
    display.keys("Down", "Return")
    walker.thing("run.title", name=LETTER)
    display.keys("ctrl+comma")
    walker.has_focus("settings.search")
    walker.write("round")
    walker.thing("settings.max_rounds")
    walker.tab_to("settings.max_rounds")
    display.keys("ctrl+a")
    walker.write("42")
    display.keys("Escape")
    walker.gone("settings.search")
    walker.until(lambda: _set_to_42(walker.program.home), "the setting is kept")
