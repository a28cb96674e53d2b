"""Looks at a folder for a decision: files that hold secrets or match a pattern, and the configuration of git."""

import contextlib
import fnmatch
import os
from collections.abc import Iterator, Sequence
from glob import has_magic
from pathlib import Path

from core.domain.sensitive_paths import is_git, is_secret
from core.workspace.git_plumbing import is_harmless_file

MAX_MATCHES = 2_000
MAX_LISTED = 2_000  # folders
DEPENDENCIES = frozenset({"node_modules", ".venv", "venv", ".tox", "site-packages"})  # files that anyone can download


def secret_files(folder: Path) -> tuple[str, ...]:
    """Return the files and links in a folder whose names say that they hold secrets, relative to the folder."""
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
    """Return the files that the shell would put in the place of a pattern, relative to the folder.

    If too many folders would have to be listed to tell, as links to a folder above allow, return that it may be any.
    """
    root, listed = str(folder), 0
    bases = ["/" if pattern.startswith("/") else ""]
    for part in filter(None, pattern.split("/")):
        matching: list[str] = []
        for base in bases:
            if not has_magic(part):
                path = os.path.join(base, part)  # noqa: PTH118 - text is much faster
                matching += [path] if os.path.lexists(os.path.join(root, path)) else []  # noqa: PTH118 - as above
                continue
            listed += 1
            if listed > MAX_LISTED:
                return (*secret_files(folder), *[".."] * MAX_MATCHES)
            with contextlib.suppress(OSError):
                names = fnmatch.filter(os.listdir(os.path.join(root, base)), part)  # noqa: PTH118, PTH208 - as above
                shown = [name for name in names if part.startswith(".") or not name.startswith(".")]
                matching += [os.path.join(base, name) for name in shown]  # noqa: PTH118 - as above
        bases = matching
    if pattern.endswith("/"):
        bases = [f"{path}/" for path in bases if os.path.isdir(os.path.join(root, path))]  # noqa: PTH112, PTH118 - as above
    return tuple(bases[:MAX_MATCHES])


def leads_outside(folder: Path, path: str) -> bool:
    """Return whether a path in the folder leads out of it through a link."""
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(folder / path)]) != root


def outside_links(folder: Path) -> tuple[str, ...]:
    """Return the links in a folder that lead out of it, relative to the folder."""
    root = os.path.realpath(folder)
    return tuple(path for path, target in _links(root) if os.path.commonpath([root, target]) != root)


def inner_links(folder: Path) -> dict[str, str]:
    """Return the links in a folder to what is in it, each with what it leads to, relative to the folder."""
    root = os.path.realpath(folder)
    links = _links(root, skip_git=True)
    return {path: os.path.relpath(target, root) for path, target in links if os.path.commonpath([root, target]) == root}


def _links(root: str, *, skip_git: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the links in a folder, relative to it, each with the absolute path that it leads to."""
    for directory, folders, names in os.walk(root):
        if skip_git:
            folders[:] = [name for name in folders if not is_git(name)]
        for name in (*folders, *names):
            path = os.path.join(directory, name)  # noqa: PTH118 - much faster for many files
            if os.path.islink(path):  # noqa: PTH114 - as above
                yield os.path.relpath(path, root), os.path.realpath(path)


def searches_folder(folder: Path) -> bool:
    """Return whether the shell also looks for programs in the folder, because PATH names it or depends on it."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return not all(Path(entry).is_absolute() and leads_outside(folder, entry) for entry in entries)


def has_plain_git(folder: Path) -> bool:
    """Return whether the folder is a repository in which no configuration makes git run a program.

    Only the repository's own `.git` folder counts, as one elsewhere could be configured by anybody.
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
