"""Starts sessions in git worktrees, and lists and removes those worktrees."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from core.domain.events import SessionEvent
from core.domain.problems import Problem
from core.domain.session_metadata import initial_title
from core.domain.sessions import SessionRow
from core.domain.worktree import Worktree, WorktreeCreated
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
    """Manages git worktrees. `sessions` returns all sessions; `going` returns whether a session is active."""

    def __init__(self, book: RuleStore, sessions: Callable[[], list[SessionRow]], going: Callable[[str], bool]) -> None:
        self._book = book
        self._sessions = sessions
        self._going = going

    async def start(self, task: str, folder: Path, begin: StartInWorktree) -> str:
        """Start a session in a new worktree with the folder's trust. If that fails, the worktree is removed."""
        if trust_decision(self._book.current(), str(folder)) is False:
            do = "Trust the folder, or work without a worktree."
            raise Problem("You do not trust this folder.", "Git would run commands from the repository's settings.", do)
        made, inside = await run_to_completion(create_worktree, folder, initial_title(task))
        try:
            await copy_trust(self._book, str(folder), str(inside))
            return await begin(inside, (made,))
        except BaseException:
            await self._drop(_tree(made), lose=True)
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
        found = [each for each in await self.in_repository(folder) if name and each.tree.branch.endswith(name)]
        if len(found) != 1:
            do = "List them with `journeyman worktree`."
            raise Problem(f"There is no worktree {name!r} in this repository.", "", do)
        if going := [row.id for row in found[0].sessions if self._going(row.id)]:
            raise Problem(f"Session {going[0]} is active in this worktree.", "", "Stop it first.")
        await self._drop(found[0].tree, lose=discard)
        return found[0].tree

    async def _drop(self, tree: Worktree, *, lose: bool) -> None:
        await run_to_completion(remove_worktree, tree, discard=lose)
        await revoke_folder(self._book, tree.folder)


def _tree(made: WorktreeCreated) -> Worktree:
    return Worktree(made.repository, made.folder, made.branch)
