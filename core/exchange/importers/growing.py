"""What is new in a transcript that its program still writes."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.exchange.importers.record import Files, Importer, Record, lines

Grown = Callable[[], Iterator[Record]]


class Growing(Importer, Protocol):
    """An importer of transcripts that can be followed: each call of what `follow` gives tells the records since."""

    def follow(self, path: Path) -> Grown: ...


class Replaced(Exception):
    """A file is another one than before, or shorter."""


@dataclass(slots=True)
class _Tail:
    """How far a file was read, and which one it was."""

    at: int = 0
    node: int = 0


class Tails:
    """Files of lines that grow at their ends; more of them may come."""

    def __init__(self, files: Callable[[], Files]) -> None:
        self._files = files
        self._tails: dict[Path, _Tail] = {}

    def __call__(self) -> Iterator[Record]:
        for path, key in self._files():
            tail, status = self._tails.setdefault(path, _Tail()), path.stat()
            if status.st_size < tail.at or tail.node not in (0, status.st_ino):
                raise Replaced
            tail.node = status.st_ino
            for record in lines(path, key, start=tail.at):
                tail.at = record.done
                yield record


class Counted:
    """Sessions that are told from their beginning each time: what was heard of each is passed over."""

    def __init__(self, records: Callable[[], Iterator[Record]]) -> None:
        self._records = records
        self._heard: Counter[str] = Counter()

    def __call__(self) -> Iterator[Record]:
        told: Counter[str] = Counter()
        for record in self._records():
            told[record.key] += 1
            if told[record.key] > self._heard[record.key]:
                self._heard[record.key] += 1
                yield record
