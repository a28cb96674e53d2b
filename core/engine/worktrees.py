"""Sessions that work in a git worktree of their own, and what becomes of these."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from core.domain.events import RunEvent
from core.domain.filing import title_of
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.domain.worktree import Worktree, WorktreeMade
from core.engine.trust import forget, pass_on, trusts
from core.store.rule_book import RuleBook
from core.workspace.thread import to_its_end
from core.workspace.worktree import drop, listed, make, repository

Begin = Callable[[Path, tuple[RunEvent, ...]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Held:
    """A worktree, and the sessions that work in it."""

    tree: Worktree
    sessions: tuple[SessionRow, ...]


class Worktrees:
    """`sessions` are all there are, `going` says whether one of them goes on now."""

    def __init__(self, book: RuleBook, sessions: Callable[[], list[SessionRow]], going: Callable[[str], bool]) -> None:
        self._book = book
        self._sessions = sessions
        self._going = going

    async def start(self, task: str, folder: Path, begin: Begin) -> str:
        """Begin a session in a new worktree. What was said of the folder holds for it too; one that could not begin
        leaves none."""
        if trusts(self._book.now(), str(folder)) is False:
            do = "Trust it, or work without a worktree."
            raise Problem("You do not trust this folder.", "Git would do what its settings say.", do)
        made, inside = await to_its_end(make, folder, title_of(task))
        try:
            await pass_on(self._book, str(folder), str(inside))
            return await begin(inside, (made,))
        except BaseException:
            await self._drop(_tree(made), lose=True)
            raise

    async def of(self, folder: Path) -> list[Held]:
        """The worktrees of the repository that the folder is in."""
        trees = await asyncio.to_thread(lambda: listed(repository(folder)))
        rows = self._sessions()
        return [
            Held(tree, tuple(row for row in rows if Path(row.folder).is_relative_to(tree.folder))) for tree in trees
        ]

    async def remove(self, folder: Path, name: str, *, lose: bool = False) -> Worktree:
        """Remove the one with this branch, or with this end of it."""
        found = [each for each in await self.of(folder) if name and each.tree.branch.endswith(name)]
        if len(found) != 1:
            raise Problem(f"There is no worktree {name!r} of this repository.", "", "See `journeyman worktree list`.")
        if going := [row.id for row in found[0].sessions if self._going(row.id)]:
            raise Problem(f"Session {going[0]} is at work in it.", "", "Stop it first.")
        await self._drop(found[0].tree, lose=lose)
        return found[0].tree

    async def _drop(self, tree: Worktree, *, lose: bool) -> None:
        await to_its_end(drop, tree, lose=lose)
        await forget(self._book, tree.folder)


def _tree(made: WorktreeMade) -> Worktree:
    return Worktree(made.repository, made.folder, made.branch)
