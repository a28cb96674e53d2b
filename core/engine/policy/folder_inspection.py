"""Inspects a folder for decisions on commands: its secret files, glob matches, symbolic links and git repository."""

import fnmatch
import os
import posixpath
from collections.abc import Iterator, Sequence
from glob import has_magic
from pathlib import Path
from typing import NamedTuple

from core.domain.sensitive_paths import is_git, is_secret
from core.workspace.git_plumbing import is_harmless_file

MAX_MATCHES = 2_000
MAX_LISTED = 2_000  # folders listed to expand one pattern
# Returned when a pattern cannot be expanded: the maximum number of matches, all outside the folder, so that callers
# assume the worst.
ANY_FILES = ("..",) * MAX_MATCHES
# Folders that are not searched for secret files, because they contain published packages.
DEPENDENCIES = frozenset({"node_modules", ".venv", "venv", ".tox", "site-packages"})


def secret_files(folder: Path) -> tuple[str, ...]:
    """Return the paths, relative to the folder, of files and links whose names mark them as secret, such as `.env`."""
    paths: list[str] = []
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_git(name) and name not in DEPENDENCIES]
        relative = os.path.relpath(directory, folder)
        for name in names:
            path = name if relative == "." else f"{relative}/{name}"
            if is_secret(path):
                paths.append(path)
    return tuple(sorted(paths))


def matching_files(folder: Path, pattern: str) -> Sequence[str]:
    """Expand a glob pattern like the shell. Return the paths relative to the folder, MAX_MATCHES at most.

    If more than MAX_LISTED folders would have to be listed, for example because links form a cycle, return the secret
    files and ANY_FILES instead.
    """
    root = str(folder)  # Paths are strings here, because pathlib is much slower for many files.
    paths = ["/" if pattern.startswith("/") else ""]
    listed_count = 0
    for part in filter(None, pattern.split("/")):
        if not has_magic(part):
            paths = [posixpath.join(path, part) for path in paths]
            paths = [path for path in paths if os.path.lexists(posixpath.join(root, path))]
            continue
        listed_count += len(paths)
        if listed_count > MAX_LISTED:
            return (*secret_files(folder), *ANY_FILES)
        paths = [posixpath.join(path, name) for path in paths for name in _matching_names(root, path, part)]
    if pattern.endswith("/"):
        paths = [f"{path}/" for path in paths if posixpath.isdir(posixpath.join(root, path))]
    return tuple(paths[:MAX_MATCHES])


def _matching_names(root: str, path: str, pattern: str) -> list[str]:
    """Return the names in a folder that match a pattern. Hidden names match only if the pattern begins with a dot."""
    try:
        names = fnmatch.filter(os.listdir(posixpath.join(root, path)), pattern)  # noqa: PTH208 - much faster
    except OSError:
        return []
    return names if pattern.startswith(".") else [name for name in names if not name.startswith(".")]


def leads_outside(folder: Path, path: str) -> bool:
    """Return whether a path, with its links resolved, is outside the folder."""
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(folder / path)]) != root


def outside_links(folder: Path) -> tuple[str, ...]:
    """Return the paths, relative to the folder, of the symbolic links in it whose targets are outside."""
    root = os.path.realpath(folder)
    return tuple(link.path for link in _links(root) if os.path.commonpath([root, link.target]) != root)


def inner_links(folder: Path) -> dict[str, str]:
    """Return the symbolic links in a folder whose targets are inside, as link → target, relative to the folder."""
    root = os.path.realpath(folder)
    inside = (link for link in _links(root, skip_git=True) if os.path.commonpath([root, link.target]) == root)
    return {link.path: os.path.relpath(link.target, root) for link in inside}


class _Link(NamedTuple):
    """A symbolic link: its path relative to the folder, and its absolute target."""

    path: str
    target: str


def _links(root: str, *, skip_git: bool = False) -> Iterator[_Link]:
    """Yield the symbolic links in a folder and its subfolders."""
    for directory, folders, names in os.walk(root):
        if skip_git:
            folders[:] = [name for name in folders if not is_git(name)]
        for name in (*folders, *names):
            path = posixpath.join(directory, name)
            if posixpath.islink(path):
                yield _Link(os.path.relpath(path, root), os.path.realpath(path))


def searches_folder(folder: Path) -> bool:
    """Return whether the shell may run a program from the folder by its bare name.

    This is so if PATH contains a folder inside it, or a relative path.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return not all(Path(entry).is_absolute() and leads_outside(folder, entry) for entry in entries)


def has_plain_git(folder: Path) -> bool:
    """Return whether the folder is a repository in which no configuration makes git run a program.

    False if `.git` is a link or a file: the configuration would then be in another folder.
    """
    git = folder / ".git"
    unusual = (git / "commondir", git / "config.worktree", folder / "HEAD", folder / "objects")
    try:
        if git.is_symlink() or not (git / "HEAD").is_file() or any(map(os.path.lexists, unusual)):
            return False
        config = git / "config"
        return not config.is_symlink() and is_harmless_file(config)
    except OSError:
        return False
