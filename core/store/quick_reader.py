"""Reads sessions and timelines directly from the data file, so that a command can print them at once.

It raises one of CANNOT_READ for a file that must first be repaired, migrated or recovered, or whose derived rows are
incomplete. To be fast, it imports no module that takes noticeable time.
"""

import os
import sqlite3

from core.store.row_keys import MASK, key_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FILE = "journeyman.db"
MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
UNFINISHED = ("running", "waiting", "interrupted", "paused")
BEHIND = (  # selects whether a session has events that its row does not include
    "EXISTS (SELECT 1 FROM event WHERE event.id > session.number << 32 | session.last_seq"
    f" AND event.id <= session.number << 32 | {MASK})"
)
# The errors after which the caller opens the data in the normal, slower way.
CANNOT_READ = (sqlite3.Error, OSError, ValueError)


class QuickReader:
    """A read-only connection to the data file in a folder. `in_use` tells whether another process has the file open.

    Rows are returned as plain objects with the attributes of `SessionRow` and `Step`, and of further columns.
    """

    def __init__(self, folder: str, *, in_use: bool) -> None:
        path = os.path.join(folder, FILE)
        if not in_use and not _is_closed(path):
            raise ValueError("The file was not closed cleanly.")
        self._in_use = in_use
        name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        self._db = sqlite3.connect(f"file:{name}?{'mode=ro' if in_use else 'immutable=1'}", uri=True)
        self._db.execute("BEGIN")  # one transaction, so that all reads see the same state
        newest = max(name[:4] for name in os.listdir(MIGRATIONS) if name[:4].isdigit())
        if self._db.execute("PRAGMA user_version").fetchone()[0] != int(newest):
            raise ValueError("The file has another schema.")

    def __enter__(self) -> "QuickReader":
        return self

    def __exit__(self, *_error: object) -> None:
        self._db.close()

    def sessions(self, id_start: str = "") -> "list[Any]":
        """Return the sessions whose ID starts with `id_start`, most recently updated first."""
        query = f"SELECT *, {BEHIND} behind FROM session WHERE substr(id, 1, ?) = ? ORDER BY updated_at DESC"
        rows = self._rows(query, len(id_start), id_start)
        if any(row.behind or (not self._in_use and _needs_recovery(row)) for row in rows):
            raise ValueError("The rows are not up to date.")
        return rows

    def steps(self, session: "Any") -> "list[Any]":
        """Return the timeline of a session."""
        first, _ = key_range(session.number)
        rows = self._rows("SELECT * FROM step WHERE id >= ? AND id < ? ORDER BY id", first, first + session.rows)
        for row in rows:
            row.metrics = _metrics(row.metrics)
        return rows

    def _rows(self, query: str, *values: object) -> "list[Any]":
        found = self._db.execute(query, values)
        names = [column[0] for column in found.description]
        return [_Row(zip(names, row, strict=True)) for row in found]


class _Row:
    """A row of the database with its columns as attributes."""

    def __init__(self, columns: "Iterable[tuple[str, object]]") -> None:
        self.__dict__.update(columns)


def _metrics(text: str) -> dict[str, int]:
    """Parse the metrics of a step, a JSON object of plain names and integers, without importing json."""
    pairs = (pair.split(":") for pair in text[1:-1].split(",") if pair)
    return {name.strip('"'): int(amount) for name, amount in pairs}


def _needs_recovery(row: "Any") -> bool:
    """Return whether the engine would end this run when it starts, because nothing executes the run any more."""
    return row.status == "running" or (row.imported_from != "" and row.status in UNFINISHED)


def _is_closed(path: str) -> bool:
    """Return whether the file is unchanged since it was closed cleanly, and no later check has found damage."""
    base = os.path.splitext(path)[0]
    with open(f"{base}.mark", encoding="utf-8") as file:
        marker = file.read()
    status = os.stat(path)
    if os.path.exists(f"{base}.check"):
        with open(f"{base}.check", encoding="utf-8") as file:
            if not file.read().endswith('"errors": []}'):
                return False
    return (
        marker.startswith('{"closed": true,')
        and marker.endswith(f'"size": {status.st_size}, "mtime_ns": {status.st_mtime_ns}}}')
        and not os.path.exists(f"{path}-wal")
    )
