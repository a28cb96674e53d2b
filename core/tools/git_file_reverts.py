"""Decides how to revert a file of a git folder after a command that was not allowed to change it."""

import re
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

from core.domain.git_config import harmless_lines, is_harmless
from core.domain.git_config_lines import ENTRY, HEADER
from core.domain.git_destinations import is_harmless_change
from core.domain.problems import Problem
from core.workspace.broker import FileBroker
from core.workspace.file_change import FileChange
from core.workspace.git_references import PACKED
from core.workspace.trusted_places import COMMONDIR, CONFIG_FILES, REBASE_TODO, STRATEGY_FILES, is_remote_file

# The merge strategies built into git. For any other name, git runs the program `git-merge-NAME`.
STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours", "subtree"})
_OWNER_ACCESS = stat.S_IRUSR | stat.S_IWUSR
_EXECUTE_STEP = re.compile(rb"[ \t]*(x|exec)[ \t]")


@dataclass(frozen=True, slots=True)
class FileRevert:
    """The contents with which to replace a changed file; None removes the file."""

    contents: bytes | None


def required_git_revert(broker: FileBroker, inner_path: str, change: FileChange) -> FileRevert | None:
    """Return how to revert a changed file of a git folder; None if the change is harmless.

    `inner_path` is the path within the git folder; that of the change is relative to the folder of the `broker`.
    """
    path = PurePosixPath(inner_path)
    restore = FileRevert(change.before)
    if change.before is None and change.after is None:  # a new symbolic link or unreadable file
        return restore
    if path.parts[-2:] == ("info", "attributes"):
        return restore
    if "hooks" in path.parts:
        return None if path.name.endswith(".sample") else restore
    if not {"glab-cli", "lazygit.yml"}.isdisjoint(path.parts):
        return restore
    if is_remote_file(inner_path):
        return None if is_gone(change) else restore
    if path.parts[-2:] in STRATEGY_FILES:
        return None if is_gone(change) or _names_own_strategy(change.after or b"") else restore
    if path.name == REBASE_TODO:
        return _revert_commands(change.after or b"", change.before or b"")
    if path.name == COMMONDIR:
        is_of_worktree = re.fullmatch(r"worktrees/[^/]+/commondir", inner_path)
        is_usual = is_of_worktree and (change.after or b"").strip() == b"../.."
        return None if is_usual or is_gone(change) else restore
    if path.name not in CONFIG_FILES:
        return None
    return _revert_config(broker, change)


def _revert_config(broker: FileBroker, change: FileChange) -> FileRevert | None:
    """Restore a configuration, or keep the harmless lines of a new one; None if the change is harmless.

    A configuration that its owner can no longer read or write is restored, because git fails then.
    """
    before = (change.before or b"").decode("utf-8", "replace")
    after = (change.after or b"").decode("utf-8", "replace")
    if change.before is None:
        return None if is_harmless(after, before) else FileRevert(harmless_lines(after).encode())
    is_closed = change.modes.before & ~change.modes.after & _OWNER_ACCESS and change.after is not None
    has_branch = partial(_has_branch, broker, str(PurePosixPath(change.path).parent))
    return None if is_harmless_change(after, before, has_branch) and not is_closed else FileRevert(change.before)


def _has_branch(broker: FileBroker, git_folder: str, name: str) -> bool:
    """Return whether a branch exists in a git folder; True if that cannot be determined."""
    try:
        if broker.stat(f"{git_folder}/refs/heads/{name}") or broker.stat(f"{git_folder}/reftable"):
            return True
        packed = broker.read(f"{git_folder}/{PACKED}") if broker.stat(f"{git_folder}/{PACKED}") else b""
    except (Problem, ValueError):
        return True
    ending = f" refs/heads/{name}".encode()
    return any(line.endswith(ending) for line in packed.splitlines())


def _revert_commands(body: bytes, former: bytes) -> FileRevert | None:
    """Remove new `exec` steps, which would run a command, from the steps of an interrupted rebase."""
    lines, former_steps = body.splitlines(keepends=True), set(former.splitlines())
    harmless = [line for line in lines if line.rstrip(b"\r\n") in former_steps or not _EXECUTE_STEP.match(line)]
    return None if harmless == lines else FileRevert(b"".join(harmless))


def _names_own_strategy(body: bytes) -> bool:
    """Return whether a file of an interrupted git operation names only STRATEGIES, as plain text or as a setting."""
    text = body.decode("utf-8", "replace")
    if text.strip() in STRATEGIES:
        return True
    lines = [line for line in text.splitlines() if not HEADER.fullmatch(line)]
    return "[" in text and all(map(_is_harmless_option, lines))


def _is_harmless_option(line: str) -> bool:
    """Return whether a line of settings is valid, and if it sets the merge strategy, to one of STRATEGIES."""
    entry = ENTRY.fullmatch(line.strip(" \t"))
    if entry is None:
        return False
    key, value = entry[1].casefold(), (entry[2] or "").strip()
    return key != "strategy" or value in STRATEGIES


def is_gone(change: FileChange) -> bool:
    """Return whether a file was deleted."""
    return change.after is None and change.before is not None
