"""Git worktrees of sessions: separate folders, each with its own branch."""

from dataclasses import dataclass

BRANCH_PREFIX = "journeyman/"  # prefix of the branch names


@dataclass(frozen=True, slots=True)
class WorktreeCreated:
    """A git worktree was created for the session, on the new branch `branch`, which starts at `base_commit`."""

    repository: str
    folder: str
    branch: str
    base_commit: str


@dataclass(frozen=True, slots=True)
class Worktree:
    """An existing worktree.

    `changed_files` counts files with uncommitted changes; None if git was not run, because a running command could
    change what git executes. `commits_ahead` counts the commits that the branch checked out in the main work tree
    lacks.
    """

    repository: str
    folder: str
    branch: str
    changed_files: int | None = 0
    commits_ahead: int = 0


def worktree_notice(event: WorktreeCreated) -> str:
    """Return the timeline text for a new worktree."""
    description = (
        f"works in a git worktree of {event.repository}, on the new branch {event.branch} from {event.base_commit[:8]}"
    )
    return f"{description}. It is kept: “git merge {event.branch}” merges it, “journeyman worktree remove” removes it"
