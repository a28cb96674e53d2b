"""Reverts unapproved changes by commands to files that other programs trust, such as git hooks and editor settings.

The sandbox protects such files only if they exist when a command starts. Files that come with a git checkout stay:
they belong to the repository, and the result of the call names them.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence

from core.domain.clock import now
from core.domain.command_line import ParsedLine, parse_line, program_name
from core.domain.problems import Problem
from core.domain.programs import unsafe_option_reason
from core.domain.protected_paths import all_read_only
from core.domain.sensitive_paths import READ_ONLY_NAMES
from core.tools.tool_context import CallGrant, ToolContext
from core.tools.trusted_config import COMMONDIR, ExpectedContents, expected_contents, moved_unchanged
from core.workspace.folder_scan import ScannedChange, UnrecordedChanges

CHECKOUT_COMMANDS = frozenset(
    ("checkout", "switch", "merge", "pull", "reset", "restore", "stash", "clone", "rebase", "cherry-pick", "revert")
)
COPIES_FOLDER, MAX_COPIES = (
    "taken-back",
    200,
)  # copies in the data folder, in case the user created such a file just then
AT_ONCE = 500  # files reverted in one check


def reverts_changes_of(command: str, word: CallGrant) -> bool:
    """Return whether changes of a command are reverted.

    They stay if the user let it run without a sandbox, or if it is a git command that only writes files of the
    repository, such as a checkout.
    """
    line = parse_line(command)
    if word.unsandboxed or not isinstance(line, ParsedLine):
        return not word.unsandboxed
    return not all(_brings(part) or all_read_only([part]) for part in line.parts)


def _brings(words: Sequence[str]) -> bool:
    return program_name(words[0]) == "git" and set(words[1:2]) <= CHECKOUT_COMMANDS and not unsafe_option_reason(words)


def revert_unapproved(
    place: ToolContext, command: str, word: CallGrant, changes: tuple[ScannedChange, ...], missed: UnrecordedChanges
) -> tuple[tuple[ScannedChange, ...], UnrecordedChanges, tuple[str, ...]]:
    """Revert unapproved changes; return the remaining ones, those not recorded, and the reverted paths."""
    if not reverts_changes_of(command, word):
        return changes, missed, ()
    spared = moved_unchanged(changes)
    found = [*changes, *(ScannedChange(path, None, None) for path in missed.created)]
    gone = {each.path for each in found if each.path not in spared and _revert(place, word, each)}
    left = (tuple(path for path in paths if path not in gone) for paths in (missed.unrecorded, missed.protected))
    return tuple(change for change in changes if change.path not in gone), UnrecordedChanges(*left), tuple(sorted(gone))


class CreationGuard:
    """Reverts, while a command runs, the creation of trusted files that did not exist when it started."""

    def __init__(self, place: ToolContext, command: str, word: CallGrant) -> None:
        self._place, self._word = place, word
        self.reverted: set[str] = set()
        names = (*(name for name in READ_ONLY_NAMES if name != ".git"), f".git/{COMMONDIR}")
        self._absent = [name for name in names if not os.path.lexists(place.folder / name)]
        if not reverts_changes_of(command, word):
            self._absent = []

    def check(self) -> None:
        """Check the paths that did not exist; called several times a second, it costs a few microseconds."""
        for name in self._absent:
            if os.path.lexists(self._place.folder / name):
                with contextlib.suppress(Problem):  # what fails now is reverted or reported once the command has ended
                    self._take(name)

    def _take(self, name: str) -> None:
        for path, _ in zip(_files(self._place, name), range(AT_ONCE), strict=False):
            body = None
            with contextlib.suppress(Problem):
                body = self._place.broker.read(path)
            if _revert(self._place, self._word, ScannedChange(path, None, body)):
                self.reverted.add(path)


def _files(place: ToolContext, name: str) -> Iterator[str]:
    try:
        entries = place.broker.entries(name) if not (place.folder / name).is_symlink() else None
    except Problem:
        entries = None
    if entries is None:
        yield name
        return
    for entry, kind in entries:
        yield from _files(place, f"{name}/{entry}") if kind == "folder" else (f"{name}/{entry}",)


def _revert(place: ToolContext, word: CallGrant, change: ScannedChange) -> bool:
    """Revert one change if it is not approved; return whether it was reverted."""
    if _opened(change.path, word.protected_paths):
        return False
    should = expected_contents(place.broker, change)
    return should != "as it is" and _write_back(place, change, should)


def _opened(path: str, opens: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in opens)


def _write_back(place: ToolContext, change: ScannedChange, should: ExpectedContents) -> bool:
    assert should != "as it is"
    try:
        if change.after:
            _keep(place, change.path, change.after)
        if should is None:
            place.broker.remove(change.path, allow_protected=True)
        else:
            place.broker.write(change.path, should, allow_protected=True, mode=change.modes[0])
    except (Problem, OSError):  # then the result of the call reports it as a change
        return False
    return True


def _keep(place: ToolContext, path: str, body: bytes) -> None:
    """Keep a copy for the user, and delete the oldest copies beyond the limit."""
    folder = place.data / COPIES_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in sorted(folder.iterdir())[: -MAX_COPIES + 1]:
        old.unlink(missing_ok=True)
    file = folder / os.fsdecode(os.fsencode(f"{now():020} {path.replace('/', ' ')}")[:200])
    file.touch(mode=0o600)
    file.write_bytes(body)
