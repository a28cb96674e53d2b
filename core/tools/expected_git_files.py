"""Determines the contents to restore in a file of a git folder after a command that was not allowed to change it."""

import re
from pathlib import PurePosixPath
from typing import Literal

from core.domain.git_config import harmless_lines, is_harmless
from core.domain.git_config_lines import ENTRY, HEADER
from core.domain.git_destinations import leads_elsewhere
from core.workspace.file_change import FileChange
from core.workspace.trusted_places import COMMONDIR, CONFIG_FILES, REBASE_TODO, STRATEGY_FILES, is_remote_file

# The merge strategies built into git. For any other name, git runs the program `git-merge-NAME`.
STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours", "subtree"})
_EXECUTE_STEP = re.compile(rb"[ \t]*(x|exec)[ \t]")
ExpectedContents = bytes | Literal["as it is"] | None


def expected_in_git(inner_path: str, change: FileChange) -> ExpectedContents:
    """Return the contents to restore in a file of a git folder; "as it is" if the change is harmless.

    `inner_path` is the path within the git folder. None means that the file must be removed.
    """
    name = PurePosixPath(inner_path).name
    if change.before is None and change.after is None:  # a new symbolic link or unreadable file
        return None
    if inner_path == "info/attributes" or inner_path.endswith("/info/attributes"):
        return change.before
    if "hooks" in PurePosixPath(inner_path).parts:
        return "as it is" if name.endswith(".sample") else change.before
    if not {"glab-cli", "lazygit.yml"}.isdisjoint(PurePosixPath(inner_path).parts):
        return change.before
    if is_remote_file(inner_path):
        return "as it is" if is_gone(change) else change.before
    if PurePosixPath(inner_path).parts[-2:] in STRATEGY_FILES:
        return "as it is" if is_gone(change) or _names_own_strategy(change.after or b"") else change.before
    if name == REBASE_TODO:
        return _without_commands(change.after or b"", change.before or b"")
    if name == COMMONDIR:
        usual = re.fullmatch(r"worktrees/[^/]+/commondir", inner_path) and (change.after or b"").strip() == b"../.."
        return "as it is" if usual or is_gone(change) else change.before
    if name not in CONFIG_FILES or is_gone(change):
        return "as it is"
    before, after = ((body or b"").decode("utf-8", "replace") for body in (change.before, change.after))
    is_moved = change.before is not None and leads_elsewhere(after, before)
    if change.after is not None and is_harmless(after, before) and not is_moved:
        return "as it is"
    if change.before is None and change.after is not None:
        return harmless_lines(after).encode()
    return change.before


def _without_commands(body: bytes, former: bytes) -> ExpectedContents:
    """Return the steps of an interrupted rebase without new `exec` steps, which would run a command."""
    lines, former_steps = body.splitlines(keepends=True), set(former.splitlines())
    harmless = [line for line in lines if line.rstrip(b"\r\n") in former_steps or not _EXECUTE_STEP.match(line)]
    return "as it is" if harmless == lines else b"".join(harmless)


def _names_own_strategy(body: bytes) -> bool:
    """Return whether a file of an interrupted git operation names only STRATEGIES, as plain text or as a setting."""
    text = body.decode("utf-8", "replace")
    if text.strip() in STRATEGIES:
        return True
    entries = [ENTRY.fullmatch(line.strip(" \t")) for line in text.splitlines() if not HEADER.fullmatch(line)]
    return "[" in text and all(
        entry and (entry[1].casefold() != "strategy" or (entry[2] or "").strip() in STRATEGIES) for entry in entries
    )


def is_gone(change: FileChange) -> bool:
    """Return whether a file was deleted."""
    return change.after is None and change.before is not None
