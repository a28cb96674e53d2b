"""A simulated user: finds controls by name through the accessibility tree, waits until they are stable, uses them."""

from collections.abc import Callable

from tests.e2e.accessibility import FOCUSED, AccessibilityTree, AccessibleObject
from tests.e2e.screen import Program, Screen, wait_until

ITEMS = (
    "list item",
    "page tab",
    "cell",
    "tree item",
)  # the current item reports focus even if its list does not have it


class SimulatedUser:
    def __init__(self, display: Screen, program: Program, tree: AccessibilityTree) -> None:
        self.display, self.program, self._tree = display, program, tree

    def find(self, id_: str = "", name: str = "", role: str = "") -> list[AccessibleObject]:
        """Return the visible objects with this object name, with `name` in their name, and with this role."""
        assert self.program.process.poll() is None, "the program exited"
        return [one for one in self._tree.visible_objects() if _fits(one, id_, name, role)]

    def wait_for(self, id_: str = "", name: str = "", role: str = "") -> AccessibleObject:
        """Wait for the first matching object that is usable and unchanged in two consecutive reads."""
        before: list[AccessibleObject | None] = [None]

        def calm() -> AccessibleObject | None:
            found = next((one for one in self.find(id_, name, role) if one.is_usable()), None)
            before.append(found)
            return found if found == before[-2] else None

        try:
            return wait_until(calm, f"{id_} {name} {role}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe_screen()}") from None

    def wait_for_any(self, id_: str = "", name: str = "", role: str = "") -> list[AccessibleObject]:
        """Wait until an object matches; return all matching objects."""
        self.wait_until(lambda: self.find(id_, name, role), f"{id_} {name} {role}")
        return self.find(id_, name, role)

    def wait_until_gone(self, id_: str = "", name: str = "", role: str = "") -> None:
        self.wait_until(lambda: not self.find(id_, name, role), f"{id_} {name} {role} is gone")

    def click(self, id_: str = "", name: str = "", role: str = "") -> None:
        self.display.click(*self.wait_for(id_, name, role).area.middle)

    def type_text(self, words: str) -> None:
        self.display.xdotool("type", "--delay", 15, words)

    def type_into(self, id_: str, words: str) -> None:
        """Click a field and type into it."""
        self.click(id_)
        self.wait_for_focus(id_)
        self.type_text(words)

    def wait_for_focus(self, id_: str = "", name: str = "", role: str = "") -> None:
        self.wait_until(
            lambda: any(one.has(FOCUSED) for one in self.find(id_, name, role)), f"{id_} {name} has the focus"
        )

    def tab_to(self, id_: str = "", name: str = "", role: str = "", most: int = 60) -> None:
        """Press Tab until a matching object has the focus."""
        there = self.focused()
        for _ in range(most):
            if any(_fits(one, id_, name, role) and one.role not in ITEMS for one in there):
                return
            self._tree.forget_focus()
            self.display.keys("Tab")
            there = self._tree.wait_for_focus() or self.focused()
        raise AssertionError(f"Tab never reaches {id_} {name}\n{self.describe_screen()}")

    def focused(self) -> list[AccessibleObject]:
        return [one for one in self._tree.visible_objects() if one.has(FOCUSED)]

    def wait_until(self, look: Callable[[], object], what: str) -> None:
        try:
            wait_until(lambda: look() or None, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe_screen()}") from None

    def describe_screen(self) -> str:
        """Return a description of all visible objects, for failure messages."""
        return "\n".join(str(one) for one in self._tree.visible_objects())


def _fits(one: AccessibleObject, id_: str, name: str, role: str) -> bool:
    return (not id_ or one.has_id(id_)) and name in one.name and (not role or one.role == role)
