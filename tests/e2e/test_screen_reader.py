"""Accessibility of the real program: every control has a name and a role, and new questions are announced."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.e2e.accessibility import FOCUSABLE, AccessibilityBus, AccessibilityTree
from tests.e2e.screen import Screen, running_program
from tests.e2e.simulated_user import SimulatedUser
from tests.screens.sample_data_folder import make

CONTROLS = {
    "push button", "toggle button", "check box", "radio button", "combo box", "spin box", "slider", "text", "entry",
    "page tab", "table", "tree", "list", "list item", "link", "dialog", "menu item",
}  # fmt: skip
PAGES = ("overview", "skills", "memory", "usage")
VIEWS = ("Timeline", "Changes", "Context", "Decisions", "Steps")
KEYS = {"ctrl+k": "palette.field", "F1": "help.close", "ctrl+slash": "keys.close", "ctrl+o": "import.list"}
MENUS = {
    "": ("status.waiting", "composer.mode", "composer.model"),
    "skills": ("skill.more",),
    "memory": ("memory.more",),
}


def nameless(walker: SimulatedUser) -> list[str]:
    """Return the visible controls without a name or a role.

    The clear button of Qt's search fields is exempt: it never has a name, but the field has one and can be cleared by
    keyboard. A menu without its own name has that of the program, which does not count.
    """
    controls = (one for one in walker.find() if one.role in CONTROLS and not one.has_id("QLineEditIconButton"))
    found = [f"{one.role} {one.id}" for one in controls if not one.name.strip()]
    found += [f"menu {one.id}" for one in walker.find(role="popup menu") if one.name in ("", "Journeyman")]
    found += [f"filler {one.name!r} {one.id}" for one in walker.find(role="filler") if one.name or one.has(FOCUSABLE)]
    return found + [f"no role: {one.id}" for one in walker.find() if one.role in ("unknown", "invalid", "")]


def shared_names(walker: SimulatedUser) -> list[str]:
    """Return the names that several buttons of the window share."""
    buttons = Counter((one.role, one.name) for one in walker.find() if one.role in ("push button", "check box"))
    return [f"{count} × {role} {name!r}" for (role, name), count in buttons.items() if name and count > 1]


def of_menus(walker: SimulatedUser, page: str) -> list[str]:
    found = []
    for button in MENUS[page]:
        walker.click(button)
        walker.wait_for(role="menu item")
        found += nameless(walker)
        walker.display.keys("Escape")
        walker.wait_until_gone(role="menu item")
    return found


def of_dialogs(walker: SimulatedUser) -> list[str]:
    found = []
    for key, part in KEYS.items():
        walker.display.keys(key)
        walker.wait_for(part)
        found += nameless(walker)
        walker.display.keys("Escape")
        walker.wait_until_gone(part)
    walker.click("run.export")
    walker.wait_for("export.go")
    found += nameless(walker)
    walker.display.keys("Escape")
    walker.wait_until_gone("export.go")
    return found


def of_settings(walker: SimulatedUser) -> list[str]:
    """Return the controls without a name on every settings page."""
    found = []
    walker.display.keys("ctrl+comma")
    walker.wait_for("settings.search")
    for page in walker.wait_for_any("settings.pages", role="list item"):
        walker.display.click(*page.area.middle)
        found += nameless(walker)
    walker.display.keys("Escape")
    walker.wait_until_gone("settings.search")
    return found


def test_every_control_has_a_name_and_a_role(
    display: Screen, accessibility_bus: AccessibilityBus, tmp_path: Path
) -> None:
    home = tmp_path / "sample"
    make(home)
    found: dict[str, list[str]] = {}
    with (
        closing(AccessibilityTree(accessibility_bus)) as tree,
        running_program(display, home) as program,
    ):  # the program looks for listeners when it starts, so the tree comes first
        walker = SimulatedUser(display, program, tree)
        walker.wait_for("run.tabs", role="page tab list")
        for view in VIEWS:
            walker.click(name=view, role="page tab")
            walker.wait_for("run.title")
            found[view] = nameless(walker) + shared_names(walker)
        found["dialogs"] = of_dialogs(walker)
        found["menus"] = of_menus(walker, "")
        row = walker.wait_for("sessions.list", "Weekly", "cell")
        display.xdotool("mousemove", *row.area.middle, "click", 3)
        walker.wait_for(role="menu item")
        found["of a session"] = nameless(walker)
        display.keys("Escape")
        for page in PAGES:
            walker.click(f"sessions.{page}")
            walker.wait_for(f"page.{page}")
            found[page] = nameless(walker) + shared_names(walker) + (of_menus(walker, page) if page in MENUS else [])
        walker.click("sessions.new")
        found["start"] = nameless(walker)
        found["settings"] = of_settings(walker)
    assert {where: what for where, what in found.items() if what} == {}


def test_a_new_question_gets_the_focus_and_is_read_once(
    display: Screen, accessibility_bus: AccessibilityBus, home: Path
) -> None:
    with closing(AccessibilityTree(accessibility_bus)) as tree:
        tree.subscribe_announcements()
        with running_program(display, home) as program:
            user = SimulatedUser(display, program, tree)
            user.click("start.demo")
            assert tree.next_announcement().endswith(", running"), "the session that is shown now"
            assert tree.next_announcement() == "I will read your notes and the agreement first."
            user.wait_for_focus(name="Which tone should the letter take?", role="panel")
            program.wait_for_status("waiting")  # stored, so that the run can be stopped
            display.keys("ctrl+period")
            assert tree.next_announcement() == "Stopped"


def test_live_changes_and_selections_outside_of_the_focus_are_announced(
    display: Screen, accessibility_bus: AccessibilityBus, home: Path
) -> None:
    with closing(AccessibilityTree(accessibility_bus)) as tree:
        tree.subscribe_announcements()
        with running_program(display, home) as program:
            user = SimulatedUser(display, program, tree)
            user.click("start.demo")
            assert tree.next_announcement().endswith(", running")
            user.wait_for_focus(name="Which tone should the letter take?", role="panel")
            display.keys("1", "Return")
            heard, said = "", list[str]()
            while not heard.startswith("Write the letter to the landlord"):
                said.append(heard := tree.next_announcement())
            assert heard.endswith(". Finished") and any("The letter is ready" in text for text in said)
            display.keys("ctrl+k")
            user.wait_for_focus("palette.field")
            display.keys(*"usage")
            heard, said = "", list[str]()
            while not heard.startswith("Usage"):
                said.append(heard := tree.next_announcement())
            assert len(set(said)) == len(said), "an entry that stays selected is announced once"
            display.keys("Escape", "ctrl+comma")
            user.wait_for_focus("settings.search")
            display.keys(*"zz")
            while heard != "No settings match your search.":
                heard = tree.next_announcement()
            display.keys("Escape", "Escape")
            user.wait_until_gone("settings.search")
            display.keys("ctrl+f")
            user.wait_for_focus("run.find.words")
            display.keys(*"letter")
            while not heard.startswith("1 of "):
                heard = tree.next_announcement()
            display.keys("Escape", "ctrl+shift+o")
            user.wait_for("overview.empty", name="No session runs")
