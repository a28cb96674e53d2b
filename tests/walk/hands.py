"""The two ways to use the window: a mouse that also types letters, or keys alone. An act is written once, for both."""

from collections.abc import Callable
from typing import Protocol

from tests.e2e.tree import CHECKED, FOCUSED, Thing
from tests.e2e.walker import Walker


class Hands(Protocol):
    """What an act asks for; `keys` are those that do the same, and a mouse does not need them."""

    walker: Walker

    def press(self, id_: str = "", name: str = "", role: str = "", keys: str = "") -> None:
        """A button, or a line of a list."""

    def write_into(self, id_: str, words: str, keys: str = "") -> None:
        """Over what stands in the field."""

    def turn(self, tabs: str, name: str) -> None:
        """To another tab of these."""

    def take(self, segments: str, word: str) -> None:
        """Another of a few choices side by side."""

    def session(self, title: str) -> None:
        """Show it."""

    def command(self, words: str, keys: str = "") -> None:
        """One of the commands of the window."""

    def page(self, title: str) -> None:
        """One of the pages that belong to no session."""

    def file(self, title: str, item: str, command: str, keys: str = "") -> None:
        """Something with a session of the list: by its menu, or by the command that does the same."""

    def quit(self) -> None:
        """Close the window as a person does."""


class Mouse:
    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def press(self, id_: str = "", name: str = "", role: str = "", keys: str = "") -> None:
        self.walker.click(id_, name, role)

    def write_into(self, id_: str, words: str, keys: str = "") -> None:
        field = self.walker.thing(id_)
        left = min(field.area.left + 60, field.area.middle[0])  # beside an icon that stands in the field
        self.walker.display.hand("mousemove", left, field.area.middle[1], "click", "--repeat", 3, 1)
        self.walker.has_focus(id_)
        self.walker.write(words)

    def turn(self, tabs: str, name: str) -> None:
        self.walker.click(tabs, name, "page tab")

    def take(self, segments: str, word: str) -> None:
        self.walker.click(f"{segments}.{word}")

    def session(self, title: str) -> None:
        if not _rows(self.walker, title):
            if not self.walker.seen("sessions.search"):
                self.walker.click("sessions.search_button")
            self.write_into("sessions.search", title)
        self.walker.click("sessions.list", f"{title}, ", "cell")
        self.walker.thing("run.title", title)

    def command(self, words: str, keys: str = "") -> None:
        self.walker.click("status.commands")
        self.walker.has_focus("palette.field")
        self.walker.write(words)
        self.walker.click("palette.list", words, "list item")
        self.walker.gone("palette.list", words)

    def page(self, title: str) -> None:
        self.walker.click(f"sessions.{title.lower()}")
        self.walker.thing(f"page.{title.lower()}")

    def file(self, title: str, item: str, command: str, keys: str = "") -> None:
        self.session(title)
        row = self.walker.thing("sessions.list", f"{title}, ", "cell")
        self.walker.display.hand("mousemove", *row.area.middle, "click", 3)
        self.walker.click(name=item, role="menu item")

    def quit(self) -> None:
        self.walker.display.keys("alt+F4")  # a window manager's key: openbox's own button has no name


class Keys:
    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def press(self, id_: str = "", name: str = "", role: str = "", keys: str = "") -> None:
        found = self.walker.thing(id_, name, role)
        if keys:
            self.walker.display.keys(*keys.split())
        elif found.role in ("list item", "cell"):
            self._choose(found)
        else:
            self.walker.tab_to(id_, name, role)
            self.walker.display.keys("space")

    def write_into(self, id_: str, words: str, keys: str = "") -> None:
        self.walker.thing(id_)
        if keys:
            self.walker.display.keys(*keys.split())
        self.walker.tab_to(id_)
        self.walker.display.keys("ctrl+a")
        self.walker.write(words)

    def turn(self, tabs: str, name: str) -> None:
        names = [one.name for one in self.walker.seen(tabs, role="page tab")]
        self.walker.tab_to(tabs, role="page tab list")
        place = next(at for at, one in enumerate(names) if name in one)
        self.walker.display.keys(*["Left"] * len(names), *["Right"] * place)

    def take(self, segments: str, word: str) -> None:
        """Tab comes to the one that is taken, arrows go on from there."""
        self.walker.thing(f"{segments}.{word}")
        there = [one for one in self.walker.seen() if f".{segments}." in one.id]
        taken = next(at for at, one in enumerate(there) if one.has(CHECKED))
        wanted = next(at for at, one in enumerate(there) if one.is_called(f"{segments}.{word}"))
        self.walker.tab_to(name=there[taken].name, role=there[taken].role)
        self.walker.display.keys(*["Right" if wanted > taken else "Left"] * abs(wanted - taken))

    def session(self, title: str) -> None:
        self.walker.display.keys("ctrl+p")
        self.walker.has_focus("palette.field")
        self.walker.write(title)
        self.walker.thing("palette.list", title, "list item")
        self.walker.display.keys("Return")
        self.walker.thing("run.title", title)

    def command(self, words: str, keys: str = "") -> None:
        if keys:
            self.walker.display.keys(*keys.split())
            return
        self.walker.display.keys("ctrl+k")
        self.walker.has_focus("palette.field")
        self.walker.write(words)
        self.walker.thing("palette.list", words, "list item")
        self.walker.display.keys("Return")
        self.walker.gone("palette.list", words)

    def page(self, title: str) -> None:
        self.command(title)
        self.walker.thing(f"page.{title.lower()}")

    def file(self, title: str, item: str, command: str, keys: str = "") -> None:
        self.session(title)
        self.command(command, keys)

    def quit(self) -> None:
        self.walker.display.keys("ctrl+q")

    def _choose(self, line: Thing) -> None:
        """By arrows, from wherever its list stands."""
        self.walker.tab_to(line.id.rpartition(".")[2] if "." not in line.id else line.id)
        self.walker.display.keys("Home")
        for _ in range(60):
            now = [one for one in self.walker.seen(role=line.role) if one.has(FOCUSED)]
            if any(one.name == line.name for one in now):
                self.walker.display.keys("Return")
                return
            self.walker.display.keys("Down")
        raise AssertionError(f"no arrow comes to {line.name}")


def _rows(walker: Walker, title: str) -> list[Thing]:
    """Lines of the list that can be clicked where they are."""
    lists = walker.seen("sessions.list", role="table")
    bottom = lists[0].area.bottom if lists else 0
    return [one for one in walker.seen("sessions.list", f"{title}, ", "cell") if one.area.middle[1] < bottom]


HANDS: dict[str, Callable[[Walker], Hands]] = {"mouse": Mouse, "keys": Keys}
