"""Undo what a command did, unallowed, to places that other programs obey: no wall stands where nothing is yet.

A checkout may bring such files: they are the repository's, and are told.
"""

from collections.abc import Sequence

from core.domain.command_line import Understood, program_of, read_line
from core.domain.opened import only_reads
from core.domain.problems import Problem
from core.domain.programs import never_remembered
from core.domain.sensitive import is_walled
from core.tools.place import Place, Word
from core.workspace.scan import Altered, Missed

BRINGS = frozenset(
    ("checkout", "switch", "merge", "pull", "reset", "restore", "stash", "clone", "rebase", "cherry-pick", "revert")
)


def takes_back(command: str, word: Word) -> bool:
    """Not of a command that a person let go without walls, and not of git that only brings what it keeps."""
    line = read_line(command)
    if word.unconfined or not isinstance(line, Understood):
        return not word.unconfined
    return not all(_brings(part) or only_reads([part]) for part in line.parts)


def _brings(words: Sequence[str]) -> bool:
    return program_of(words[0]) == "git" and set(words[1:2]) <= BRINGS and not never_remembered(words)


def take_back(
    place: Place, command: str, word: Word, changes: tuple[Altered, ...], missed: Missed
) -> tuple[tuple[Altered, ...], Missed, tuple[str, ...]]:
    """What stays, and the places that are again as they were."""
    if not takes_back(command, word):
        return changes, missed, ()
    made = [Altered(path, None, None) for path in missed.made]
    found = [change for change in (*changes, *made) if _guarded(change.path) and not _opened(change.path, word.opens)]
    gone = {change.path for change in found if _restored(place, change)}
    left = (tuple(path for path in paths if path not in gone) for paths in (missed.contents, missed.protected))
    return tuple(change for change in changes if change.path not in gone), Missed(*left), tuple(sorted(gone))


def _guarded(path: str) -> bool:
    """Of git's own folder only hooks that can run: `git init` writes settings, and samples of hooks."""
    inside = f"/{path}".rpartition("/.git/")
    if inside[1]:
        return inside[2].startswith("hooks/") and not path.endswith(".sample")
    return is_walled(path)


def _opened(path: str, opens: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in opens)


def _restored(place: Place, change: Altered) -> bool:
    try:
        if change.before is None:
            place.broker.remove(change.path, protected=True)
        else:
            place.broker.write(change.path, change.before, protected=True, mode=change.modes[0])
    except Problem:  # it cannot be: then it is told as what it is
        return False
    return True
