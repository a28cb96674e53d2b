"""Undo what a command did, unallowed, to places that other programs obey: no wall stands where nothing is yet.

A checkout may bring such files: they are the repository's, and are told.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence

from core.domain.clock import now
from core.domain.command_line import Understood, program_of, read_line
from core.domain.opened import only_reads
from core.domain.problems import Problem
from core.domain.programs import never_remembered
from core.domain.sensitive import WALLED_NAMES
from core.tools.orders import COMMON, Wanted, moved, wanted
from core.tools.place import Place, Word
from core.workspace.scan import Altered, Missed

BRINGS = frozenset(
    ("checkout", "switch", "merge", "pull", "reset", "restore", "stash", "clone", "rebase", "cherry-pick", "revert")
)
KEPT, MOST_KEPT = "taken-back", 200  # a folder in our own data: a person may have made such a file just then
AT_ONCE = 500  # files taken back in one look


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
    spared = moved(changes)
    found = [*changes, *(Altered(path, None, None) for path in missed.made)]
    gone = {each.path for each in found if each.path not in spared and _taken(place, word, each)}
    left = (tuple(path for path in paths if path not in gone) for paths in (missed.contents, missed.protected))
    return tuple(change for change in changes if change.path not in gone), Missed(*left), tuple(sorted(gone))


class Guard:
    """While a command runs, looks at places that were not there when it began, and takes back what is made there."""

    def __init__(self, place: Place, command: str, word: Word) -> None:
        self._place, self._word = place, word
        self.gone: set[str] = set()
        names = (*(name for name in WALLED_NAMES if name != ".git"), f".git/{COMMON}")
        self._absent = [name for name in names if not os.path.lexists(place.folder / name)]
        if not takes_back(command, word):
            self._absent = []

    def look(self) -> None:
        """Costs a few microseconds where there is nothing."""
        for name in self._absent:
            if os.path.lexists(self._place.folder / name):
                with contextlib.suppress(Problem):  # what cannot be done now is done, or told, in the end
                    self._take(name)

    def _take(self, name: str) -> None:
        for path, _ in zip(_files(self._place, name), range(AT_ONCE), strict=False):
            body = None
            with contextlib.suppress(Problem):
                body = self._place.broker.read(path)
            if _taken(self._place, self._word, Altered(path, None, body)):
                self.gone.add(path)


def _files(place: Place, name: str) -> Iterator[str]:
    try:
        entries = place.broker.entries(name) if not (place.folder / name).is_symlink() else None
    except Problem:
        entries = None
    if entries is None:
        yield name
        return
    for entry, kind in entries:
        yield from _files(place, f"{name}/{entry}") if kind == "folder" else (f"{name}/{entry}",)


def _taken(place: Place, word: Word, change: Altered) -> bool:
    """Whether it was taken back."""
    if _opened(change.path, word.opens):
        return False
    should = wanted(place.broker, change)
    return should != "as it is" and _restored(place, change, should)


def _opened(path: str, opens: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in opens)


def _restored(place: Place, change: Altered, should: Wanted) -> bool:
    assert should != "as it is"
    try:
        if change.after:
            _keep(place, change.path, change.after)
        if should is None:
            place.broker.remove(change.path, protected=True)
        else:
            place.broker.write(change.path, should, protected=True, mode=change.modes[0])
    except (Problem, OSError):  # it cannot be: then it is told as what it is
        return False
    return True


def _keep(place: Place, path: str, body: bytes) -> None:
    """A copy for the person; the oldest make room."""
    folder = place.data / KEPT
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in sorted(folder.iterdir())[: -MOST_KEPT + 1]:
        old.unlink(missing_ok=True)
    file = folder / os.fsdecode(os.fsencode(f"{now():020} {path.replace('/', ' ')}")[:200])
    file.touch(mode=0o600)
    file.write_bytes(body)
