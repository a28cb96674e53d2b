"""Which transcripts of other agents changed: by looking at times and sizes, no more often than it is worth."""

import re
import time
from collections.abc import Callable, Iterator
from fnmatch import translate
from math import inf
from pathlib import Path

WARM_S = 3600.0  # what changed so lately is looked at each time
COLD = 15  # looks between two at everything else
WRITTEN = ("", "-wal")  # a database may grow beside itself

Mark = tuple[int, int, int]  # which file it is, its size, when it changed


class Look:
    """`patterns` are paths below a folder, with `*` for any name. Nothing is opened, and nothing is kept open."""

    def __init__(self, home: Path, patterns: tuple[str, ...], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._looks = 0
        self._marks: dict[Path, Mark] = {}
        self._trees = [_Folder(home, pattern.split("/")) for pattern in patterns]

    def changed(self) -> list[Path]:
        """What is new, grew or was replaced since the last look; at the first one what changed lately."""
        everything = self._looks % COLD == 0
        first = self._looks == 0
        self._looks += 1
        since = self._clock() - WARM_S
        found: list[Path] = []
        for tree in self._trees:
            for path in tree.files(everything, since):
                mark = _mark(path)
                if mark and mark != self._marks.get(path):
                    self._marks[path] = mark
                    if not first or mark[2] >= since * 1e9:
                        found.append(path)
        return found


class _Folder:
    """A folder of a pattern: what is below it is listed anew only when the folder itself changed."""

    def __init__(self, path: Path, pattern: list[str]) -> None:
        self._path = path
        self._name, *self._rest = pattern
        self._match: Callable[[str], object] = re.compile(translate(self._name)).match
        self._listed = -1
        self._below: dict[Path, _Folder | float] = {}

    def files(self, everything: bool, since: float) -> Iterator[Path]:
        """The files that are worth a look; one that was not looked at for long may be a little late."""
        changed = self._list()
        for path, below in list(self._below.items()):
            if isinstance(below, _Folder):
                if everything or changed or below._listed / 1e9 >= since or self._is_plain():
                    yield from below.files(everything, since)
            elif everything or below >= since:
                self._below[path] = _touched(path)
                yield path

    def _is_plain(self) -> bool:
        return "*" not in self._name

    def _list(self) -> bool:
        """Whether it changed since the last time."""
        try:
            now = self._path.stat().st_mtime_ns
            if now == self._listed:
                return False
            names = {path: path.is_dir() for path in self._path.iterdir() if self._match(path.name)}
        except OSError:
            self._below.clear()
            self._listed = -1
            return False
        self._listed = now
        for path in self._below.keys() - names.keys():
            del self._below[path]
        for path, is_folder in names.items():
            if path not in self._below and is_folder == bool(self._rest):
                self._below[path] = _Folder(path, self._rest) if is_folder else inf
        return True


def _touched(path: Path) -> float:
    return max((mark[2] / 1e9 for end in WRITTEN if (mark := _one(path.with_name(path.name + end)))), default=0.0)


def _mark(path: Path) -> Mark | None:
    """Of a file and of what is written beside it; None where it is empty or gone."""
    marks = [mark for end in WRITTEN if (mark := _one(path.with_name(path.name + end)))]
    if not marks or not marks[0][1]:
        return None
    return marks[0][0], sum(mark[1] for mark in marks), max(mark[2] for mark in marks)


def _one(path: Path) -> Mark | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
