"""Finds git folders: those nested in one, such as of submodules, and those in a folder in which commands run."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from core.domain.sensitive_paths import LARGE_IN_GIT
from core.workspace.git_branch import worktree_git_folders

MAX_GIT_FOLDERS = 200  # in one git folder, itself included
OBJECTS = "objects"
# Folders in the git folder of a repository that contain no further git folder.
_OWN_IN_GIT = frozenset({"hooks", "info", "branches"})
# Folders of installed packages and build results, whose repositories are not kept.
_DERIVED = frozenset({"node_modules", ".venv", "venv", "target", ".tox"})


class GitFolder(NamedTuple):
    """A git folder, as a folder that no command can move and a path in it."""

    base: Path
    path: str


def git_folders(root: Path) -> list[Path]:
    """Return a git folder, the git folders of its submodules at any depth, and the folders in between."""
    folders, waiting = [root], [root / "modules"]
    while waiting and len(folders) < MAX_GIT_FOLDERS:
        folder = waiting.pop()
        if folder.is_symlink() or not folder.is_dir():
            continue
        folders.append(folder)
        skipped = _OWN_IN_GIT if (folder / "HEAD").exists() else frozenset()
        waiting += sorted(each for each in folder.iterdir() if each.name not in LARGE_IN_GIT | skipped)
    return folders


def kept_git_folders(folder: Path, git_places: Iterable[str]) -> Iterator[GitFolder]:
    """Yield the git folders whose history is kept.

    `folder` is the resolved folder of the session, and `git_places` are the paths of `.git` folders and files in it.
    The repository of a linked worktree comes first, because commands could create any number of further folders.
    """
    if worktree := worktree_git_folders(folder):
        yield GitFolder(base=worktree.common.parent, path=worktree.common.name)
    for place in sorted(git_places, key=lambda name: name.count("/")):
        if _DERIVED.isdisjoint(place.split("/")) and (folder / place).is_dir():
            for git in git_folders(folder / place):
                if (git / OBJECTS).is_dir():
                    yield GitFolder(base=folder, path=git.relative_to(folder).as_posix())
