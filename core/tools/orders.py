"""What a file that other programs obey should hold after a command that nobody allowed to write it."""

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Literal

from core.domain.git_settings import is_plain, plain_lines
from core.domain.problems import Problem
from core.domain.sensitive import is_walled
from core.workspace.broker import Broker
from core.workspace.scan import Altered
from core.workspace.toolchains import git_folder_of

SETTINGS = ("config", "config.worktree")
COMMON = "commondir"  # says where the settings of a git folder lie
Wanted = bytes | Literal["as it is"] | None


def wanted(broker: Broker, change: Altered) -> Wanted:
    """What should be there: it may stay as it is, or other contents, or None for nothing."""
    path = PurePosixPath(change.path)
    if inside := _in_git(broker, path):
        return _of_git(inside, change)
    if path.name == ".git":
        return "as it is" if _is_gone(change) or _is_worktree(broker.folder, path.parent) else change.before
    if path.name == "HEAD":
        return "as it is" if _is_gone(change) or _is_plain(broker, path.parent) else change.before
    return change.before if is_walled(change.path) else "as it is"


def moved(changes: Iterable[Altered]) -> set[str]:
    """Files that came along unchanged when a folder was moved, under both names."""
    gone: dict[tuple[str, bytes], str] = {}
    found: set[str] = set()
    every = sorted(changes, key=lambda change: change.before is None)
    for change in every:
        body = change.before if change.after is None else change.after
        if body is None or (change.before is not None and change.after is not None):
            continue
        key = (_tail(change.path), body)
        if change.after is None:
            gone[key] = change.path
        elif key in gone:
            found |= {gone[key], change.path}
    return found


def _tail(path: str) -> str:
    """The part of a path by which other programs know the file."""
    parts = path.split("/")
    at = next((at for at in range(len(parts)) if is_walled("/".join(parts[: at + 1]))), len(parts) - 1)
    return "/".join(parts[at:])


def _in_git(broker: Broker, path: PurePosixPath) -> str:
    """The path within its git folder, also one of another name: git takes any folder with a HEAD for one."""
    _, inside, rest = f"/{path}".rpartition("/.git/")
    if inside:
        return rest
    base = path.parent.parent if path.parent.name == "hooks" else path.parent
    if path.name not in (*SETTINGS, COMMON) and base == path.parent:
        return ""
    return str(path.relative_to(base)) if broker.look(f"{base}/HEAD") else ""


def _of_git(inside: str, change: Altered) -> Wanted:
    name = PurePosixPath(inside).name
    if "hooks/" in inside:
        return "as it is" if name.endswith(".sample") else change.before
    if name == COMMON:
        usual = re.fullmatch(r"worktrees/[^/]+/commondir", inside) and (change.after or b"").strip() == b"../.."
        return "as it is" if usual or _is_gone(change) else change.before
    if name not in SETTINGS or _is_gone(change):
        return "as it is"
    before, after = ((body or b"").decode("utf-8", "replace") for body in (change.before, change.after))
    if change.after is not None and is_plain(after, before):
        return "as it is"
    if change.before is None and change.after is not None:
        return plain_lines(after).encode()
    return change.before


def _is_gone(change: Altered) -> bool:
    """Nothing gives no orders to git."""
    return change.after is None and change.before is not None


def _is_worktree(folder: Path, inner: PurePosixPath) -> bool:
    """Does this `.git` lead to the repository of the folder itself, as that of a worktree does?"""
    of_folder, here = git_folder_of(folder), git_folder_of(folder / inner)
    common = of_folder[1] if of_folder else Path(os.path.realpath(folder), ".git")
    return here is not None and here[1] == common


def _is_plain(broker: Broker, folder: PurePosixPath) -> bool:
    """Would git find no orders in this folder, if it took it for a repository?"""
    try:
        config = broker.read(f"{folder}/config") if broker.look(f"{folder}/config") else b""
        hooks = broker.entries(f"{folder}/hooks") if broker.look(f"{folder}/hooks") else []
        common = broker.look(f"{folder}/{COMMON}")
    except Problem:
        return False
    return is_plain(config.decode("utf-8", "replace")) and not common and all(n.endswith(".sample") for n, _ in hooks)
