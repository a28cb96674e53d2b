"""The page of skills in a real window, with no hand on the mouse: begun, written, saved, found again."""

import sqlite3
from pathlib import Path

import pytest

from core.skills.found import Disk
from core.skills.library import Library
from core.store.skills import SkillStore
from tests.e2e.screen import Screen, opened, until
from ui.skills.drafts import SkillDrafts

KEY = "library/weekly"


def text(home: Path, version: int) -> str:
    """What a version says; empty where there is none yet."""
    library = Library(SkillStore(home / "journeyman.db", None), Disk(None))
    try:
        return library.text(KEY, version) if library.head(KEY) >= version else ""
    except sqlite3.OperationalError:
        return ""  # the program is only beginning


def typed(on: Screen, words: str) -> None:
    on.hand("type", "--delay", "15", words)


@pytest.mark.xfail(reason="on a slow machine signs typed into a new skill miss in its draft: not yet understood")
def test_a_skill_is_written_with_the_keyboard_alone(display: Screen, home: Path) -> None:
    with opened(display, home) as program:
        until(display.titles, "the window")
        until(lambda: begun(display, home), "a new skill", 60)
        typed(display, "\nCount (twice")
        until(lambda: "Count (twice)" in str(SkillDrafts(home).draft(KEY)), "the draft, with all its signs")
        display.keys("ctrl+s")
        until(lambda: "Count (twice)" in text(home, 2), "version 2")
        display.keys("ctrl+h")
        typed(display, "twice")
        display.keys("Tab")
        typed(display, "thrice")
        display.keys("Return", "Escape", "ctrl+s")
        until(lambda: "Count (thrice)" in text(home, 3), "version 3, with a word replaced")
        display.keys("ctrl+z", "ctrl+s")
        until(lambda: "Count (twice)" in text(home, 4), "undo goes back over the save")
        program.kill()


def begun(display: Screen, home: Path) -> bool:
    """From the palette to the first version; again, if the window was not yet ready for keys."""
    if text(home, 1):
        return True
    display.keys("Escape", "ctrl+k")
    typed(display, "skills")
    display.keys("Return", "ctrl+shift+n")
    typed(display, "weekly")
    display.keys("Return")
    try:
        until(lambda: text(home, 1), "the first version", 8)
    except AssertionError:
        return False
    display.keys("ctrl+End")
    return True
