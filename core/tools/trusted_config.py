"""Determines the contents to restore in a trusted configuration file after a command that was not allowed to change it.

Trusted files are those whose contents other programs act on: the configuration and hooks of git, editors and shells.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from core.domain.git_config import is_harmless
from core.domain.problems import Problem
from core.domain.sensitive_paths import is_read_only, path_in_git
from core.tools.expected_git_files import ExpectedContents, expected_in_git, is_gone
from core.tools.tool_context import ToolContext
from core.workspace.broker import FileBroker
from core.workspace.folder_listing import inside_git
from core.workspace.folder_scan import ScannedChange
from core.workspace.git_branch import worktree_git_folders
from core.workspace.trusted_places import COMMONDIR, CONFIG_FILES


def expected_contents(context: ToolContext, change: ScannedChange) -> ExpectedContents:
    """Return the contents that the file should have: "as it is", other contents, or None for no file."""
    broker, path = context.broker, PurePosixPath(change.path)
    if inner_path := _in_git(broker, path):
        return expected_in_git(inner_path, change)
    if path.name == ".git":
        return "as it is" if is_gone(change) or _is_worktree(broker.folder, path.parent) else change.before
    if path.name == "HEAD":
        return "as it is" if is_gone(change) or _is_plain(broker, path.parent) else change.before
    return change.before if context.scan.is_trusted(change.path) else "as it is"


def is_trusted(context: ToolContext, path: str) -> bool:
    """Return whether other programs act on this path, also if it belongs to a repository of any name."""
    name = PurePosixPath(path)
    try:
        inner_path = _in_git(context.broker, name)
        return context.scan.is_trusted(path) or bool(inner_path) or (name.name == "HEAD" and not inside_git(path))
    except (Problem, ValueError):  # it cannot be examined
        return True


def moved_unchanged(changes: Iterable[ScannedChange], had_folder: Callable[[str], bool]) -> set[str]:
    """Return the old and new paths of files that were moved with their folder, unchanged.

    The folder must be new, and must come from a single one: otherwise, other programs would begin to act on a file, as
    git does on a `config` once its folder has a `HEAD`.
    """
    removed: dict[tuple[str, bytes], str] = {}
    moves: dict[str, list[tuple[str, str]]] = {}  # by the new folder: the old and the new path of each file
    removed_first = sorted(changes, key=lambda change: change.before is None)
    for change in removed_first:
        body = change.before if change.after is None else change.after
        if body is None or (change.before is not None and change.after is not None):
            continue
        tail = _tail(change.path)
        key = (tail, body)
        if change.after is None:
            removed[key] = change.path
        elif key in removed and (folder := change.path.removesuffix(tail).rstrip("/")) and not had_folder(folder):
            moves.setdefault(folder, []).append((removed[key], change.path))
    return {
        path
        for pairs in moves.values()
        if len({old.removesuffix(_tail(old)) for old, _ in pairs}) == 1
        for pair in pairs
        for path in pair
    }


def _tail(path: str) -> str:
    """Return the part of a path by which other programs recognize the file."""
    parts = path.split("/")
    leaf = len(parts) - (2 if parts[-2:-1] == ["hooks"] else 1)
    index = next((index for index in range(len(parts)) if is_read_only("/".join(parts[: index + 1]))), leaf)
    return "/".join(parts[index:])


def _in_git(broker: FileBroker, path: PurePosixPath) -> str:
    """Return the path within its git folder, or "" if it is not in one.

    A git folder may have any name: git treats every folder with a HEAD as one.
    """
    if inner_path := path_in_git(str(path)):
        return inner_path
    base = path.parent.parent if path.parent.name == "hooks" else path.parent
    if path.name not in (*CONFIG_FILES, COMMONDIR, "hooks") and base == path.parent:
        return ""
    return str(path.relative_to(base)) if broker.stat(f"{base}/HEAD") else ""


def _is_worktree(folder: Path, inner: PurePosixPath) -> bool:
    """Return whether this `.git` file leads to the repository of the workspace, as that of a worktree does."""
    of_folder, of_worktree = worktree_git_folders(folder), worktree_git_folders(folder / inner)
    common = of_folder[1] if of_folder else Path(os.path.realpath(folder), ".git")
    return of_worktree is not None and of_worktree[1] == common


def _is_plain(broker: FileBroker, folder: PurePosixPath) -> bool:
    """Return whether the folder, read as a repository, has no configuration or hook that makes git run a program.

    Links count as one, because what they lead to can change without a change in the folder.
    """
    try:
        kinds = dict(broker.entries(str(folder)))
        hooks = broker.entries(f"{folder}/hooks") if kinds.get("hooks") == "folder" else []
        configs = [broker.read(f"{folder}/{name}") for name in CONFIG_FILES if kinds.get(name) == "file"]
    except Problem:
        return False
    usual = {"hooks": "folder", **dict.fromkeys(CONFIG_FILES, "file")}
    return (
        COMMONDIR not in kinds
        and all(kinds.get(name, kind) == kind for name, kind in usual.items())
        and all(is_harmless(config.decode("utf-8", "replace")) for config in configs)
        and all(name.endswith(".sample") for name, _ in hooks)
    )
