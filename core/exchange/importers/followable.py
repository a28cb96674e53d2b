"""Reads the new records of a transcript while its program is writing it."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

from core.exchange.importers.record import Importer, SessionFiles, TranscriptRecord, read_lines

ReadNewRecords = Callable[[], Iterator[TranscriptRecord]]


class FollowableImporter(Importer, Protocol):
    """An importer that can follow a growing transcript.

    `follow` returns a function. Each call yields the records written since the previous call.
    """

    def follow(self, path: Path) -> ReadNewRecords: ...


class FileReplaced(Exception):
    """Raised when a followed file was replaced or became shorter."""


@dataclass(slots=True)
class _Tail:
    """How far a file was read, in bytes, and its inode, which is None before the first read."""

    bytes_read: int = 0
    inode: int | None = None


class AppendedLines:
    """Yields, on each call, the lines appended to a set of files since the previous call. The set may grow.

    Raise FileReplaced if a file was replaced or became shorter.
    """

    def __init__(self, files: Callable[[], SessionFiles], *, keep_blank: bool = False) -> None:
        self._files = files
        self._keep_blank = keep_blank
        self._tails: dict[Path, _Tail] = {}

    def __call__(self) -> Iterator[TranscriptRecord]:
        for path, key in self._files():
            tail = self._tails.setdefault(path, _Tail())
            status = path.stat()
            if status.st_size < tail.bytes_read or tail.inode not in (None, status.st_ino):
                raise FileReplaced
            tail.inode = status.st_ino
            for record in read_lines(path, key, start=tail.bytes_read, keep_blank=self._keep_blank):
                tail.bytes_read = record.bytes_read
                yield record


def details_first(details: Iterator[TranscriptRecord], lines: ReadNewRecords) -> ReadNewRecords:
    """Return a function that yields the details before a session's first lines; later calls yield only new lines."""
    unread = [details]

    def read_new() -> Iterator[TranscriptRecord]:
        yield from chain(*unread, lines())
        unread.clear()

    return read_new


class UnseenRecords:
    """Yields, on each call, the records that are new since the previous call.

    For formats that can only be read from the beginning: as many records of each session as were yielded are skipped.
    """

    def __init__(self, read_all: Callable[[], Iterator[TranscriptRecord]]) -> None:
        self._read_all = read_all
        self._seen: Counter[str] = Counter()

    def __call__(self) -> Iterator[TranscriptRecord]:
        read_now: Counter[str] = Counter()
        for record in self._read_all():
            read_now[record.key] += 1
            if read_now[record.key] > self._seen[record.key]:
                self._seen[record.key] += 1
                yield record
