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
from core.engine.policy.imported_sessions import refuse_imported
from core.engine.policy.policy import rules_from_approval
from core.engine.state.unresolved_calls import UNFINISHED
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.rule_store import RuleStore, new_rule_id


class Approvals:
    """Records decisions as events. The waiting run picks them up in `permission.await_approval`.

    `claimed` holds the IDs of the requests that are being decided right now: by the user in this class, or by a mode
    or a rule in `permission`.
    """

    def __init__(
        self, journal: Journal, reader: Reader, book: RuleStore, claimed: set[str], clock: Clock = now
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._book = book
        self._claimed = claimed
        self._clock = clock

    async def allow(
        self, request: str, scope: RuleScope, patterns: Sequence[str], *, include_similar: bool = False
    ) -> str:
        """Approve a request and return its session.

        Any scope other than "once" saves a rule for each of `patterns`. With `include_similar`, similar open requests
        of the session are approved as well.
        """
        opened = self._open_request(request)
        rules = self._rules(opened, scope, patterns)
        patterns_saved = "\n".join(rule.pattern for rule in rules)
        ids = tuple(rule.id for rule in rules)
        return await self._decide(
            opened,
            include_similar,
            rules,
            lambda name: PermissionDecided(name, True, scope, patterns_saved, rule_ids=ids),
        )

    async def deny(self, request: str, reason: str, *, include_similar: bool = False) -> str:
        """Deny a request, with a reason that the model reads, and return its session."""
        opened = self._open_request(request)
        return await self._decide(
            opened, include_similar, (), lambda name: PermissionDecided(name, False, reason=Text(reason))
        )

    async def choose(self, request: str, option: str) -> str:
        """Decide a request of an external agent with one of the options it offers, and return its session.

        The agent defines whether an option also applies to later calls.
        """
        opened = self._open_request(request)
        found = next((one for one in opened.request.options if one.id == option), None)
        if found is None:
            names = ", ".join(one.id for one in opened.request.options)
            raise Problem(f"The request has no option {option!r}.", f"Its options are: {names or 'none'}.", "")
        return await self._decide(
            opened, False, (), lambda name: PermissionDecided(name, found.allows, option_id=found.id)
        )

    async def set_mode(self, session: str, mode: Mode) -> None:
        """Set the permission mode of a session and of its unfinished sub-agents. Their runs recheck open requests."""
        if mode not in MODES:
            raise Problem(f"There is no mode {mode!r}.", "", f"The modes are: {', '.join(MODES)}.")
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        refuse_imported(row)
        if row.mode != mode:
            await self._journal.append(session, ModeChanged(mode))
        for child in self._reader.children(session):
            if child.status in UNFINISHED:
                await self.set_mode(child.id, mode)

    async def _decide(
        self,
        opened: PendingPermissionRequest,
        include_similar: bool,
        rules: Sequence[PermissionRule],
        decision: Callable[[str], SessionEvent],
    ) -> str:
        """Save the rules, then record the decisions.

        If Journeyman crashes in between, the saved rules allow the request, which is still open, after the restart.
        """
        names = [opened.request.id, *(self._similar_requests(opened) if include_similar else ())]
        self._claimed.update(names)
        try:
            if rules:
                await self._book.add(rules)
            await self._journal.append(opened.session, *map(decision, names))
        finally:
            self._claimed.difference_update(names)
        return opened.session

    def _open_request(self, request: str) -> PendingPermissionRequest:
        opened = None if request in self._claimed else self._reader.permission_request(request)
        if opened is None:
            raise Problem(
                f"The request {request} is not open.",
                "It has already been decided, or its run has ended.",
                "List the open requests with `journeyman pending`.",
            )
        return opened

    def _similar_requests(self, opened: PendingPermissionRequest) -> list[str]:
        others = [each.request for each in self._reader.permission_requests() if each.session == opened.session]
        return [
            other.id
            for other in others
            if other.id != opened.request.id
            and other.id not in self._claimed
            and can_be_answered_together(opened.request, other)
        ]

    def _rules(
        self, opened: PendingPermissionRequest, scope: RuleScope, patterns: Sequence[str]
    ) -> list[PermissionRule]:
        row = self._reader.session(opened.session)
        run = run_id(opened.session, row.runs if row else 0)
        return rules_from_approval(opened.request, scope, patterns, run, new_rule_id, self._clock())
