"""The skill editor in a real window by keyboard alone: create, write, save, replace and undo."""

import sqlite3
from contextlib import closing
from pathlib import Path

from core.skills.library import SkillLibrary
from core.skills.skill_disk import SkillDisk
from core.store.skill_store import SkillStore
from tests.e2e.accessibility import AccessibilityBus, AccessibilityTree
from tests.e2e.screen import Screen, running_program, wait_until
from tests.e2e.simulated_user import SimulatedUser
from ui.skills.drafts import SkillDrafts

KEY = "library/weekly"


def text(home: Path, version: int) -> str:
    """Return the text of a version, or an empty string if it does not exist yet."""
    library = SkillLibrary(SkillStore(home / "journeyman.db", None), SkillDisk(None))
    try:
        return library.text(KEY, version) if library.latest_version(KEY) >= version else ""
    except sqlite3.OperationalError:
        return ""  # the program has not created its tables yet


def type_text(on: Screen, words: str) -> None:
    on.xdotool("type", "--delay", "15", words)


def test_a_skill_is_written_with_the_keyboard_alone(
    display: Screen, accessibility_bus: AccessibilityBus, home: Path
) -> None:
    with closing(AccessibilityTree(accessibility_bus)) as tree, running_program(display, home) as program:
        begin(display, SimulatedUser(display, program, tree))
        display.keys("ctrl+End")
        type_text(display, "\nCount (twice")
        wait_until(lambda: "Count (twice)" in str(SkillDrafts(home).load(KEY)), "the draft, with every typed character")
        display.keys("ctrl+s")
        wait_until(lambda: "Count (twice)" in text(home, 2), "version 2")
        display.keys("ctrl+h")
        type_text(display, "twice")
        display.keys("Tab")
        type_text(display, "thrice")
        display.keys("Return", "Escape", "ctrl+s")
        wait_until(lambda: "Count (thrice)" in text(home, 3), "version 3, with a word replaced")
        display.keys("ctrl+z", "ctrl+s")
        wait_until(lambda: "Count (twice)" in text(home, 4), "undo works across the save")
        program.kill()


def begin(display: Screen, walker: SimulatedUser) -> None:
    """Create a skill from the command palette and focus its text."""
    walker.wait_for("sessions.new")
    for keys, part, words in (("ctrl+k", "palette.field", "skills"), ("ctrl+shift+n", "skill.name.field", "weekly")):
        display.keys(keys)
        walker.wait_for_focus(part)
        type_text(display, words)
        display.keys("Return")
        walker.wait_until_gone(part)
        walker.wait_for("page.skills")
    walker.wait_for_focus("skill.source")
