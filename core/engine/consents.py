"""A person's word: on calls that wait, and on how much a session asks."""

from collections.abc import Callable, Sequence

from core.domain.clock import Clock, now
from core.domain.consent import ConsentGiven, ModeSet, OpenConsent, Scope, alike
from core.domain.events import RunEvent
from core.domain.ids import run_id
from core.domain.modes import MODES, Mode
from core.domain.problems import Problem
from core.domain.rules import Rule
from core.domain.text import Text
from core.engine.consent import rules_of
from core.engine.doubt import GOES_ON
from core.engine.imported import refuse_imported
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.rule_book import RuleBook, new_rule_id


class Consents:
    """Makes words into facts. The run that waits hears them in its journal, as it hears answers.

    `claimed` are requests that somebody is about to decide: a person here, or a mode or a rule in the run itself.
    """

    def __init__(self, journal: Journal, reader: Reader, book: RuleBook, claimed: set[str], clock: Clock = now) -> None:
        self._journal = journal
        self._reader = reader
        self._book = book
        self._claimed = claimed
        self._clock = clock

    async def allow(self, request: str, scope: Scope, patterns: Sequence[str], *, like: bool = False) -> str:
        """Yes; the session. A scope remembers it for these patterns; with `like` it is said to like requests too."""
        opened = self._opened(request)
        rules = self._rules(opened, scope, patterns)
        told = "\n".join(rule.pattern for rule in rules)
        ids = tuple(rule.id for rule in rules)
        return await self._decide(opened, like, rules, lambda name: ConsentGiven(name, True, scope, told, rules=ids))

    async def deny(self, request: str, reason: str, *, like: bool = False) -> str:
        """No, with a reason that the model reads; the session."""
        opened = self._opened(request)
        return await self._decide(opened, like, (), lambda name: ConsentGiven(name, False, reason=Text(reason)))

    async def choose(self, request: str, option: str) -> str:
        """One of the words that the agent itself offers; the session. What it means later is the agent's affair."""
        opened = self._opened(request)
        found = next((one for one in opened.request.options if one.id == option), None)
        if found is None:
            names = ", ".join(one.id for one in opened.request.options)
            raise Problem(f"The request has no option {option!r}.", f"It has {names or 'none'}.", "")
        return await self._decide(opened, False, (), lambda name: ConsentGiven(name, found.allows, option=found.id))

    async def set_mode(self, session: str, mode: Mode) -> None:
        """From now on, for what waits as well, and for the sub-agents that work for it."""
        if mode not in MODES:
            raise Problem(f"There is no mode {mode!r}.", "", f"The modes are: {', '.join(MODES)}.")
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        refuse_imported(row)
        if row.mode != mode:
            await self._journal.append(session, ModeSet(mode))
        for child in self._reader.children(session):
            if child.status in GOES_ON:
                await self.set_mode(child.id, mode)

    async def _decide(
        self, opened: OpenConsent, like: bool, rules: Sequence[Rule], word: Callable[[str], RunEvent]
    ) -> str:
        """Rules first: what a crash leaves then is a rule that allows what still waits."""
        names = [opened.request.id, *(self._like(opened) if like else ())]
        self._claimed.update(names)
        try:
            if rules:
                await self._book.add(rules)
            await self._journal.append(opened.session, *map(word, names))
        finally:
            self._claimed.difference_update(names)
        return opened.session

    def _opened(self, request: str) -> OpenConsent:
        opened = None if request in self._claimed else self._reader.consent(request)
        if opened is None:
            raise Problem(
                f"The request {request} is not open.",
                "It was decided already, or its run has ended.",
                "List the open ones with `journeyman questions`.",
            )
        return opened

    def _like(self, opened: OpenConsent) -> list[str]:
        others = [each.request for each in self._reader.consents() if each.session == opened.session]
        return [
            other.id
            for other in others
            if other.id != opened.request.id and other.id not in self._claimed and alike(opened.request, other)
        ]

    def _rules(self, opened: OpenConsent, scope: Scope, patterns: Sequence[str]) -> list[Rule]:
        row = self._reader.session(opened.session)
        run = run_id(opened.session, row.runs if row else 0)
        return rules_of(opened.request, scope, patterns, run, new_rule_id, self._clock())
