"""Polls the transcripts of other agents for changes in time or size. Recently changed files are polled more often."""

import re
import time
from collections.abc import Callable, Iterator
from fnmatch import translate
from math import inf
from pathlib import Path
from typing import NamedTuple

RECENT_S = 3600.0  # seconds; a file or folder that changed within this time is checked at every poll
FULL_SCAN_INTERVAL = 15  # at every 15th poll, all files and folders are checked
FILE_SUFFIXES = ("", "-wal")  # an SQLite database writes new records to its WAL file first


class _FileStamp(NamedTuple):
    """What shows that a file was changed. `size` is in bytes, `modified_ns` in nanoseconds since 1970."""

    inode: int
    size: int
    modified_ns: int


class TranscriptPoller:
    """Finds changed files by their state, without opening them.

    `patterns` are paths below `home` in which `*` stands for any part of a name.
    """

    def __init__(self, home: Path, patterns: tuple[str, ...], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._polls = 0
        self._stamps: dict[Path, _FileStamp] = {}
        self._trees = [_Folder(home, pattern.split("/")) for pattern in patterns]

    def changed_files(self) -> list[Path]:
        """Return files that are new or whose time or size has changed since the last poll.

        The first poll returns the files that changed within the last hour.
        """
        is_full_scan = self._polls % FULL_SCAN_INTERVAL == 0
        is_first_poll = self._polls == 0
        self._polls += 1
        since = self._clock() - RECENT_S
        changed: list[Path] = []
        for tree in self._trees:
            for path in tree.files_to_check(is_full_scan, since):
                stamp = _combined_stamp(path)
                if stamp is None or stamp == self._stamps.get(path):
                    continue
                self._stamps[path] = stamp
                is_recent = stamp.modified_ns >= since * 1e9
                if is_recent or not is_first_poll:
                    changed.append(path)
        return changed


class _Folder:
    """A folder on the path of a pattern, with its matching entries. It is listed again only after it was modified."""

    def __init__(self, path: Path, pattern: list[str]) -> None:
        self._path = path
        self._name, *self._rest = pattern
        self._match: Callable[[str], object] = re.compile(translate(self._name)).match
        self._modified_ns = -1  # modification time of the folder when it was last listed
        self._subfolders: dict[Path, _Folder] = {}
        self._files: dict[Path, float] = {}  # modification times, when they were last checked

    def files_to_check(self, everything: bool, since: float) -> Iterator[Path]:
        """Yield the files that were modified since `since`, in seconds, or all with `everything`."""
        was_modified = self._list()
        for path, modified in self._files.items():
            if everything or modified >= since:
                self._files[path] = _modified_at(path)
                yield path
        for folder in self._subfolders.values():
            if everything or was_modified or folder._modified_ns / 1e9 >= since or self._is_only_name():
                yield from folder.files_to_check(everything, since)

    def _is_only_name(self) -> bool:
        """Return whether the pattern names one subfolder, which is cheap to check at every poll."""
        return "*" not in self._name

    def _list(self) -> bool:
        """Update the matching entries. Return whether the folder was modified since the last call."""
        try:
            modified = self._path.stat().st_mtime_ns
            if modified == self._modified_ns:
                return False
            matching = {path: path.is_dir() for path in self._path.iterdir() if self._match(path.name)}
        except OSError:
            self._subfolders = {}
            self._files = {}
            self._modified_ns = -1
            return False
        self._modified_ns = modified
        if self._rest:
            folders = [path for path, is_folder in matching.items() if is_folder]
            self._subfolders = {path: self._subfolders.get(path) or _Folder(path, self._rest) for path in folders}
        else:
            files = [path for path, is_folder in matching.items() if not is_folder]
            self._files = {path: self._files.get(path, inf) for path in files}  # a new file is checked at once
        return True


def _modified_at(path: Path) -> float:
    """Return when a file or its WAL file was last modified, in seconds since 1970; 0 if both are gone."""
    return max((stamp.modified_ns / 1e9 for stamp in _stamps(path)), default=0.0)


def _combined_stamp(path: Path) -> _FileStamp | None:
    """Return the combined state of a file and its WAL file; None if the file is empty or gone."""
    stamps = _stamps(path)
    if not stamps or not stamps[0].size:
        return None
    return _FileStamp(
        inode=stamps[0].inode,
        size=sum(stamp.size for stamp in stamps),
        modified_ns=max(stamp.modified_ns for stamp in stamps),
    )


def _stamps(path: Path) -> list[_FileStamp]:
    """Return the states of a file and its WAL file, without those that do not exist."""
    stamps = (_file_stamp(path.with_name(path.name + suffix)) for suffix in FILE_SUFFIXES)
    return [stamp for stamp in stamps if stamp is not None]


def _file_stamp(path: Path) -> _FileStamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return _FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
