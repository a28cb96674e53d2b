"""Reads the git repository, worktree and branch of a folder from the repository's files, without running git."""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from core.workspace.regular_files import open_regular

BRANCH_PREFIX_IN_HEAD = "ref: refs/heads/"
MAX_SMALL_TEXT = 4096  # bytes
SHORT_HASH = 8  # characters to show of the commit hash of a detached HEAD


class EnclosingRepository(NamedTuple):
    """The repository that contains a folder."""

    top: Path
    git_folder: Path


class WorktreeGitFolders(NamedTuple):
    """The git folder of a linked worktree, and the common one, which all worktrees of the repository share."""

    own: Path
    common: Path


def current_branch(folder: Path) -> str:
    """Return the current branch, the abbreviated commit hash if HEAD is detached, or "" outside a repository."""
    repository = enclosing_repository(folder)
    return _checked_out(repository.git_folder) if repository else ""


def enclosing_repository(folder: Path) -> EnclosingRepository | None:
    """Return the repository that contains a folder; None outside a repository."""
    for parent in (folder, *folder.parents):
        try:
            kind = os.lstat(parent / ".git").st_mode
        except OSError:
            continue
        if stat.S_ISDIR(kind):
            return EnclosingRepository(top=parent, git_folder=parent / ".git")
        # In a worktree or submodule, `.git` is a file with "gitdir: PATH".
        pointer = read_small_text(parent / ".git").strip()
        if not pointer.startswith("gitdir:"):
            return None
        return EnclosingRepository(top=parent, git_folder=parent / pointer.removeprefix("gitdir:").strip())
    return None


def is_worktree(folder: Path) -> bool:
    """Return whether the folder is in a linked worktree."""
    top = next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)
    return "/worktrees/" in Path(read_small_text(top / ".git").strip()).as_posix()


def worktree_git_folders(folder: Path) -> WorktreeGitFolders | None:
    """Return the git folders of a linked worktree.

    Return None if the folder is not the top of a worktree, or if the git folder does not point back to it.
    """
    try:
        pointer = read_small_text(folder / ".git").strip()
        own = (folder / pointer.removeprefix("gitdir: ")).resolve()
        backlink = Path(read_small_text(own / "gitdir").strip())
        common = (own / read_small_text(own / "commondir").strip()).resolve()
        leads_back = backlink.resolve() == (folder / ".git").resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    if not pointer.startswith("gitdir: ") or not leads_back:
        return None
    if own.parent != common / "worktrees":  # else a crafted file could name any folder with `objects`
        return None
    is_repository = (common / "objects").is_dir() and (common / "HEAD").is_file()
    return WorktreeGitFolders(own=own, common=common) if is_repository else None


def _checked_out(git_folder: Path) -> str:
    """Return the branch in the HEAD of a git folder, or the abbreviated commit hash, or "" if HEAD is invalid."""
    head = read_small_text(git_folder / "HEAD").strip()
    if head.startswith(BRANCH_PREFIX_IN_HEAD):
        return head.removeprefix(BRANCH_PREFIX_IN_HEAD)
    is_hash = all(character in "0123456789abcdef" for character in head)
    return head[:SHORT_HASH] if is_hash else ""


def read_small_text(path: Path, limit: int = MAX_SMALL_TEXT) -> str:
    """Return the first `limit` bytes of a regular file as text; "" if it cannot be read or is not a regular file."""
    with contextlib.suppress(OSError), open(open_regular(path), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(limit).decode("utf-8", "replace")
    return ""
