"""What a screen reader is told by the real program: a name and a role for every control, and questions as they come."""

from contextlib import closing
from pathlib import Path

from app.sample_home import make
from tests.e2e.screen import Screen, opened
from tests.e2e.tree import Bus, Tree
from tests.e2e.walker import Walker

CONTROLS = {
    "push button", "toggle button", "check box", "radio button", "combo box", "spin box", "slider", "text", "entry",
    "page tab", "table", "tree", "list", "list item", "link", "dialog", "menu item",
}  # fmt: skip
PAGES = ("skills", "memory", "usage")
VIEWS = ("Timeline", "Changes", "Context", "Decisions", "Steps")
KEYS = {"ctrl+k": "palette.field", "F1": "help.close", "ctrl+slash": "keys.close", "ctrl+o": "import.list"}
MENUS = {
    "": ("status.waiting", "composer.mode", "composer.model"),
    "skills": ("skill.more",),
    "memory": ("memory.more",),
}


def nameless(walker: Walker) -> list[str]:
    """Qt gives the cross in its search fields no name; the field has one, and keys empty it. Its menus go by the name
    of the program until they have their own."""
    controls = (one for one in walker.seen() if one.role in CONTROLS and not one.is_called("QLineEditIconButton"))
    found = [f"{one.role} {one.id}" for one in controls if not one.name.strip()]
    found += [f"menu {one.id}" for one in walker.seen(role="popup menu") if one.name in ("", "Journeyman")]
    return found + [f"no role: {one.id}" for one in walker.seen() if one.role in ("unknown", "invalid", "")]


def of_menus(walker: Walker, page: str) -> list[str]:
    found = []
    for button in MENUS[page]:
        walker.click(button)
        walker.thing(role="menu item")
        found += nameless(walker)
        walker.display.keys("Escape")
        walker.gone(role="menu item")
    return found


def of_dialogs(walker: Walker) -> list[str]:
    found = []
    for key, part in KEYS.items():
        walker.display.keys(key)
        walker.thing(part)
        found += nameless(walker)
        walker.display.keys("Escape")
        walker.gone(part)
    walker.click("run.export")
    walker.thing("export.go")
    found += nameless(walker)
    walker.display.keys("Escape")
    walker.gone("export.go")
    return found


def of_settings(walker: Walker) -> list[str]:
    """Every page of them."""
    found = []
    walker.display.keys("ctrl+comma")
    walker.thing("settings.search")
    for page in walker.until_seen("settings.pages", role="list item"):
        walker.display.click(*page.area.middle)
        found += nameless(walker)
    walker.display.keys("Escape")
    walker.gone("settings.search")
    return found


def test_every_control_has_a_name_and_a_role(display: Screen, told: Bus, tmp_path: Path) -> None:
    home = tmp_path / "sample"
    make(home)
    found: dict[str, list[str]] = {}
    with closing(Tree(told)) as tree, opened(display, home) as program:  # a program asks at its start who listens
        walker = Walker(display, program, tree)
        walker.thing("run.tabs", role="page tab list")
        for view in VIEWS:
            walker.click(name=view, role="page tab")
            walker.thing("run.title")
            found[view] = nameless(walker)
        found["dialogs"] = of_dialogs(walker)
        found["menus"] = of_menus(walker, "")
        row = walker.thing("sessions.list", "Weekly", "cell")
        display.hand("mousemove", *row.area.middle, "click", 3)
        walker.thing(role="menu item")
        found["of a session"] = nameless(walker)
        display.keys("Escape")
        for page in PAGES:
            walker.click(f"sessions.{page}")
            walker.thing(f"page.{page}")
            found[page] = nameless(walker) + (of_menus(walker, page) if page in MENUS else [])
        walker.click("sessions.new")
        found["start"] = nameless(walker)
        found["settings"] = of_settings(walker)
    assert {where: what for where, what in found.items() if what} == {}


def test_a_question_that_comes_is_announced(display: Screen, told: Bus, home: Path) -> None:
    with closing(Tree(told)) as tree:
        tree.listen()
        with opened(display, home) as program:
            Walker(display, program, tree).click("start.demo")
            assert tree.announcement() == "Question: Which tone should the letter take?"
