"""Polls the transcripts of other agents for changes in time or size. Recently changed files are polled more often."""

import re
import time
from collections.abc import Callable, Iterator
from fnmatch import translate
from math import inf
from pathlib import Path

RECENT_S = 3600.0  # seconds; a file or folder that changed within this time is checked at every poll
FULL_SCAN_INTERVAL = 15  # at every 15th poll, all files and folders are checked
FILE_SUFFIXES = ("", "-wal")  # an SQLite database writes new records to its WAL file first

FileStamp = tuple[int, int, int]  # inode, size in bytes, and modification time in nanoseconds


class TranscriptPoller:
    """Finds changed files by their state, without opening them.

    `patterns` are paths below `home` in which `*` stands for any part of a name.
    """

    def __init__(self, home: Path, patterns: tuple[str, ...], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._polls = 0
        self._stamps: dict[Path, FileStamp] = {}
        self._trees = [_Folder(home, pattern.split("/")) for pattern in patterns]

    def changed_files(self) -> list[Path]:
        """Return files that are new, grew or were replaced since the last poll.

        The first poll returns the files that changed within the last hour.
        """
        is_full_scan = self._polls % FULL_SCAN_INTERVAL == 0
        is_first_poll = self._polls == 0
        self._polls += 1
        since = self._clock() - RECENT_S
        changed: list[Path] = []
        for tree in self._trees:
            for path in tree.files(is_full_scan, since):
                stamp = _stamp(path)
                if stamp and stamp != self._stamps.get(path):
                    self._stamps[path] = stamp
                    if not is_first_poll or stamp[2] >= since * 1e9:
                        changed.append(path)
        return changed


class _Folder:
    """A folder on the path of a pattern, with its matching entries. It is listed again only after it was modified."""

    def __init__(self, path: Path, pattern: list[str]) -> None:
        self._path = path
        self._name, *self._rest = pattern
        self._match: Callable[[str], object] = re.compile(translate(self._name)).match
        self._listed = -1
        self._below: dict[Path, _Folder | float] = {}

    def files(self, everything: bool, since: float) -> Iterator[Path]:
        """Yield the files to check at this poll: those modified since `since`, in seconds, or all with `everything`."""
        changed = self._list()
        for path, below in list(self._below.items()):
            if isinstance(below, _Folder):
                if everything or changed or below._listed / 1e9 >= since or self._is_plain():
                    yield from below.files(everything, since)
            elif everything or below >= since:
                self._below[path] = _modified_at(path)
                yield path

    def _is_plain(self) -> bool:
        return "*" not in self._name

    def _list(self) -> bool:
        """Update the matching entries. Return whether the folder was modified since the last call."""
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


def _modified_at(path: Path) -> float:
    return max(
        (mark[2] / 1e9 for end in FILE_SUFFIXES if (mark := _file_stamp(path.with_name(path.name + end)))), default=0.0
    )


def _stamp(path: Path) -> FileStamp | None:
    """Return the combined state of a file and its WAL file; None if the file is empty or gone."""
    marks = [mark for end in FILE_SUFFIXES if (mark := _file_stamp(path.with_name(path.name + end)))]
    if not marks or not marks[0][1]:
        return None
    return marks[0][0], sum(mark[1] for mark in marks), max(mark[2] for mark in marks)


def _file_stamp(path: Path) -> FileStamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
