"""What the engine tells of sessions, folders and questions, without changing any of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from core.domain.events import Entry
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.problems import Problem
from core.domain.question import Question
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.text import Text
from core.engine.profiles import Profile, profiles
from core.engine.slash import Slash, commands
from core.engine.trust import Obeyed, obeyed
from core.store.journal import Journal
from core.store.opening import Opened
from core.store.reader import Reader
from core.store.rule_book import RuleBook
from core.store.search import Hit
from core.workspace.branch import branch, is_worktree


class Sight:
    """The part of the engine that only looks."""

    _opened: Opened
    _journal: Journal
    _reader: Reader
    _book: RuleBook

    def children(self, session: str) -> list[SessionRow]:
        """The sessions of its sub-agents, in order; `parent_call` names the call of each."""
        return self._reader.children(session)

    def sessions(self) -> list[SessionRow]:
        return self._reader.sessions()

    def session(self, name: str) -> SessionRow:
        """By its id, or by enough of its start."""
        found = self._reader.named(name)
        if len(found) != 1 or not name:
            why = f"{len(found)} sessions begin so." if found else ""
            raise Problem(f"There is no session {name!r}.", why, "List them with `journeyman sessions`.")
        return found[0]

    async def find(self, text: str, limit: int = 100) -> list[Hit]:
        """Search everything that was said, on a connection of its own: a long search must not hold the runs."""

        def search() -> list[Hit]:
            reader = Reader(self._opened.path, frozen=self._opened.frozen)
            try:
                return reader.find(text, limit)
            finally:
                reader.close()

        return await asyncio.to_thread(search)

    def entries(self, session: str, after: int = 0) -> AsyncIterator[Entry]:
        return self._journal.read(session, after)

    def blob(self, name: str) -> bytes:
        """Contents that were kept apart."""
        return self._reader.blob(name)

    def whole(self, text: Text) -> str:
        """A text in full."""
        return self.blob(text.blob).decode("utf-8", "replace") if text.blob else text.head

    def steps(self, session: SessionRow) -> list[Step]:
        """Every row of a session."""
        return self._reader.steps(session.id, 0, session.rows)

    @property
    def can_write(self) -> bool:
        return self._opened.database is not None

    async def branch(self, folder: str) -> str:
        """The git branch that is checked out there, and whether in a worktree; empty where there is none."""
        found = await asyncio.to_thread(branch, Path(folder))
        return f"{found} · worktree" if found and is_worktree(Path(folder)) else found

    def commands(self, folder: Path) -> dict[str, Slash]:
        """What can be typed as `/name` in this folder."""
        return commands(self._opened.path.parent, folder, self._obeyed(folder))

    def agents(self) -> dict[str, Profile]:
        """The agents that a person has described, by name."""
        return profiles(self._opened.path.parent)

    def questions(self) -> list[tuple[SessionRow, Question]]:
        """The open questions, the oldest first."""
        return [(self.session(session), question) for session, question in self._reader.questions()]

    def _obeyed(self, folder: Path, mode: Mode = DEFAULT_MODE) -> Obeyed:
        return obeyed(self._book.now(), folder, mode)
