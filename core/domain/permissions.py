"""Permission requests and decisions about tool calls."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.domain.modes import Mode
from core.domain.text import Text

RuleScope = Literal["once", "run", "folder", "always"]
SandboxLevel = Literal[
    "verified", "reduced", "none"
]  # strength of the command sandbox: passed its test, isolates only partly, not available


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """An answer to a permission request that an external agent offers, in the agent's own words.

    `allows` tells approval from denial; a `persistent` answer also applies to later requests, as the agent sees fit.
    """

    id: str
    name: str
    allows: bool
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """What the user is asked to approve. `fingerprint` is a hash of everything that the user's decision is based on.

    Attributes:
        object: the text of the timeline row, such as the command line or the path.
        cwd: the working directory of the call.
        sandbox_level: how well the sandbox would isolate the call.
        reason, rule_id: why approval is needed, and the rule that requires it, if any.
        access: what the tool touches: `none`, `read`, `write`, `execute` or `network`.
        untrusted_sources: the untrusted content that the run has read so far.
        reversible: false if the effect cannot be undone; such a call is never remembered in a rule.
        patterns: what a rule could remember, one for each command that does more than read; if empty, only *once* is
            offered.
        subagent: the sub-agent that asks; empty for the session's own agent.
        protected_paths: protected files and folders that approval makes writable, for this call only.
        hosts: the hosts that a command can reach; empty means no network access.
        options: the answers an external agent offers instead of ours; only the agent knows how long they last.
    """

    id: str
    call_id: str
    tool: str
    object: str
    cwd: str
    sandbox_level: SandboxLevel
    fingerprint: str
    reason: str = ""
    rule_id: str = ""
    access: str = ""
    untrusted_sources: tuple[str, ...] = ()
    reversible: bool = True
    patterns: tuple[str, ...] = ()
    subagent: str = ""
    protected_paths: tuple[str, ...] = ()
    options: tuple[PermissionOption, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingPermissionRequest:
    """A permission request that waits for the user.

    `arguments` are the complete arguments of the call as canonical JSON; `requested_at` is in microseconds.
    """

    session: str
    request: PermissionRequest
    arguments: str
    requested_at: int


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may run.

    `reason` is recorded with the call. `argv` is set if the command can be executed without a shell. `read_only` means
    that it may run only in a sandbox that keeps it from changing the folder and from using the network.
    """

    reason: str
    rule_id: str = ""
    argv: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The user has to approve the call first."""

    request: PermissionRequest
    arguments: str


@dataclass(frozen=True, slots=True)
class Denied:
    """The call must not run. Both the model and the user see `reason`."""

    reason: str
    rule_id: str = ""


PolicyDecision = Allowed | NeedsApproval | Denied


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=asdict
).encode


def canonical_json(arguments: Mapping[str, Any]) -> str:
    """Return arguments as canonical JSON: equal arguments give equal text, whatever their order and spacing."""
    return _CANONICAL(arguments)


def fingerprint(
    tool: str, arguments: str, cwd: str, level: str, untrusted_sources: tuple[str, ...], targets: tuple[str, ...] = ()
) -> str:
    """Return the SHA-256 of everything the user's decision is based on, so that approval cannot apply to another call.

    `targets` describes what the call would change: the current contents of the files to be written, and the protected
    files and folders among them.
    """
    parts = json.dumps([tool, arguments, cwd, level, sorted(untrusted_sources), *([list(targets)] if targets else [])])
    return hashlib.sha256(parts.encode()).hexdigest()


def is_stale(previous: PermissionRequest, current: PermissionRequest) -> bool:
    """Return whether the call as it is now differs from the one that was shown to the user."""
    return previous.fingerprint != current.fingerprint


def covers_change(shown: PermissionRequest, changed: PermissionRequest) -> bool:
    """Return whether the approval of a request also covers the call as the user changed it.

    The user wrote the change, so only what they could not know matters: another reason to ask, or other warnings.
    """
    fields = ("reason", "rule_id", "sandbox_level", "untrusted_sources", "reversible", "protected_paths")
    return all(getattr(shown, name) == getattr(changed, name) for name in fields)


def offered_scopes(request: PermissionRequest) -> tuple[RuleScope, ...]:
    """Return the scopes for which an approval of this request can be remembered."""
    if not request.reversible or not request.patterns:
        return ("once",)
    return ("once", "run", "folder", "always")


def can_be_answered_together(first: PermissionRequest, second: PermissionRequest) -> bool:
    """Return whether two requests can be answered together.

    They can if both only read, or if the same patterns cover both. Irreversible calls are always decided one by one.
    """
    equal_fields = ["tool", "cwd", "sandbox_level", "reason", "untrusted_sources", "subagent", "protected_paths"]
    equal_fields += [] if first.access == "read" else ["patterns"]
    return bool(first.patterns) and first.reversible and second.reversible and all(
        getattr(first, name) == getattr(second, name) for name in equal_fields
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """The user was asked to approve a tool call; the run waits.

    `arguments` is the canonical JSON of the call's arguments, which the request's fingerprint covers.
    """

    request: PermissionRequest
    arguments: Text = Text()


@dataclass(frozen=True, slots=True)
class PermissionDecided:
    """A permission request was decided.

    `decided_by` is `user`, or names the rule or mode change that made the answer unnecessary. `patterns` are the
    remembered patterns, one a line, and `rule_ids` the rules saved for them. `option_id` is the chosen option of an
    external agent. A denial's `reason` is passed on to the model. `arguments` is the JSON of the arguments as the user
    changed them, and empty if the call is approved as it was.
    """

    request_id: str
    allowed: bool
    scope: RuleScope = "once"
    patterns: str = ""
    reason: Text = Text()
    decided_by: str = "user"
    rule_ids: tuple[str, ...] = ()
    option_id: str = ""
    arguments: Text = Text()


@dataclass(frozen=True, slots=True)
class CallAllowed:
    """A tool call was approved without asking the user.

    `reason` names what allowed it, such as the mode or a rule; `rule_id` is set if it was a rule.
    """

    call_id: str
    reason: str
    rule_id: str = ""


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The permission mode of the session changed. It applies at once, also to pending requests."""

    mode: Mode
