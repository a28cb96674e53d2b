"""Permission requests for the tests: a command chain, an irreversible command, file changes, and a fetched page."""

from dataclasses import replace
from typing import Any

from core.domain.permissions import Access, PermissionRequest, SandboxLevel, canonical_json, fingerprint
from tests.ui.ask.questions import NOON
from ui.ask.pending_permission import PendingPermission

FOLDER = "/home/ann/src/billing"


def pending_permission(
    tool: str,
    access: Access,
    what: str,
    name: str = "s1-r1c1",
    *,
    level: SandboxLevel = "verified",
    before: str | None = None,
    why: str = "No saved rule allows this command, so it needs your approval.",
    patterns: tuple[str, ...] = (),
    undoable: bool = True,
    taint: tuple[str, ...] = (),
    rule: str = "",
    **arguments: Any,
) -> PendingPermission:
    """Return a permission request as the policy engine creates it."""
    text = canonical_json(arguments)
    request = PermissionRequest(
        id=f"{name}-may",
        call_id=name,
        tool=tool,
        object=what,
        cwd=FOLDER,
        sandbox_level=level,
        fingerprint=fingerprint(tool, text, FOLDER, level, taint),
        reason=why,
        rule_id=rule,
        access=access,
        untrusted_sources=taint,
        reversible=undoable,
        patterns=patterns,
    )
    return PendingPermission(request, text, NOON - 2 * 60 * 1_000_000, before)


def command(text: str, name: str = "s1-r1c1", **more: Any) -> PendingPermission:
    return pending_permission("run", "execute", text, name, background=False, command=text, timeout_s=600.0, **more)


CHAIN = command('pip install --upgrade "sqlalchemy>=2.1" && pytest -q', patterns=("pip install *", "pytest *"))
IRREVERSIBLE = command("rm -rf build", why="rm deletes files permanently.", undoable=False)
TWINS = tuple(command(f"pytest tests/t{n}.py", f"s1-r1c{n}", patterns=("pytest *",)) for n in range(1, 4))
EDIT = pending_permission(
    "edit", "write", "letter.md", path="letter.md", old_string="Dear Sir,\nold\nBye",
    new_string="Dear Sir,\nnew\nnewer\nBye", why="Mode edits asks about changes to files.", patterns=("letter.md",),
)  # fmt: skip
WRITE = pending_permission("write", "write", "a.txt", path="a.txt", content="one\nthree\n", before="one\ntwo\n")
LONG = command("\n".join(f"echo {n}" for n in range(400)), patterns=("echo *",))
FETCH = pending_permission(
    "fetch", "network", "https://example.org/x", url="https://example.org/x", taint=("https://example.com/page",),
    why="The run has read https://example.com/page, and this can send data away.",
)  # fmt: skip


def renamed(one: PendingPermission, name: str) -> PendingPermission:
    """Return the same request with another id."""
    return replace(one, request=replace(one.request, id=name))
