"""The user's decisions on permission requests, and on the permission mode of a session."""

from collections.abc import Callable, Sequence

from core.domain.clock import Clock, now
from core.domain.events import SessionEvent
from core.domain.ids import run_id
from core.domain.modes import MODES, Mode
from core.domain.permissions import (
    ModeChanged,
    PendingPermissionRequest,
    PermissionDecided,
    RuleScope,
    can_be_answered_together,
)
from core.domain.problems import Problem
from core.domain.rules import PermissionRule
from core.domain.text import Text
from core.engine.policy.grants import rules_from_approval
from core.engine.policy.imported_sessions import refuse_imported
from core.engine.state.unresolved_calls import UNFINISHED
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.rule_store import RuleStore, new_rule_id
from core.tools.catalogue import read_arguments
from core.tools.editable_argument import edited_arguments


class Approvals:
    """Records decisions as events. The waiting run picks them up in `permission.await_approval`.

    `claimed` holds the IDs of the requests that are being decided right now: by the user in this class, or by a mode
    or a rule in `permission`.
    """

    def __init__(
        self, journal: Journal, reader: Reader, rule_store: RuleStore, claimed: set[str], clock: Clock = now
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._rule_store = rule_store
        self._claimed = claimed
        self._clock = clock

    async def allow(
        self, request: str, scope: RuleScope, patterns: Sequence[str], *, include_similar: bool = False
    ) -> str:
        """Approve a request and return its session.

        Any scope other than "once" saves a rule for each of `patterns`. With `include_similar`, similar open requests
        of the session are approved as well.
        """
        pending = self._open_request(request)
        rules = self._rules(pending, scope, patterns)
        saved_patterns = "\n".join(rule.pattern for rule in rules)
        rule_ids = tuple(rule.id for rule in rules)

        def approval(request_id: str) -> PermissionDecided:
            return PermissionDecided(request_id, True, scope, saved_patterns, rule_ids=rule_ids)

        return await self._decide(pending, approval, rules, include_similar=include_similar)

    async def allow_changed(self, request: str, text: str) -> str:
        """Approve a request once, with the call as the user edited it, and return its session.

        `text` is what `editable_text` returned, edited. Raise Problem if it cannot be used. The waiting run evaluates
        the changed call, and asks again if it needs approval for a reason that the request did not show.
        """
        pending = self._open_request(request)
        if pending.request.options:
            why = "Only the external agent itself can run its call."
            raise Problem("This call cannot be changed.", why, "Deny it with a reason instead.")
        tool = pending.request.tool
        arguments = edited_arguments(tool, pending.arguments, text)
        if arguments:
            read_arguments(tool, arguments, (tool,))
        decision = PermissionDecided(request, True, arguments=Text(arguments))
        return await self._decide(pending, lambda _request_id: decision)

    async def deny(self, request: str, reason: str, *, include_similar: bool = False) -> str:
        """Deny a request, with a reason that the model reads, and return its session."""
        pending = self._open_request(request)

        def denial(request_id: str) -> PermissionDecided:
            return PermissionDecided(request_id, False, reason=Text(reason))

        return await self._decide(pending, denial, include_similar=include_similar)

    async def choose(self, request: str, option: str) -> str:
        """Decide a request of an external agent with one of the options it offers, and return its session.

        The agent defines whether an option also applies to later calls.
        """
        pending = self._open_request(request)
        options = {each.id: each for each in pending.request.options}
        chosen = options.get(option)
        if chosen is None:
            available = ", ".join(options) or "none"
            raise Problem(f"The request has no option {option!r}.", f"Its options are: {available}.", "")

        def decision(request_id: str) -> PermissionDecided:
            return PermissionDecided(request_id, chosen.allows, option_id=chosen.id)

        return await self._decide(pending, decision)

    async def set_mode(self, session: str, mode: Mode) -> None:
        """Set the permission mode of a session and of its unfinished sub-agents. Their runs recheck open requests."""
        if mode not in MODES:
            raise Problem(f"There is no mode {mode!r}.", "", f"The modes are: {', '.join(MODES)}.")
        row = self._reader.require_session(session)
        refuse_imported(row)
        if row.mode != mode:
            await self._journal.append(session, ModeChanged(mode))
        for child in self._reader.children(session):
            if child.status in UNFINISHED:
                await self.set_mode(child.id, mode)

    async def _decide(
        self,
        pending: PendingPermissionRequest,
        decision: Callable[[str], SessionEvent],
        rules: Sequence[PermissionRule] = (),
        *,
        include_similar: bool = False,
    ) -> str:
        """Save the rules, then record the decision that `decision` returns for each request ID.

        If Journeyman crashes in between, the saved rules allow the request, which is still open, after the restart.
        """
        request_ids = [pending.request.id]
        if include_similar:
            request_ids += self._similar_requests(pending)
        self._claimed.update(request_ids)
        try:
            if rules:
                await self._rule_store.add(rules)
            await self._journal.append(pending.session, *map(decision, request_ids))
        finally:
            self._claimed.difference_update(request_ids)
        return pending.session

    def _open_request(self, request: str) -> PendingPermissionRequest:
        pending = None if request in self._claimed else self._reader.permission_request(request)
        if pending is None:
            raise Problem(
                f"The request {request} is not open.",
                "It has already been decided, or its run has ended.",
                "List the open requests with `journeyman pending`.",
            )
        return pending

    def _similar_requests(self, pending: PendingPermissionRequest) -> list[str]:
        """Return the IDs of the session's other open requests that the same decision can answer."""
        requests = [each.request for each in self._reader.permission_requests() if each.session == pending.session]
        return [
            other.id
            for other in requests
            if other.id != pending.request.id
            and other.id not in self._claimed
            and can_be_answered_together(pending.request, other)
        ]

    def _rules(
        self, pending: PendingPermissionRequest, scope: RuleScope, patterns: Sequence[str]
    ) -> list[PermissionRule]:
        row = self._reader.session(pending.session)
        run = run_id(pending.session, row.runs if row else 0)
        return rules_from_approval(pending.request, scope, patterns, run, new_rule_id, self._clock())
