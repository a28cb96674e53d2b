"""Requests for consent for the tests: a chain that is understood, one that is for good, a change, a page."""

from dataclasses import replace
from typing import Any

from core.domain.consent import ConsentRequest, Level, canonical, fingerprint
from tests.ui.ask.questions import NOON
from ui.ask.wanted import Wanted

FOLDER = "/home/ann/src/billing"


def wanted(
    tool: str,
    touches: str,
    what: str,
    name: str = "s1-r1c1",
    *,
    level: Level = "verified",
    before: str | None = None,
    why: str = "No rule allows this command.",
    patterns: tuple[str, ...] = (),
    undoable: bool = True,
    taint: tuple[str, ...] = (),
    rule: str = "",
    **arguments: Any,
) -> Wanted:
    """A request as `judge` makes it."""
    told = canonical(arguments)
    mark = fingerprint(tool, told, FOLDER, level, taint)
    request = ConsentRequest(
        f"{name}-may", name, tool, what, FOLDER, level, mark, why, rule, touches, taint, undoable, patterns
    )
    return Wanted(request, told, NOON - 2 * 60 * 1_000_000, before)


def command(text: str, name: str = "s1-r1c1", **more: Any) -> Wanted:
    return wanted("run", "runs", text, name, background=False, command=text, timeout_s=600.0, **more)


CHAIN = command('pip install --upgrade "sqlalchemy>=2.1" && pytest -q', patterns=("pip install *", "pytest *"))
FOR_GOOD = command("rm -rf build", why="rm deletes files for good.", undoable=False)
TWINS = tuple(command(f"pytest tests/t{n}.py", f"s1-r1c{n}", patterns=("pytest *",)) for n in range(1, 4))
EDIT = wanted(
    "edit", "writes", "letter.md", path="letter.md", old="Dear Sir,\nold\nBye", new="Dear Sir,\nnew\nnewer\nBye",
    why="Mode edits asks about changes to files.", patterns=("letter.md",),
)  # fmt: skip
WRITE = wanted("write", "writes", "a.txt", path="a.txt", content="one\nthree\n", before="one\ntwo\n")
LONG = command("\n".join(f"echo {n}" for n in range(400)), patterns=("echo *",))
FETCH = wanted(
    "fetch", "network", "https://example.org/x", url="https://example.org/x", taint=("https://example.com/page",),
    why="The run has read https://example.com/page, and this can send data away.",
)  # fmt: skip


def other(one: Wanted, name: str) -> Wanted:
    """The same under another name."""
    return replace(one, request=replace(one.request, id=name))
