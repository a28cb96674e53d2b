"""Permission for a call before it executes: evaluates the policy and, where needed, waits for the user's approval."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from core.domain.events import CallRefused, EventRecord, HarnessMessage, SessionEvent, ToolCall
from core.domain.ids import permission_id
from core.domain.permissions import (
    Allowed,
    CallAllowed,
    Denied,
    ModeChanged,
    NeedsApproval,
    PermissionDecided,
    PermissionRequest,
    PermissionRequested,
    PolicyDecision,
    covers_change,
    is_stale,
)
from core.domain.problems import Problem
from core.domain.refusals import DENIED, DENIED_WITH_REASON, INVALID_CHANGE, STALE_APPROVAL
from core.domain.text import Text
from core.engine.run.call_hooks import parse_call
from core.engine.run.run_context import RunContext
from core.store.journal_update import JournalUpdate
from core.tools.tool import Tool
from core.tools.tool_context import NO_GRANT, CallGrant

PolicyCheck = Callable[[], Awaitable[PolicyDecision | None]]

CHANGED_NOTE = "[The user changed this call of {tool} before allowing it. It was run with: {arguments}]"
CHANGED_REASON = "you changed the call before it ran: {tool} {object}"
MAX_NOTE_CHARS = 4_000  # limit for the changed arguments in CHANGED_NOTE, which may contain the text of a whole file


@dataclass(frozen=True, slots=True)
class PermittedCall:
    """A call that may execute.

    `events` are recorded together with the start of the call. `grant` is passed to the tool: it allows more than usual,
    such as writing a protected path. `parameters` include the changes that the user made before allowing the call.
    """

    parameters: Any
    events: tuple[SessionEvent, ...] = ()
    grant: CallGrant = NO_GRANT


@dataclass(frozen=True, slots=True)
class _CallUnderReview:
    """A call awaiting permission. It is evaluated again when the mode or rules change while the user decides.

    `changes` counts how often the user has changed the arguments.
    """

    run: RunContext
    tool: Tool
    call: ToolCall
    parameters: Any
    changes: int = 0

    @property
    def name(self) -> str:
        """The id of the permission request."""
        return permission_id(self.run.session, self.call.id, self.changes)

    async def evaluate(self) -> PolicyDecision | None:
        """Return what the policy decides about the call now; None if a replay recorded no decision."""
        decision = await self.run.evaluate(self.run, self.tool, self.call.id, self.parameters)
        if self.changes and isinstance(decision, NeedsApproval):
            return replace(decision, request=replace(decision.request, id=self.name))
        return decision

    def changed(self, arguments: str) -> "_CallUnderReview":
        """Return the call with these arguments from the user, in JSON. Raise Problem if they are invalid."""
        call = replace(self.call, arguments=Text(arguments))
        return replace(self, call=call, parameters=parse_call(self.run, call), changes=self.changes + 1)

    def permitted(self, grant: CallGrant = NO_GRANT, *events: SessionEvent) -> PermittedCall:
        if self.changes:
            arguments = self.call.arguments.head
            shown = arguments if len(arguments) <= MAX_NOTE_CHARS else f"{arguments[:MAX_NOTE_CHARS]}…"
            note = CHANGED_NOTE.format(tool=self.tool.name, arguments=shown)
            reason = CHANGED_REASON.format(tool=self.tool.name, object=self.tool.describe(self.parameters))
            events = (HarnessMessage(Text(note), reason), *events)
        return PermittedCall(self.parameters, events, grant)

    def refused(self, reason: str, rule: str = "") -> CallRefused:
        return CallRefused(self.call.id, self.tool.name, Text(reason), rule)


async def obtain_permission(
    run: RunContext, tool: Tool, call: ToolCall, parameters: Any
) -> PermittedCall | CallRefused:
    """Return the permission or the refusal for a call. If the policy requires it, ask the user and wait.

    If a request for the call is already open, for example after a crash, wait for its decision. The user may change
    the call before allowing it; the changed call is evaluated again.
    """
    review = _CallUnderReview(run, tool, call, parameters)
    policy_decision = await review.evaluate()
    requests = run.conversation.permissions.requests
    while isinstance(policy_decision, NeedsApproval) or review.name in requests:
        if isinstance(policy_decision, NeedsApproval) and (why := _reason_not_to_ask(run, policy_decision)):
            return review.refused(why)
        decision = await await_approval(run, review.name, policy_decision, review.evaluate)
        if not decision.allowed:
            return review.refused(refusal_text(decision))
        if not decision.arguments.head:
            return await _recheck(review)
        shown = requests[review.name]
        unchanged = await review.evaluate()
        if isinstance(unchanged, NeedsApproval) and is_stale(shown, unchanged.request):
            return review.refused(STALE_APPROVAL.text_for_model())
        try:
            review = review.changed(run.full_text(decision.arguments))
        except Problem as problem:
            return review.refused(INVALID_CHANGE.text_for_model(problem))
        policy_decision = await review.evaluate()
        new_request = policy_decision.request if isinstance(policy_decision, NeedsApproval) else None
        if new_request and review.name not in requests and covers_change(shown, new_request):
            return review.permitted(_approved_grant(new_request))
    match policy_decision:
        case Allowed(reason=cause, rule_id=rule, argv=argv, read_only=read_only):
            return review.permitted(CallGrant(argv=argv, read_only=read_only), CallAllowed(call.id, cause, rule))
        case Denied(reason=reason, rule_id=rule):
            return review.refused(reason, rule)
        case _:
            return review.permitted()


def _reason_not_to_ask(run: RunContext, needed: NeedsApproval) -> str:
    """Return why an approval could not take effect, so that the user is not asked in vain; "" if it could."""
    problem = run.tool_context.commands.reason_to_refuse() if needed.request.protected_paths else None
    return str(problem) if problem else ""


def _approved_grant(request: PermissionRequest) -> CallGrant:
    """Return the grant for a call that the user has approved: unsandboxed, and with the protected paths it writes."""
    return CallGrant(protected_paths=request.protected_paths, unsandboxed=True, irreversible=not request.reversible)


async def await_approval(
    run: RunContext, name: str, policy_decision: PolicyDecision | None, evaluate: PolicyCheck
) -> PermissionDecided:
    """Open the permission request `name` unless it is open, and wait until a decision on it is in the event log.

    `policy_decision` contains the request to open. `evaluate` checks the call again. It is called whenever a mode or
    rule changes, because that may decide the request.
    """
    changed = asyncio.Event()

    def on_update(update: JournalUpdate) -> None:
        if _may_decide(update.entry, run.session, name):
            changed.set()

    forget = run.journal.listen(on_update)
    try:
        if isinstance(policy_decision, NeedsApproval) and name not in run.conversation.permissions.requests:
            request = policy_decision.request
            event = PermissionRequested(request, Text(policy_decision.arguments))
            await run.announce(event, name, f"{request.tool}: {request.object}", request.tool)
        while (decision := run.conversation.permissions.decisions.get(name)) is None:
            changed.clear()
            await _decide_by_policy(run, name, await evaluate())
            if name not in run.conversation.permissions.decisions:
                run.needs_user.add(name)
                await changed.wait()
    finally:
        forget()
    return decision


def _may_decide(entry: EventRecord, session: str, name: str) -> bool:
    """Return whether an event decides the request `name`, or changes the mode or rules that may decide it."""
    event = entry.event
    if isinstance(event, PermissionDecided):
        return event.request_id == name or bool(event.rule_ids)
    return isinstance(event, ModeChanged) and entry.session == session


async def _decide_by_policy(run: RunContext, name: str, policy_decision: PolicyDecision | None) -> None:
    """Record the decision if the call no longer needs approval, unless the user's decision is being recorded."""
    if policy_decision is None or isinstance(policy_decision, NeedsApproval) or name in run.claimed:
        return
    reason = policy_decision.reason
    run.claimed.add(name)
    try:
        if isinstance(policy_decision, Allowed):
            await run.record(PermissionDecided(name, True, decided_by=reason))
        else:
            await run.record(PermissionDecided(name, False, reason=Text(reason), decided_by="Journeyman"))
    finally:
        run.claimed.discard(name)


async def _recheck(review: _CallUnderReview) -> PermittedCall | CallRefused:
    """Evaluate a call again after the user has approved it.

    Refuse it if a rule now denies it, or if the call needs approval for more than the user was shown.
    """
    match await review.evaluate():
        case Denied(reason=reason, rule_id=rule):
            return review.refused(reason, rule)
        case NeedsApproval(request=request):
            if is_stale(review.run.conversation.permissions.requests[review.name], request):
                return review.refused(STALE_APPROVAL.text_for_model())
            return review.permitted(_approved_grant(request))
        case Allowed(argv=argv, read_only=read_only):
            return review.permitted(CallGrant(argv=argv, read_only=read_only))
        case None:
            return review.permitted()


def refusal_text(decision: PermissionDecided) -> str:
    """Return the message to the model with the reason why its call was refused."""
    if decision.decided_by != "user":
        return decision.reason.head
    reason = decision.reason.head
    return DENIED_WITH_REASON.text_for_model(reason) if reason else DENIED.text_for_model()
