"""Read-only queries about sessions, folders and questions."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from core.domain.event_values import InstructionFile
from core.domain.events import EventRecord
from core.domain.problems import Problem
from core.domain.question import Question
from core.domain.search_query import matches_filters, parse_query
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.text import Text
from core.engine.policy.trust import FollowedFiles, followed_files
from core.engine.prompting.instructions import load_instructions
from core.engine.prompting.profiles import AgentProfile, load_profiles
from core.engine.services.slash_commands import SlashCommand, load_commands
from core.store.backup import local_date
from core.store.data_folder import DataFolder
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.rule_store import RuleStore
from core.store.search import SearchHit
from core.workspace.git_branch import current_branch, is_worktree


class OpenQuestion(NamedTuple):
    """A question that waits for the user, and its session."""

    session: SessionRow
    question: Question


class Queries:
    """The read-only methods of the engine."""

    _opened: DataFolder
    _journal: Journal
    _reader: Reader
    _rule_store: RuleStore

    def children(self, session: str) -> list[SessionRow]:
        """Return the sessions of a session's sub-agents, oldest first; `parent_call` is the call that started each."""
        return self._reader.children(session)

    def sessions(self) -> list[SessionRow]:
        return self._reader.sessions()

    def session(self, name: str) -> SessionRow:
        """Return a session by its ID or an unambiguous prefix. Raise Problem if there is no such session."""
        rows = self._reader.sessions_starting_with(name)
        if len(rows) != 1 or not name:
            why = f"{len(rows)} sessions start with this." if rows else ""
            raise Problem(f"There is no session {name!r}.", why, "List them with `journeyman sessions`.")
        return rows[0]

    async def search(self, text: str, limit: int = 100) -> list[SearchHit]:
        """Search all sessions for words, and for filters such as `folder:work` (see `core.domain.search_query`).

        The search runs in a thread with its own connection, so that runs are not blocked.
        """
        query = parse_query(text)

        def search() -> list[SearchHit]:
            reader = self._opened.open_reader()
            try:
                today = local_date()
                matching = [row.id for row in reader.sessions() if matches_filters(query, row, today)]
                return reader.search(query.words, limit, matching if query.filters else None, query.step_kinds)
            finally:
                reader.close()

        return await asyncio.to_thread(search)

    def events(self, session: str, after: int = 0) -> AsyncIterator[EventRecord]:
        return self._journal.read(session, after)

    def read_blob(self, name: str) -> bytes:
        """Return the contents of a blob by its hash."""
        return self._reader.blob(name)

    def full_text(self, text: Text) -> str:
        """Return a text in full, whether it is stored in the event or in a blob."""
        return self._reader.read_text(text)

    def run_opening(self, session: str, run: int) -> list[Step]:
        """Return the messages of a run and its header."""
        return self._reader.run_opening(session, run)

    def timeline_steps(self, session: SessionRow) -> list[Step]:
        return self._reader.steps(session.id, 0, session.rows)

    @property
    def can_write(self) -> bool:
        return self._opened.database is not None

    async def branch(self, folder: str) -> str:
        """Return the git branch checked out in a folder, or "". In a worktree, " · worktree" is appended."""
        branch = await asyncio.to_thread(current_branch, Path(folder))
        return f"{branch} · worktree" if branch and is_worktree(Path(folder)) else branch

    def slash_commands(self, folder: Path) -> dict[str, SlashCommand]:
        """Return the custom slash commands available in this folder, by name."""
        return load_commands(self._opened.path.parent, folder, self._followed(folder))

    def profiles(self) -> dict[str, AgentProfile]:
        """Return the agent profiles that the user has defined, by name."""
        return load_profiles(self._opened.path.parent).profiles

    def invalid_profiles(self) -> dict[str, Problem]:
        """Return the errors of the agent profiles that cannot be used, by name."""
        return load_profiles(self._opened.path.parent).errors

    def instructions(self, folder: Path) -> tuple[InstructionFile, ...]:
        """Return the instruction files that a new run in this folder would use, or not use and why."""
        loaded = load_instructions(folder, self._opened.path.parent, self._followed(folder))
        return tuple(item.file for item in loaded)

    def open_questions(self) -> list[OpenQuestion]:
        """Return the open questions, oldest first."""
        return [OpenQuestion(self.session(asked.session), asked.question) for asked in self._reader.questions()]

    def _followed(self, folder: Path) -> FollowedFiles:
        return followed_files(self._rule_store.current(), folder)
