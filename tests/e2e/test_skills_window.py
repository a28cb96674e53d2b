"""The page of skills in a real window, with no hand on the mouse: begun, written, saved, found again."""

import sqlite3
from contextlib import closing
from pathlib import Path

from core.skills.found import Disk
from core.skills.library import Library
from core.store.skills import SkillStore
from tests.e2e.screen import Screen, opened, until
from tests.e2e.tree import Bus, Tree
from tests.e2e.walker import Walker
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


def test_a_skill_is_written_with_the_keyboard_alone(display: Screen, told: Bus, home: Path) -> None:
    with closing(Tree(told)) as tree, opened(display, home) as program:
        begin(display, Walker(display, program, tree))
        display.keys("ctrl+End")
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


def begin(display: Screen, walker: Walker) -> None:
    """From the palette to the text of the first version."""
    walker.thing("sessions.new")
    for keys, part, words in (("ctrl+k", "palette.field", "skills"), ("ctrl+shift+n", "skill.name.field", "weekly")):
        display.keys(keys)
        walker.has_focus(part)
        typed(display, words)
        display.keys("Return")
        walker.gone(part)
        walker.thing("page.skills")
    walker.has_focus("skill.source")
