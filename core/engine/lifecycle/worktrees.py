"""Starts sessions in git worktrees, and lists and removes those worktrees."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from core.domain.events import SessionEvent
from core.domain.problems import Problem
from core.domain.session_metadata import initial_title
from core.domain.sessions import SessionRow
from core.domain.worktree import Worktree
from core.engine.policy.trust import copy_trust, revoke_folder, trust_decision
from core.store.rule_store import RuleStore
from core.workspace.threads import run_to_completion
from core.workspace.worktrees import create_worktree, list_worktrees, remove_worktree, repository_root

StartInWorktree = Callable[[Path, tuple[SessionEvent, ...]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class WorktreeSessions:
    """A worktree and the sessions that work in it."""

    tree: Worktree
    sessions: tuple[SessionRow, ...]


class Worktrees:
    """Manages git worktrees. `sessions` returns all sessions; `is_active` returns whether a session is active."""

    def __init__(
        self, rule_store: RuleStore, sessions: Callable[[], list[SessionRow]], is_active: Callable[[str], bool]
    ) -> None:
        self._rule_store = rule_store
        self._sessions = sessions
        self._is_active = is_active

    async def start(self, task: str, folder: Path, begin: StartInWorktree) -> str:
        """Start a session in a new worktree with the folder's trust. If that fails, the worktree is removed."""
        trust = trust_decision(self._rule_store.current(), str(folder))
        if trust is False:
            cause = "Git would run commands from the repository's settings."
            raise Problem("You do not trust this folder.", cause, "Trust the folder, or work without a worktree.")
        event, session_folder = await run_to_completion(
            create_worktree, folder, initial_title(task), follow_settings=trust is True
        )
        try:
            await copy_trust(self._rule_store, str(folder), str(session_folder))
            return await begin(session_folder, (event,))
        except BaseException:
            await self._remove(Worktree(event.repository, event.folder, event.branch), discard=True)
            raise

    async def in_repository(self, folder: Path) -> list[WorktreeSessions]:
        """List the worktrees of the repository that contains the folder."""
        trees = await asyncio.to_thread(lambda: list_worktrees(repository_root(folder)))
        rows = self._sessions()
        return [
            WorktreeSessions(tree, tuple(row for row in rows if Path(row.folder).is_relative_to(tree.folder)))
            for tree in trees
        ]

    async def remove(self, folder: Path, name: str, *, discard: bool = False) -> Worktree:
        """Remove the worktree whose branch name ends with `name`.

        Raise Problem if a session is active in it, or if work would be lost and `discard` is False.
        """
        matches = [
            worktree for worktree in await self.in_repository(folder) if name and worktree.tree.branch.endswith(name)
        ]
        if len(matches) != 1:
            fix = "List them with `journeyman worktree`."
            raise Problem(f"There is no worktree {name!r} in this repository.", "", fix)
        if active := [row.id for row in matches[0].sessions if self._is_active(row.id)]:
            raise Problem(f"Session {active[0]} is active in this worktree.", "", "Stop it first.")
        await self._remove(matches[0].tree, discard=discard)
        return matches[0].tree

    async def _remove(self, tree: Worktree, *, discard: bool) -> None:
        await run_to_completion(remove_worktree, tree, discard=discard)
        await revoke_folder(self._rule_store, tree.folder)
