"""Decides how to revert a trusted configuration file after a command that was not allowed to change it.

Trusted files are those whose contents other programs act on: the configuration and hooks of git, editors and shells.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from core.domain.git_config import is_harmless
from core.domain.problems import Problem
from core.domain.sensitive_paths import is_read_only, path_in_git
from core.tools.git_file_reverts import FileRevert, is_gone, required_git_revert
from core.tools.tool_context import ToolContext
from core.workspace.broker import FileBroker
from core.workspace.file_change import FileChange
from core.workspace.folder_listing import inside_git
from core.workspace.git_branch import worktree_git_folders
from core.workspace.trusted_places import COMMONDIR, CONFIG_FILES, REMOTE_FOLDERS


class _Move(NamedTuple):
    """The old and the new path of a moved file."""

    old: str
    new: str


def required_revert(context: ToolContext, change: FileChange) -> FileRevert | None:
    """Return how to revert a changed file; None if the change is harmless."""
    broker = context.broker
    path = PurePosixPath(change.path)
    if inner_path := _in_git(broker, path):
        if is_gone(change) and path.name in CONFIG_FILES and not _exists(broker, path.parent / "HEAD"):
            return None  # its git folder is gone, too
        return required_git_revert(broker, inner_path, change)
    if path.name == ".git":
        is_harmless_change = is_gone(change) or _is_worktree(broker.folder, path.parent)
    elif path.name == "HEAD":
        is_harmless_change = is_gone(change) or _is_plain(broker, path.parent)
    else:
        is_harmless_change = not context.scan.is_trusted(change.path)
    return None if is_harmless_change else FileRevert(change.before)


def is_trusted(context: ToolContext, path: str) -> bool:
    """Return whether other programs act on the file at this path, including files in a git folder of any name."""
    name = PurePosixPath(path)
    try:
        inner_path = _in_git(context.broker, name)
        return context.scan.is_trusted(path) or bool(inner_path) or (name.name == "HEAD" and not inside_git(path))
    except (Problem, ValueError):  # The path cannot be examined, so assume the worst.
        return True


def moved_unchanged(changes: Iterable[FileChange], had_folder: Callable[[str], bool]) -> set[str]:
    """Return the old and new paths of files that were moved unchanged together with their folder.

    The folder must be new, and all of its files must come from one folder. Otherwise, other programs could begin to act
    on a file, as git does on a `config` once there is a `HEAD` next to it.
    """
    changes = list(changes)
    # Old paths, by the end of the path and the contents.
    removed = {
        (_tail(change.path), change.before): change.path
        for change in changes
        if change.before is not None and change.after is None
    }
    moves_by_folder: dict[str, list[_Move]] = {}  # by the new folder
    for change in changes:
        if change.before is not None or change.after is None:
            continue
        tail = _tail(change.path)
        folder = change.path.removesuffix(tail).rstrip("/")
        old_path = removed.get((tail, change.after))
        if old_path is not None and folder and not had_folder(folder):
            moves_by_folder.setdefault(folder, []).append(_Move(old_path, change.path))
    moved: set[str] = set()
    for moves in moves_by_folder.values():
        old_folders = {move.old.removesuffix(_tail(move.old)) for move in moves}
        if len(old_folders) == 1:
            moved.update(path for move in moves for path in move)
    return moved


def _tail(path: str) -> str:
    """Return the end of a path by which other programs recognize a trusted file, such as `hooks/pre-commit`."""
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
    is_in_folder = path.parent.name in REMOTE_FOLDERS or path.parts[-2:] == ("info", "attributes")
    if is_in_folder and "refs" in path.parts:  # a branch with such a name
        return ""
    base = path.parent.parent if is_in_folder or path.parent.name == "hooks" else path.parent
    if path.name not in (*CONFIG_FILES, COMMONDIR, "hooks") and base == path.parent:
        return ""
    return str(path.relative_to(base)) if broker.stat(f"{base}/HEAD") else ""


def _exists(broker: FileBroker, path: PurePosixPath) -> bool:
    try:
        return broker.stat(str(path)) is not None
    except Problem:  # such as a file in place of a folder
        return False


def _is_worktree(folder: Path, subfolder: PurePosixPath) -> bool:
    """Return whether a subfolder is a linked worktree of the workspace's own repository."""
    own_folders = worktree_git_folders(folder)
    common = own_folders.common if own_folders else Path(os.path.realpath(folder), ".git")
    worktree = worktree_git_folders(folder / subfolder)
    return worktree is not None and worktree.common == common


def _is_plain(broker: FileBroker, folder: PurePosixPath) -> bool:
    """Return whether the folder, if git used it as a repository, would not make git run a program.

    Configuration and hooks must be harmless. Symbolic links are not, because their targets can change later.
    """
    try:
        kinds: dict[str, str] = dict(broker.entries(str(folder)))
        hooks = broker.entries(f"{folder}/hooks") if kinds.get("hooks") == "folder" else []
        configs = [broker.read(f"{folder}/{name}") for name in CONFIG_FILES if kinds.get(name) == "file"]
        names_more = "refs" not in folder.parts and _has_remotes_or_attributes(broker, folder, kinds)
    except Problem:
        return False
    usual_kinds = {"hooks": "folder", **dict.fromkeys(CONFIG_FILES, "file")}
    has_usual_kinds = all(kinds.get(name, kind) == kind for name, kind in usual_kinds.items())
    if COMMONDIR in kinds or names_more or not has_usual_kinds:
        return False
    has_harmless_configs = all(is_harmless(config.decode("utf-8", "replace")) for config in configs)
    return has_harmless_configs and all(hook.name.endswith(".sample") for hook in hooks)


def _has_remotes_or_attributes(broker: FileBroker, folder: PurePosixPath, kinds: Mapping[str, str]) -> bool:
    """Return whether a repository has remotes or attributes in files other than its `config`."""
    return (
        "link" in map(kinds.get, ("info", *REMOTE_FOLDERS))
        or broker.stat(f"{folder}/info/attributes") is not None
        or any(broker.entries(f"{folder}/{name}") for name in REMOTE_FOLDERS if kinds.get(name) == "folder")
    )
