"""What memories mean, as vectors of a model: made of the memories, and made again where one of the two has changed."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem

SLICE = 5_000


class Lacking(NamedTuple):
    """A memory without a vector, at a version."""

    key: int
    version: int
    text: str
    around: str


class Vectors:
    """On one connection, in whatever transaction it is in."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def put(self, model: str, made: Iterable[tuple[Lacking, bytes]], at: int) -> None:
        """Those whose memories are still what they were. Numbers only grow, so that a reader sees what is newer."""
        (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM memory_vector").fetchone()
        for number, (one, body) in enumerate(made, max(at, last + 1)):
            self._db.execute(
                "INSERT OR REPLACE INTO memory_vector SELECT ?, key, ?, ? FROM memory"
                " WHERE key = ? AND version = ? AND standing = 'active'",
                (number, model, body, one.key, one.version),
            )

    def current(self, numbers: Sequence[int]) -> set[int]:
        """Which of them are still there: the others were made of what is no more."""
        marks = ", ".join("?" for _ in numbers)
        rows = self._db.execute(f"SELECT number FROM memory_vector WHERE number IN ({marks})", numbers)
        return {row[0] for row in rows}


def lacking(file: Path, model: str, after: int, most: int) -> list[Lacking]:
    """Active memories that this model has not seen, from a key on; for a thread that may wait."""
    with _opened(file) as db:
        rows = db.execute(
            "SELECT m.key, m.version, m.text, m.around FROM memory m LEFT JOIN memory_vector v"
            " ON v.key = m.key AND v.model = ? WHERE m.key > ? AND m.standing = 'active' AND v.key IS NULL"
            " ORDER BY m.key LIMIT ?",
            (model, after, most),
        )
        return [Lacking(*row) for row in rows]


def counted(file: Path, model: str) -> tuple[int, int]:
    """How many vectors this model has made, of how many active memories."""
    with _opened(file) as db:
        (made,) = db.execute("SELECT count(*) FROM memory_vector WHERE model = ?", (model,)).fetchone()
        (active,) = db.execute("SELECT count(*) FROM memory WHERE standing = 'active'").fetchone()
        return int(made), int(active)


def newer(file: Path, model: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
    """Number, key and vector of all that were written since, in order, many at once."""
    with _opened(file) as db:
        while True:
            rows = db.execute(
                "SELECT number, key, vector FROM memory_vector WHERE number > ? AND model = ? ORDER BY number LIMIT ?",
                (after, model, SLICE),
            ).fetchall()
            if rows:
                yield rows
            if len(rows) < SLICE:
                return
            after = rows[-1][0]


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection of its own; a Problem where the file cannot be read."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            yield db
    except sqlite3.Error as error:
        do = "Look with `journeyman doctor`."
        raise Problem("What memories mean cannot be read.", f"{error}.", do) from error
