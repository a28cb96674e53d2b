"""All that is done on a walk, in one table: what it is called, what has to be there first, and the act."""

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.walk import pages, runs
from tests.walk.walk import Walk


class Act(NamedTuple):
    name: str
    do: Callable[[Walk], None]
    needs: Callable[[Walk], object] = lambda _: True


def some(count: int, *statuses: str, title: str = "") -> Callable[[Walk], object]:
    """So many sessions that stand so."""
    return lambda walk: len(walk.rows(*statuses, title=title)) >= count


ACTS: Final = (
    Act("demo", runs.demo, lambda walk: len(walk.rows("waiting")) < 4),
    Act("ask", runs.ask, lambda walk: len(walk.rows("waiting")) < 4),
    Act("answer", runs.answer, runs.asking),
    Act("consent", runs.consent),
    Act("steer", runs.steer),
    Act("stop", runs.stop),
    Act("say", runs.say, runs.ended),
    Act("put back", runs.put_back, runs.letters),
    Act("fork", runs.fork, runs.unforked),
    Act("compare", runs.compare, some(2, "done")),
    Act("views", runs.views, some(1)),
    Act("find", runs.find, some(1)),
    Act("export", runs.export, some(1)),
    Act("import", runs.bring),
    Act("restart", runs.restart, some(1, "waiting")),
    Act("kill", runs.kill, some(1, "waiting")),
    Act("search", pages.search, some(3)),
    Act("settings", pages.settings),
    Act("skill", pages.skill),
    Act("memory", pages.memory),
    Act("review", pages.review),
    Act("usage", pages.usage, some(1, "done")),
    Act("file away", pages.file_away, some(1, "done", "stopped", "failed")),
    Act("beside", pages.beside, lambda walk: len(pages.named_apart(walk)) > 1),
    Act("tabs", pages.tabs, lambda walk: len(pages.named_apart(walk)) > 1),
    Act("commands", pages.commands),
    Act("menus", pages.menus, some(1)),
    Act("help", pages.helps),
    Act("sizes", pages.sizes),
    Act("step", pages.step, some(1)),
    Act("sections", pages.sections, some(1)),
)

ENDS: Final = frozenset({"restart", "kill"})  # of a window

# The five-minute form, in this order.
SHORT: Final = (
    "demo", "restart", "answer", "steer", "stop", "put back", "fork", "compare", "search", "settings",
)  # fmt: skip


def possible(walk: Walk) -> list[Act]:
    return [act for act in ACTS if act.needs(walk)]


def step(walk: Walk, act: Act) -> None:
    """One act, and whether the program is still well."""
    act.do(walk)
    if trouble := walk.look(act.name):
        raise AssertionError(trouble)
