"""Reads the git repository, worktree and branch of a folder from the repository's files, without running git."""

import contextlib
import os
import stat
from pathlib import Path

from core.workspace.regular_files import open_regular

HEAD = "ref: refs/heads/"
MOST = 4096
SHORT = 8  # characters to show of the commit hash of a detached HEAD


def current_branch(folder: Path) -> str:
    """Return the current branch, the abbreviated commit hash if HEAD is detached, or "" outside a repository."""
    repository = enclosing_repository(folder)
    return _head(repository[1]) if repository else ""


def enclosing_repository(folder: Path) -> tuple[Path, Path] | None:
    """Return the top folder and the git folder of the repository that contains a folder; None outside a repository."""
    for parent in (folder, *folder.parents):
        try:
            kind = os.lstat(parent / ".git").st_mode
        except OSError:
            continue
        if stat.S_ISDIR(kind):
            return parent, parent / ".git"
        # In a worktree or submodule, `.git` is a file with "gitdir: PATH".
        pointer = read_small_text(parent / ".git").strip()
        path = pointer.removeprefix("gitdir:").strip()
        return (parent, parent / path) if pointer.startswith("gitdir:") else None
    return None


def is_worktree(folder: Path) -> bool:
    """Return whether the folder is in a linked worktree."""
    top = next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)
    return "/worktrees/" in Path(read_small_text(top / ".git").strip()).as_posix()


def worktree_git_folders(folder: Path) -> tuple[Path, Path] | None:
    """Return the git folder of a linked worktree and the one that all worktrees share.

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
    return (own, common) if (common / "objects").is_dir() and (common / "HEAD").is_file() else None


def _head(repository: Path) -> str:
    head = read_small_text(repository / "HEAD").strip()
    if head.startswith(HEAD):
        return head.removeprefix(HEAD)
    return head[:SHORT] if all(letter in "0123456789abcdef" for letter in head) else ""


def read_small_text(path: Path, limit: int = MOST) -> str:
    """Return the first `limit` bytes of a regular file as text; "" if it cannot be read or is not a regular file."""
    with contextlib.suppress(OSError), open(open_regular(path), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(limit).decode("utf-8", "replace")
    return ""
