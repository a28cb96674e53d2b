"""A person's word, as the engine takes it: answers, consents, modes, rules, and whether a folder is trusted."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from core.domain.consent import OpenConsent, Scope
from core.domain.events import RunInterrupted
from core.domain.modes import Mode
from core.domain.question import Answer
from core.domain.sessions import SessionRow
from core.engine.consents import Consents
from core.engine.doubt import Doubt
from core.engine.runs import Runs
from core.engine.sight import Sight
from core.engine.skills import Skills
from core.engine.trust import FolderTrust, brought, look, trust
from core.store.rule_book import Book
from core.workspace.paths import workspace


class Deciding(Sight):
    """The part of the engine that hears what a person decides."""

    skills: Skills
    _runs: Runs
    _consents: Consents

    async def answer(self, question: str, answer: Answer, *, go_on: bool = False) -> str:
        """Answer a question; the session it belongs to. With `go_on` a run that a restart left waiting is resumed."""
        return await self._gone_on(await self._runs.answers.answer(question, answer), go_on)

    async def hold(self, question: str) -> None:
        """Somebody begins to answer: it does not run out of time any more."""
        await self._runs.answers.hold(question)

    async def _gone_on(self, session: str, go_on: bool) -> str:
        if go_on and not self._runs.going(root := self._runs.children.root(session)):
            try:
                await self._runs.resume(root)
            except Doubt:  # it was asked in the middle of a call: the person has to say first what becomes of that
                calls = tuple(await self._runs.doubted(root))
                await self._journal.append(root, RunInterrupted("Journeyman ended while the call was going.", calls))
        return session

    def consents(self) -> list[tuple[SessionRow, OpenConsent]]:
        """The requests that wait for a word, the oldest first."""
        return [(self.session(each.session), each) for each in self._reader.consents()]

    async def allow(
        self, request: str, scope: Scope = "once", patterns: Sequence[str] = (), *, like: bool = False,
        go_on: bool = False,
    ) -> str:  # fmt: skip
        """Let a call happen; the session. Any scope but *once* remembers `patterns`, which the request must offer.

        With `like` every waiting request of the session that is alike is allowed too. With `go_on` a run that a restart
        left waiting is resumed.
        """
        return await self._gone_on(await self._consents.allow(request, scope, patterns, like=like), go_on)

    async def deny(self, request: str, reason: str = "", *, like: bool = False, go_on: bool = False) -> str:
        """Refuse a call; the session. The model reads the reason."""
        return await self._gone_on(await self._consents.deny(request, reason, like=like), go_on)

    async def choose(self, request: str, option: str, *, go_on: bool = False) -> str:
        """Answer with one of the words that an agent of others offers; the session."""
        return await self._gone_on(await self._consents.choose(request, option), go_on)

    async def set_mode(self, session: str, mode: Mode) -> None:
        """How much the session asks from now on; it also decides what waits."""
        await self._consents.set_mode(session, mode)

    def rules(self) -> Book:
        """The rules that hold, or why they cannot be read."""
        return self._book.read()

    async def folder_trust(self, folder: Path) -> FolderTrust:
        """Whether the person trusts the folder, and what it brings along."""
        return await asyncio.to_thread(look, self._book.read(), workspace(folder))

    async def trust(self, folder: Path, trusted: bool = True, by: str = "person") -> None:
        """Obey what the folder brings along, or take its files for words of strangers. `revoke` takes it back."""
        place = workspace(folder)
        await trust(self._book, str(place), trusted, await asyncio.to_thread(brought, place), by)
        if not trusted:
            await self.skills.distrust_folder(place)

    async def revoke(self, rule: str) -> str:
        """Take a rule back; what it said."""
        return await self._book.revoke(rule)
