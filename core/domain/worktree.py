"""A git worktree of a session: a folder of its own, on a branch of its own."""

from dataclasses import dataclass

PREFIX = "journeyman/"  # of the branches


@dataclass(frozen=True, slots=True)
class WorktreeMade:
    """The session works beside `repository`, in a worktree on a new branch that began at the commit `base`."""

    repository: str
    folder: str
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class Worktree:
    """One that is there. `changed` are files that are in no commit, `ahead` commits that the repository has not got."""

    repository: str
    folder: str
    branch: str
    changed: int = 0
    ahead: int = 0


def notice_of(made: WorktreeMade) -> str:
    """The row of such a beginning."""
    words = f"works in a git worktree of {made.repository}, on the new branch {made.branch} from {made.base[:8]}"
    return f"{words}. It is kept: `git merge {made.branch}` takes it over, `journeyman worktree remove` removes it"
