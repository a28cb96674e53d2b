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

    `follow` returns a function that yields, on each call, the records written since the previous call.
    """

    def follow(self, path: Path) -> ReadNewRecords: ...


class FileReplaced(Exception):
    """Raised when a followed file was replaced or became shorter."""


@dataclass(slots=True)
class _Tail:
    """The read position in a file, in bytes, and its inode."""

    at: int = 0
    node: int = 0


class AppendedLines:
    """Yields the lines appended to a set of files, to which new files may be added."""

    def __init__(self, files: Callable[[], SessionFiles], *, blank: bool = False) -> None:
        self._files = files
        self._blank = blank
        self._tails: dict[Path, _Tail] = {}

    def __call__(self) -> Iterator[TranscriptRecord]:
        for path, key in self._files():
            tail, status = self._tails.setdefault(path, _Tail()), path.stat()
            if status.st_size < tail.at or tail.node not in (0, status.st_ino):
                raise FileReplaced
            tail.node = status.st_ino
            for record in read_lines(path, key, start=tail.at, blank=self._blank):
                tail.at = record.bytes_read
                yield record


def details_first(details: Iterator[TranscriptRecord], lines: ReadNewRecords) -> ReadNewRecords:
    """Return a function that yields the details of a session before its first lines, and only new lines afterwards."""
    unread = [details]

    def read_new() -> Iterator[TranscriptRecord]:
        yield from chain(*unread, lines())
        unread.clear()

    return read_new


class UnseenRecords:
    """Yields new records of sessions that can only be read from their beginning, skipping as many as it has seen."""

    def __init__(self, records: Callable[[], Iterator[TranscriptRecord]]) -> None:
        self._records = records
        self._seen: Counter[str] = Counter()

    def __call__(self) -> Iterator[TranscriptRecord]:
        read: Counter[str] = Counter()
        for record in self._records():
            read[record.key] += 1
            if read[record.key] > self._seen[record.key]:
                self._seen[record.key] += 1
                yield record
