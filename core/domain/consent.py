"""May this call happen? The modes, the request to a person as a record that cannot change, and the verdicts."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.domain.modes import Mode
from core.domain.text import Text

Scope = Literal["once", "run", "folder", "always"]
Level = Literal["verified", "reduced", "none"]  # how well the kernel confines commands here


@dataclass(frozen=True, slots=True)
class ConsentOption:
    """A word that can be given, in the words of the agent that asks; `allows` says whether it is a yes."""

    id: str
    name: str
    allows: bool
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """What a person is asked. With its canonical arguments it is what `fingerprint` was made of.

    `object` is the row, `why` what made it ask, `rule` the id of the rule that did. `undoable` is false for what cannot
    be taken back: such a call is never remembered. `patterns` can be remembered, one for each part of a command; with
    none of them only *once* is offered. `agent` names who asks, where that is not the session's own agent. `opens` are
    protected places that a yes opens to this call, and no other. An agent of others brings its own `options`; what they
    mean beyond this call is its affair.
    """

    id: str
    call_id: str
    tool: str
    object: str
    cwd: str
    level: Level
    fingerprint: str
    why: str = ""
    rule: str = ""
    touches: str = ""
    taint: tuple[str, ...] = ()
    undoable: bool = True
    patterns: tuple[str, ...] = ()
    agent: str = ""
    opens: tuple[str, ...] = ()
    options: tuple[ConsentOption, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenConsent:
    """A request that waits for a person, as it was made. `arguments` are whole; `asked` is when, in microseconds."""

    session: str
    request: ConsentRequest
    arguments: str
    asked: int


@dataclass(frozen=True, slots=True)
class Allowed:
    """`cause` is told with the call; `argv` is there when the command may run without a shell."""

    cause: str
    rule: str = ""
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asks:
    request: ConsentRequest
    arguments: str


@dataclass(frozen=True, slots=True)
class Denied:
    """`reason` is read by the model and by the person."""

    reason: str
    rule: str = ""


Verdict = Allowed | Asks | Denied


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=asdict
).encode


def canonical(arguments: Mapping[str, Any]) -> str:
    """The same arguments give the same text, whatever order and blanks they came in."""
    return _CANONICAL(arguments)


def fingerprint(
    tool: str, arguments: str, cwd: str, level: str, taint: tuple[str, ...], found: tuple[str, ...] = ()
) -> str:
    """SHA-256 over all that a person judges; no two different requests read as one.

    `found` is what lies there: the contents of the files that would be written, and the protected places among them.
    """
    parts = json.dumps([tool, arguments, cwd, level, sorted(taint), *([list(found)] if found else [])])
    return hashlib.sha256(parts.encode()).hexdigest()


def stale(asked: ConsentRequest, now: ConsentRequest) -> bool:
    """Is what would run now anything but what was allowed?"""
    return asked.fingerprint != now.fingerprint


def scopes(request: ConsentRequest) -> tuple[Scope, ...]:
    """How long a yes may be remembered."""
    if not request.undoable or not request.patterns:
        return ("once",)
    return ("once", "run", "folder", "always")


def alike(one: ConsentRequest, other: ConsentRequest) -> bool:
    """May the two be answered together? Where both only read, or one pattern speaks of both; never what is lost."""
    same = ["tool", "cwd", "level", "why", "taint", "agent", "opens"] + ([] if one.touches == "reads" else ["patterns"])
    return bool(one.patterns) and one.undoable and other.undoable and all(
        getattr(one, name) == getattr(other, name) for name in same
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConsentAsked:
    """May this call happen? `arguments` are the canonical ones that the request's fingerprint is made of."""

    request: ConsentRequest
    arguments: Text = Text()


@dataclass(frozen=True, slots=True)
class ConsentGiven:
    """A person's word on a request. `by` is the person, or the mode or rule that spoke instead of one.

    `pattern` is what was remembered, one a line, and `rules` are the ids of the rules that remember it. `option` is the
    one that was chosen of those the request brought.
    """

    request_id: str
    allowed: bool
    scope: Scope = "once"
    pattern: str = ""
    reason: Text = Text()
    by: str = "person"
    rules: tuple[str, ...] = ()
    option: str = ""


@dataclass(frozen=True, slots=True)
class CallAllowed:
    """A call that nobody was asked about: `cause` is what allowed it, `rule` the id of a rule if it was one."""

    call_id: str
    cause: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class ModeSet:
    """From here on the session asks so much, and no more."""

    mode: Mode
