"""The git branch of a folder, read from its files: no process, no lock, and nothing of the repository is run."""

import os
import stat
from pathlib import Path

HEAD = "ref: refs/heads/"
MOST = 4096
SHORT = 8  # letters of a commit that is on no branch


def branch(folder: Path) -> str:
    """The branch that is checked out, or the start of the commit; empty where no repository is."""
    for place in (folder, *folder.parents):
        try:
            kind = os.lstat(place / ".git").st_mode
        except OSError:
            continue
        if stat.S_ISDIR(kind):
            return _head(place / ".git")
        pointed = small_text(place / ".git").strip()  # of a worktree, or of a module of another repository
        return _head(place / pointed.removeprefix("gitdir:").strip()) if pointed.startswith("gitdir:") else ""
    return ""


def is_worktree(folder: Path) -> bool:
    """Whether the folder is in a linked worktree: its repository is elsewhere."""
    top = next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), folder)
    return "/worktrees/" in Path(small_text(top / ".git").strip()).as_posix()


def _head(repository: Path) -> str:
    said = small_text(repository / "HEAD").strip()
    if said.startswith(HEAD):
        return said.removeprefix(HEAD)
    return said[:SHORT] if all(letter in "0123456789abcdef" for letter in said) else ""


def small_text(path: Path, most: int = MOST) -> str:
    """An ordinary, small file; anything else, a pipe that nobody fills among them, is nothing."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        return os.read(file, most).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(file)
