"""The git repository, worktree and branch of a folder, read from the files of the repository without running git."""

import contextlib
import os
import stat
from pathlib import Path

from core.workspace.regular_files import open_regular

HEAD = "ref: refs/heads/"
MOST = 4096
SHORT = 8  # characters of the hash of a detached commit


def current_branch(folder: Path) -> str:
    """Return the current branch, or the start of the commit hash if it is detached; "" without a repository."""
    repository = enclosing_repository(folder)
    return _head(repository[1]) if repository else ""


def enclosing_repository(folder: Path) -> tuple[Path, Path] | None:
    """Return the top folder of the repository that a folder is in, and its git folder; None without a repository."""
    for parent in (folder, *folder.parents):
        try:
            kind = os.lstat(parent / ".git").st_mode
        except OSError:
            continue
        if stat.S_ISDIR(kind):
            return parent, parent / ".git"
        pointer = read_small_text(parent / ".git").strip()  # in a worktree or a submodule, `.git` is a file
        path = pointer.removeprefix("gitdir:").strip()
        return (parent, parent / path) if pointer.startswith("gitdir:") else None
    return None


def is_worktree(folder: Path) -> bool:
    """Return whether the folder is in a linked worktree."""
    top = next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)
    return "/worktrees/" in Path(read_small_text(top / ".git").strip()).as_posix()


def worktree_git_folders(folder: Path) -> tuple[Path, Path] | None:
    """Return the git folder of a linked worktree and the common one; None unless these point back to it."""
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
    if own.parent != common / "worktrees":  # otherwise any parent folder that contains `objects` would be opened
        return None
    return (own, common) if (common / "objects").is_dir() and (common / "HEAD").is_file() else None


def _head(repository: Path) -> str:
    head = read_small_text(repository / "HEAD").strip()
    if head.startswith(HEAD):
        return head.removeprefix(HEAD)
    return head[:SHORT] if all(letter in "0123456789abcdef" for letter in head) else ""


def read_small_text(path: Path, limit: int = MOST) -> str:
    """Return the text at the start of a regular file; "" for anything else."""
    with contextlib.suppress(OSError), open(open_regular(path), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(limit).decode("utf-8", "replace")
    return ""
