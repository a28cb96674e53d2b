"""Permission for a call before it executes: evaluates the policy and, where needed, waits for the user's approval."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from core.domain.events import CallRefused, EventRecord, SessionEvent, ToolCall
from core.domain.ids import permission_id
from core.domain.permissions import (
    Allowed,
    CallAllowed,
    Denied,
    ModeChanged,
    NeedsApproval,
    PermissionDecided,
    PermissionRequested,
    PolicyDecision,
    is_stale,
)
from core.domain.text import Text
from core.engine.run.run_context import RunContext
from core.store.journal_update import JournalUpdate
from core.tools.tool import Tool
from core.tools.tool_context import NO_GRANT, CallGrant

PolicyCheck = Callable[[], Awaitable[PolicyDecision | None]]

NOT_ALLOWED = "The user did not allow this."
NOT_ALLOWED_HINT = "Do it another way, or ask what they want instead."
STALE_APPROVAL = (
    "Not run: something has changed since the user approved this call. Call again to request approval again."
)


@dataclass(frozen=True, slots=True)
class PermittedCall:
    """A call that may execute. `events` are recorded together with its start; `grant` is what the tool may do."""

    events: tuple[SessionEvent, ...] = ()
    grant: CallGrant = NO_GRANT


@dataclass(frozen=True, slots=True)
class _CallUnderReview:
    """A call that is evaluated repeatedly, because mode, rules and state may change while the user decides."""

    run: RunContext
    tool: Tool
    call: ToolCall
    parameters: Any

    @property
    def name(self) -> str:
        """The id of the permission request."""
        return permission_id(self.run.session, self.call.id)

    async def now(self) -> PolicyDecision | None:
        return await self.run.evaluate(self.run, self.tool, self.call.id, self.parameters)

    def refused(self, reason: str, rule: str = "") -> CallRefused:
        return CallRefused(self.call.id, self.tool.name, Text(reason), rule)


async def obtain_permission(
    run: RunContext, tool: Tool, call: ToolCall, parameters: Any
) -> PermittedCall | CallRefused:
    """Return the permission or the refusal for a call. If the policy requires it, ask the user and wait.

    If a request for the call is already open, for example after a crash, wait for its decision.
    """
    judged = _CallUnderReview(run, tool, call, parameters)
    verdict = await judged.now()
    if isinstance(verdict, NeedsApproval) or judged.name in run.conversation.permissions.requests:
        given = await await_approval(run, judged.name, verdict, judged.now)
        return await _recheck(judged, given) if given.allowed else judged.refused(_refusal_text(given))
    match verdict:
        case Allowed(reason=cause, rule_id=rule, argv=argv):
            return PermittedCall((CallAllowed(call.id, cause, rule),), CallGrant(argv=argv))
        case Denied(reason=reason, rule_id=rule):
            return judged.refused(reason, rule)
        case None:
            return PermittedCall()


async def await_approval(
    run: RunContext, name: str, verdict: PolicyDecision | None, now: PolicyCheck
) -> PermissionDecided:
    """Open the permission request `name` unless it is open, and wait until a decision on it is in the event log.

    `now` evaluates the call again. It is called whenever a mode or rule changes, because that may decide the request.
    """
    heard = asyncio.Event()

    def hear(update: JournalUpdate) -> None:
        if _may_decide(update.entry, run.session, name):
            heard.set()

    forget = run.journal.listen(hear)
    try:
        if isinstance(verdict, NeedsApproval) and name not in run.conversation.permissions.requests:
            request = verdict.request
            asked = PermissionRequested(request, Text(verdict.arguments))
            await run.announce(asked, name, f"{request.tool}: {request.object}", request.tool)
        while (given := run.conversation.permissions.decisions.get(name)) is None:
            heard.clear()
            await _decide_by_policy(run, name, await now())
            if name not in run.conversation.permissions.decisions:
                run.needs_user.add(name)
                await heard.wait()
    finally:
        forget()
    return given


def _may_decide(entry: EventRecord, session: str, name: str) -> bool:
    """Return whether an event decides the request or may lead to its decision, such as a new mode or a new rule."""
    event = entry.event
    if isinstance(event, PermissionDecided):
        return event.request_id == name or bool(event.rule_ids)
    return isinstance(event, ModeChanged) and entry.session == session


async def _decide_by_policy(run: RunContext, name: str, verdict: PolicyDecision | None) -> None:
    """If the mode or a rule now decides the request, record that decision, unless the user is deciding it."""
    if verdict is None or isinstance(verdict, NeedsApproval) or name in run.claimed:
        return
    run.claimed.add(name)
    try:
        if isinstance(verdict, Allowed):
            await run.record(PermissionDecided(name, True, decided_by=verdict.reason))
        else:
            await run.record(PermissionDecided(name, False, reason=Text(verdict.reason), decided_by="Journeyman"))
    finally:
        run.claimed.discard(name)


async def _recheck(judged: _CallUnderReview, given: PermissionDecided) -> PermittedCall | CallRefused:
    """Evaluate an approved call again. An approval covers only what was shown and never overrides a denial."""
    verdict = await judged.now()
    match verdict:
        case Denied(reason=reason, rule_id=rule):
            return judged.refused(reason, rule)
        case NeedsApproval(request=request):
            if is_stale(judged.run.conversation.permissions.requests[judged.name], request):
                return judged.refused(STALE_APPROVAL)
            return PermittedCall(grant=CallGrant(protected_paths=request.protected_paths, unsandboxed=True))
        case Allowed(argv=argv):
            return PermittedCall(grant=CallGrant(argv=argv))
        case None:
            return PermittedCall()


def _refusal_text(given: PermissionDecided) -> str:
    """Return the refusal that the model reads."""
    if given.decided_by != "user":
        return given.reason.head
    return (
        f"{NOT_ALLOWED} Their reason: {given.reason.head}" if given.reason.head else f"{NOT_ALLOWED} {NOT_ALLOWED_HINT}"
    )
