"""Rewrites the data file to free the space of deleted rows."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from core.store.files import file_size, wal_path


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The size of the database on disk before and after compaction, in bytes with the WAL."""

    before: int
    after: int


def compact(db: sqlite3.Connection) -> CompactResult:
    """Shrink the database file. Call this through `Database.run(…, no_transaction=True)`."""
    path = Path(db.execute("PRAGMA database_list").fetchone()[2])
    before = file_size(path) + file_size(wal_path(path))
    db.execute("INSERT INTO event_search (event_search) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return CompactResult(before, file_size(path) + file_size(wal_path(path)))
