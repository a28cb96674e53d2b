"""The two ways to use the window, so that an action is written once for both: mouse plus typing, or keyboard alone."""

from collections.abc import Callable
from typing import Protocol

from tests.e2e.accessibility import CHECKED, FOCUSED, AccessibleObject
from tests.e2e.simulated_user import SimulatedUser


class InputMethod(Protocol):
    """An input method. `keys` are the shortcut for the same command, which the mouse ignores."""

    walker: SimulatedUser

    def press(self, id_: str = "", name: str = "", role: str = "", keys: str = "") -> None:
        """Press a button, or activate an item of a list."""

    def replace_text(self, id_: str, words: str, keys: str = "") -> None:
        """Replace the text of a field."""

    def switch_tab(self, tabs: str, name: str) -> None:
        """Switch to another tab."""

    def choose_segment(self, segments: str, word: str) -> None:
        """Choose a segment of a segmented control."""

    def show_session(self, title: str) -> None:
        """Show the session with this title."""

    def run_command(self, words: str, keys: str = "") -> None:
        """Run a command of the window, by shortcut or through the command palette."""

    def open_page(self, title: str) -> None:
        """Open a page of the sidebar, such as Skills or Memory."""

    def act_on_session(self, title: str, item: str, command: str, keys: str = "") -> None:
        """Act on a session: by its context menu, or by the equivalent command."""

    def quit(self) -> None:
        """Close the window as a user would."""


class MouseInput:
    def __init__(self, walker: SimulatedUser) -> None:
        self.walker = walker

    def press(self, id_: str = "", name: str = "", role: str = "", keys: str = "") -> None:
        self.walker.click(id_, name, role)

    def replace_text(self, id_: str, words: str, keys: str = "") -> None:
        field = self.walker.wait_for(id_)
        left = min(field.area.left + 60, field.area.middle[0])  # clear of an icon inside the field
        self.walker.display.xdotool("mousemove", left, field.area.middle[1], "click", "--repeat", 3, 1)
        self.walker.wait_for_focus(id_)
        self.walker.type_text(words)

    def switch_tab(self, tabs: str, name: str) -> None:
        self.walker.click(tabs, name, "page tab")

    def choose_segment(self, segments: str, word: str) -> None:
        self.walker.click(f"{segments}.{word}")

    def show_session(self, title: str) -> None:
        if not _rows(self.walker, title):
            if not self.walker.find("sessions.search"):
                self.walker.click("sessions.search_button")
            self.replace_text("sessions.search", title)
        self.walker.click("sessions.list", f"{title}, ", "cell")
        self.walker.wait_for("run.title", title)

    def run_command(self, words: str, keys: str = "") -> None:
        self.walker.click("status.commands")
        self.walker.wait_for_focus("palette.field")
        self.walker.type_text(words)
        self.walker.click("palette.list", words, "list item")
        self.walker.wait_until_gone("palette.list", words)

    def open_page(self, title: str) -> None:
        self.walker.click(f"sessions.{title.lower()}")
        self.walker.wait_for(f"page.{title.lower()}")

    def act_on_session(self, title: str, item: str, command: str, keys: str = "") -> None:
        self.show_session(title)
        row = self.walker.wait_for("sessions.list", f"{title}, ", "cell")
        self.walker.display.xdotool("mousemove", *row.area.middle, "click", 3)
        self.walker.click(name=item, role="menu item")

    def quit(self) -> None:
        self.walker.display.keys(
            "alt+F4"
        )  # the window manager's shortcut: openbox's close button has no accessible name


class KeyboardInput:
    def __init__(self, walker: SimulatedUser) -> None:
        self.walker = walker

    def press(self, id_: str = "", name: str = "", role: str = "", keys: str = "") -> None:
        found = self.walker.wait_for(id_, name, role)
        if keys:
            self.walker.display.keys(*keys.split())
        elif found.role in ("list item", "cell"):
            self._choose(found)
        else:
            self.walker.tab_to(id_, name, role)
            self.walker.display.keys("space")

    def replace_text(self, id_: str, words: str, keys: str = "") -> None:
        self.walker.wait_for(id_)
        if keys:
            self.walker.display.keys(*keys.split())
        self.walker.tab_to(id_)
        self.walker.display.keys("ctrl+a")
        self.walker.type_text(words)

    def switch_tab(self, tabs: str, name: str) -> None:
        names = [one.name for one in self.walker.find(tabs, role="page tab")]
        self.walker.tab_to(tabs, role="page tab list")
        place = next(at for at, one in enumerate(names) if name in one)
        self.walker.display.keys(*["Left"] * len(names), *["Right"] * place)

    def choose_segment(self, segments: str, word: str) -> None:
        """Tab reaches the checked segment; arrow keys move from there."""
        self.walker.wait_for(f"{segments}.{word}")
        there = [one for one in self.walker.find() if f".{segments}." in one.id]
        taken = next(at for at, one in enumerate(there) if one.has(CHECKED))
        wanted = next(at for at, one in enumerate(there) if one.has_id(f"{segments}.{word}"))
        self.walker.tab_to(name=there[taken].name, role=there[taken].role)
        self.walker.display.keys(*["Right" if wanted > taken else "Left"] * abs(wanted - taken))

    def show_session(self, title: str) -> None:
        self.walker.display.keys("ctrl+p")
        self.walker.wait_for_focus("palette.field")
        self.walker.type_text(title)
        self.walker.wait_for("palette.list", title, "list item")
        self.walker.display.keys("Return")
        self.walker.wait_for("run.title", title)

    def run_command(self, words: str, keys: str = "") -> None:
        if keys:
            self.walker.display.keys(*keys.split())
            return
        self.walker.display.keys("ctrl+k")
        self.walker.wait_for_focus("palette.field")
        self.walker.type_text(words)
        self.walker.wait_for("palette.list", words, "list item")
        self.walker.display.keys("Return")
        self.walker.wait_until_gone("palette.list", words)

    def open_page(self, title: str) -> None:
        self.run_command(title)
        self.walker.wait_for(f"page.{title.lower()}")

    def act_on_session(self, title: str, item: str, command: str, keys: str = "") -> None:
        self.show_session(title)
        self.run_command(command, keys)

    def quit(self) -> None:
        self.walker.display.keys("ctrl+q")

    def _choose(self, line: AccessibleObject) -> None:
        """Select an item of a list with the arrow keys."""
        self.walker.tab_to(line.id.rpartition(".")[2] if "." not in line.id else line.id)
        self.walker.display.keys("Home")
        for _ in range(60):
            now = [one for one in self.walker.find(role=line.role) if one.has(FOCUSED)]
            if any(one.name == line.name for one in now):
                self.walker.display.keys("Return")
                return
            self.walker.display.keys("Down")
        raise AssertionError(f"the arrow keys never reach {line.name}")


def _rows(walker: SimulatedUser, title: str) -> list[AccessibleObject]:
    """Return the rows of the session list that are scrolled into view."""
    lists = walker.find("sessions.list", role="table")
    bottom = lists[0].area.bottom if lists else 0
    return [one for one in walker.find("sessions.list", f"{title}, ", "cell") if one.area.middle[1] < bottom]


INPUT_METHODS: dict[str, Callable[[SimulatedUser], InputMethod]] = {"mouse": MouseInput, "keys": KeyboardInput}
