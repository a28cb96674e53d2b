"""Stored embeddings of memories. They are computed again when a memory or the embedding model changes."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem

BATCH_SIZE = 5_000  # embeddings read from the database at a time


class UnembeddedMemory(NamedTuple):
    """A memory that has no embedding for its current `version`. `key` is the key of its row."""

    key: int
    version: int
    text: str
    context: str


class StoredEmbedding(NamedTuple):
    """The embedding of the memory `key`. Later embeddings have higher numbers."""

    number: int
    key: int
    vector: bytes


class EmbeddingStore:
    """Reads and writes embeddings within the caller's transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def save(self, model: str, embeddings: Iterable[tuple[UnembeddedMemory, bytes]], at: int) -> None:
        """Save embeddings. Skip those of memories that have changed meanwhile. `at` is the time in microseconds.

        Each embedding gets a higher number than all earlier ones, so that a reader can ask for the newer ones only.
        """
        (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM memory_embedding").fetchone()
        for number, (memory, body) in enumerate(embeddings, max(at, last + 1)):
            self._db.execute(
                "INSERT OR REPLACE INTO memory_embedding SELECT ?, key, ?, ? FROM memory"
                " WHERE key = ? AND version = ? AND status = 'active'",
                (number, model, body, memory.key, memory.version),
            )

    def existing(self, numbers: Sequence[int]) -> set[int]:
        """Return which of the embeddings with these numbers still exist. The others were replaced or deleted."""
        marks = ", ".join("?" for _ in numbers)
        rows = self._db.execute(f"SELECT number FROM memory_embedding WHERE number IN ({marks})", numbers)
        return {row[0] for row in rows}


def find_unembedded(file: Path, model: str, after: int, limit: int) -> list[UnembeddedMemory]:
    """Return active memories that this model has no embedding for, ordered by key, at most `limit`.

    `after` is the key to continue after. Call this on a worker thread.
    """
    with _connect(file) as db:
        rows = db.execute(
            "SELECT m.key, m.version, m.text, m.context FROM memory m LEFT JOIN memory_embedding v"
            " ON v.key = m.key AND v.model = ? WHERE m.key > ? AND m.status = 'active' AND v.key IS NULL"
            " ORDER BY m.key LIMIT ?",
            (model, after, limit),
        )
        return [UnembeddedMemory(*row) for row in rows]


class EmbeddingCounts(NamedTuple):
    """How many active memories have an embedding by a model, and how many active memories there are."""

    embedded: int
    memories: int


def count_embedded(file: Path, model: str) -> EmbeddingCounts:
    with _connect(file) as db:
        (embedded,) = db.execute("SELECT count(*) FROM memory_embedding WHERE model = ?", (model,)).fetchone()
        (active,) = db.execute("SELECT count(*) FROM memory WHERE status = 'active'").fetchone()
        return EmbeddingCounts(embedded=int(embedded), memories=int(active))


def read_newer(file: Path, model: str, after: int) -> Iterator[list[StoredEmbedding]]:
    """Yield the embeddings of a model in batches, ordered by number. Only numbers above `after` are read."""
    with _connect(file) as db:
        while True:
            rows = db.execute(
                "SELECT number, key, embedding FROM memory_embedding WHERE number > ? AND model = ? ORDER"
                " BY number LIMIT ?",
                (after, model, BATCH_SIZE),
            )
            batch = [StoredEmbedding(*row) for row in rows]
            if batch:
                yield batch
            if len(batch) < BATCH_SIZE:
                return
            after = batch[-1].number


@contextmanager
def _connect(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection for the block. An SQLite error in the block becomes a Problem."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            yield db
    except sqlite3.Error as error:
        fix = "Run `journeyman doctor`."
        raise Problem("The memory embeddings cannot be read.", f"{error}.", fix) from error
