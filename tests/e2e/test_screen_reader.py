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


def nameless(walker: Walker) -> list[str]:
    """Qt gives the cross in its search fields no name; the field has one, and keys empty it."""
    controls = (one for one in walker.seen() if one.role in CONTROLS and not one.is_called("QLineEditIconButton"))
    return [f"{one.role} {one.id}" for one in controls if not one.name.strip()]


def test_every_control_has_a_name_and_a_role(display: Screen, told: Bus, tmp_path: Path) -> None:
    home = tmp_path / "sample"
    make(home)
    found: dict[str, list[str]] = {}
    with opened(display, home) as program, closing(Tree(told)) as tree:
        walker = Walker(display, program, tree)
        walker.thing("run.tabs", role="page tab list")
        for tab in ("Timeline", "Changes", "Context", "Decisions", "Steps"):
            walker.click(name=tab, role="page tab")
            walker.thing("run.title")
            found[tab] = nameless(walker)
        for page in PAGES:
            walker.click(f"sessions.{page}")
            walker.thing(f"page.{page}")
            found[page] = nameless(walker)
        walker.click("sessions.new")
        found["start"] = nameless(walker)
        for key, part in (("ctrl+k", "palette.field"), ("ctrl+comma", "settings.search"), ("F1", "help.close")):
            display.keys(key)
            walker.thing(part)
            found[part] = nameless(walker)
            display.keys("Escape")
            walker.gone(part)
        assert {where: what for where, what in found.items() if what} == {}
        assert all(one.role not in ("unknown", "invalid", "") for one in walker.seen())


def test_a_question_that_comes_is_announced(display: Screen, told: Bus, home: Path) -> None:
    with closing(Tree(told)) as tree:
        tree.listen()  # a reader is there first: a program asks at its start who listens
        with opened(display, home) as program:
            Walker(display, program, tree).click("start.demo")
            assert tree.announcement() == "Question: Which tone should the letter take?"
