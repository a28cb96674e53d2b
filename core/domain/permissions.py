"""Permission requests and decisions about tool calls."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from core.domain.modes import Mode
from core.domain.text import Text

Access = Literal["none", "read", "write", "execute", "network"]  # What a tool accesses.
RuleScope = Literal["once", "run", "folder", "always"]
# Strength of the command sandbox: it passed its self-test, it isolates only partly, or there is none.
SandboxLevel = Literal["verified", "reduced", "none"]


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """An answer to a permission request that an external agent offers, in the agent's own words.

    `allows` tells approval from denial. The agent applies a `persistent` answer to later requests as well.
    """

    id: str
    name: str
    allows: bool
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A tool call that the user is asked to approve. `fingerprint` is a hash of everything the decision is based on.

    Attributes:
        object: the text of the timeline row, such as the command line or the path.
        cwd: the working directory of the call.
        sandbox_level: how well the sandbox would isolate the call.
        reason, rule_id: why approval is needed, and the id of the rule that requires it, if any.
        access: what the tool accesses; "" if an external agent does not say.
        untrusted_sources: the untrusted content that the run has read so far.
        reversible: False if the effect cannot be undone; such an approval is never saved as a rule.
        patterns: the patterns that a rule could save, one for each command that does more than read; if empty, only
            *once* is offered.
        subagent: the name of the sub-agent that asks; "" for the session's own agent.
        protected_paths: protected files and folders that approval makes writable, for this call only.
        hosts: the hosts that a command can reach; empty means no network access.
        options: the answers that an external agent offers instead of Journeyman's scopes.
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
    access: Access | Literal[""] = ""
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

    `arguments` is the canonical JSON of the call's complete arguments; `requested_at` is in microseconds.
    """

    session: str
    request: PermissionRequest
    arguments: str
    requested_at: int


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may run.

    `reason` is recorded with the call. `argv` is set if the command can be executed without a shell. `read_only`: the
    call may only run in a sandbox that prevents it from changing the folder and from using the network.
    """

    reason: str
    rule_id: str = ""
    argv: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The user must approve the call first. `arguments` is the canonical JSON of its arguments."""

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
    """Return arguments as JSON in a canonical form: equal arguments give equal text, whatever their order."""
    return _CANONICAL(arguments)


def fingerprint(
    tool: str,
    arguments: str,
    cwd: str,
    level: SandboxLevel,
    untrusted_sources: tuple[str, ...],
    targets: tuple[str, ...] = (),
) -> str:
    """Return the SHA-256 of everything that the user's decision is based on, so that it cannot apply to another call.

    `targets` describes what the call would change: the current contents of the files to write, and protected paths.
    """
    parts = [tool, arguments, cwd, level, sorted(untrusted_sources)]
    if targets:
        parts.append(list(targets))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def is_stale(previous: PermissionRequest, current: PermissionRequest) -> bool:
    """Return whether the call in its current form differs from the one that the user was shown."""
    return previous.fingerprint != current.fingerprint


def covers_change(shown: PermissionRequest, changed: PermissionRequest) -> bool:
    """Return whether the user's approval of a request, which includes a change of the call, covers the changed call.

    The user wrote the change, so only facts unknown to the user matter: another reason for the request, other warnings
    or, for example, more hosts that the command can reach.
    """
    return _circumstances(shown) == _circumstances(changed)


def offered_scopes(request: PermissionRequest) -> tuple[RuleScope, ...]:
    """Return the scopes in which an approval of this request can be saved as a rule; "once" saves none."""
    if _can_be_saved_as_rule(request):
        return ("once", "run", "folder", "always")
    return ("once",)


def can_be_answered_together(first: PermissionRequest, second: PermissionRequest) -> bool:
    """Return whether the user can answer two requests with one decision.

    Apart from the calls themselves, the requests must be equal. If the calls do more than read, the same patterns must
    cover both. Calls that are irreversible or covered by no pattern are always decided one by one.
    """
    if not _can_be_saved_as_rule(first) or not _can_be_saved_as_rule(second):
        return False
    both_only_read = first.access == second.access == "read"
    return _circumstances(first) == _circumstances(second) and (both_only_read or first.patterns == second.patterns)


def _can_be_saved_as_rule(request: PermissionRequest) -> bool:
    return request.reversible and bool(request.patterns)


def _circumstances(request: PermissionRequest) -> PermissionRequest:
    """Return the request without the fields that describe the call itself.

    A field added to PermissionRequest is thus compared unless it is listed here.
    """
    return replace(request, id="", call_id="", object="", fingerprint="", patterns=())


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

    `decided_by` is `user`, or names the rule or mode change that decided it. `patterns` are the saved patterns, one per
    line, and `rule_ids` the ids of the rules saved for them. `option_id` is the chosen option of an external agent. The
    model receives the `reason` of a denial. `arguments` is the JSON of the arguments as the user changed them; empty if
    unchanged.
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
    """A tool call may run without asking the user, or an external agent is about to receive the user's approval.

    `reason` names what allowed it, such as the mode or a rule; `rule_id` is set if it was a rule.
    """

    call_id: str
    reason: str
    rule_id: str = ""


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The permission mode of the session changed, with immediate effect, also on pending requests."""

    mode: Mode
