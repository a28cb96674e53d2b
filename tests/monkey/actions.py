"""The table of all actions of the monkey test: name, function and precondition."""

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.monkey import pages, runs
from tests.monkey.monkey_run import MonkeyRun


class Action(NamedTuple):
    name: str
    do: Callable[[MonkeyRun], None]
    precondition: Callable[[MonkeyRun], object] = lambda _: True


def has_sessions(count: int, *statuses: str, title: str = "") -> Callable[[MonkeyRun], object]:
    """Return a precondition: at least `count` sessions have one of these statuses."""
    return lambda walk: len(walk.rows(*statuses, title=title)) >= count


ACTIONS: Final = (
    Action("demo", runs.demo, lambda walk: len(walk.rows("waiting")) < 4),
    Action("ask", runs.ask, lambda walk: len(walk.rows("waiting")) < 4),
    Action("answer", runs.answer, runs.asking_sessions),
    Action("approve", runs.approve),
    Action("steer", runs.steer),
    Action("stop", runs.stop),
    Action("send message", runs.send_message, runs.ended_sessions),
    Action("revert", runs.revert, runs.revertible_demos),
    Action("fork", runs.fork, runs.unforked_sessions),
    Action("compare", runs.compare, has_sessions(2, "done")),
    Action("views", runs.views, has_sessions(1)),
    Action("find", runs.find, has_sessions(1)),
    Action("export", runs.export, has_sessions(1)),
    Action("import", runs.import_session),
    Action("restart", runs.restart, has_sessions(1, "waiting")),
    Action("kill", runs.kill, has_sessions(1, "waiting")),
    Action("search", pages.search, has_sessions(3)),
    Action("settings", pages.settings),
    Action("skill", pages.skill),
    Action("memory", pages.memory),
    Action("review", pages.review),
    Action("usage", pages.usage, has_sessions(1, "done")),
    Action("archive", pages.file_away, has_sessions(1, "done", "stopped", "failed")),
    Action("split view", pages.split_view, lambda walk: len(pages.uniquely_titled(walk)) > 1),
    Action("tabs", pages.tabs, lambda walk: len(pages.uniquely_titled(walk)) > 1),
    Action("commands", pages.commands),
    Action("menus", pages.menus, has_sessions(1)),
    Action("help", pages.help_pages),
    Action("sizes", pages.sizes),
    Action("step", pages.step, has_sessions(1)),
    Action("sections", pages.sections, has_sessions(1)),
)

WINDOW_ENDING: Final = frozenset({"restart", "kill"})  # actions that end the window

# The actions of the five-minute version, in this order.
SHORT: Final = (
    "demo", "restart", "answer", "steer", "stop", "revert", "fork", "compare", "search", "settings",
)  # fmt: skip


def possible_actions(walk: MonkeyRun) -> list[Action]:
    return [act for act in ACTIONS if act.precondition(walk)]


def do_action(walk: MonkeyRun, act: Action) -> None:
    """Do one action, then check the health of the program."""
    act.do(walk)
    if failure := walk.check_health(act.name):
        raise AssertionError(failure)
