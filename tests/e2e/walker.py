"""A person before the program: finds what is shown by its name, waits until it stays, and uses it."""

from collections.abc import Callable

from tests.e2e.screen import Program, Screen, until
from tests.e2e.tree import FOCUSED, Thing, Tree

ITEMS = ("list item", "page tab", "cell", "tree item")  # the current one says so, whoever has the keyboard


class Walker:
    def __init__(self, display: Screen, program: Program, tree: Tree) -> None:
        self.display, self.program, self._tree = display, program, tree

    def seen(self, id_: str = "", name: str = "", role: str = "") -> list[Thing]:
        """What is shown and fits: the last part of its object name, words of its name, its role."""
        assert self.program.process.poll() is None, "the program ended"
        return [one for one in self._tree.shown() if _fits(one, id_, name, role)]

    def thing(self, id_: str = "", name: str = "", role: str = "") -> Thing:
        """The first of it, once it is the same at two looks and can be used."""
        before: list[Thing | None] = [None]

        def calm() -> Thing | None:
            found = next((one for one in self.seen(id_, name, role) if one.can_be_used()), None)
            before.append(found)
            return found if found == before[-2] else None

        try:
            return until(calm, f"{id_} {name} {role}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.all_of_it()}") from None

    def until_seen(self, id_: str = "", name: str = "", role: str = "") -> list[Thing]:
        """All that fits, once there is any."""
        self.until(lambda: self.seen(id_, name, role), f"{id_} {name} {role}")
        return self.seen(id_, name, role)

    def gone(self, id_: str = "", name: str = "", role: str = "") -> None:
        self.until(lambda: not self.seen(id_, name, role), f"{id_} {name} {role} is gone")

    def click(self, id_: str = "", name: str = "", role: str = "") -> None:
        self.display.click(*self.thing(id_, name, role).area.middle)

    def write(self, words: str) -> None:
        self.display.hand("type", "--delay", 15, words)

    def write_into(self, id_: str, words: str) -> None:
        """With the mouse to the field, letters into it."""
        self.click(id_)
        self.has_focus(id_)
        self.write(words)

    def has_focus(self, id_: str = "", name: str = "", role: str = "") -> None:
        self.until(
            lambda: any(one.has(FOCUSED) for one in self.seen(id_, name, role)), f"{id_} {name} has the keyboard"
        )

    def tab_to(self, id_: str = "", name: str = "", role: str = "", most: int = 60) -> None:
        """From part to part, as one without a mouse."""
        there = self.focused()
        for _ in range(most):
            if any(_fits(one, id_, name, role) and one.role not in ITEMS for one in there):
                return
            self._tree.forget()
            self.display.keys("Tab")
            there = self._tree.keyboard() or self.focused()
        raise AssertionError(f"Tab never comes to {id_} {name}\n{self.all_of_it()}")

    def focused(self) -> list[Thing]:
        return [one for one in self._tree.shown() if one.has(FOCUSED)]

    def until(self, look: Callable[[], object], what: str) -> None:
        try:
            until(lambda: look() or None, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.all_of_it()}") from None

    def all_of_it(self) -> str:
        """For whoever reads why it failed."""
        return "\n".join(str(one) for one in self._tree.shown())


def _fits(one: Thing, id_: str, name: str, role: str) -> bool:
    return (not id_ or one.is_called(id_)) and name in one.name and (not role or one.role == role)
