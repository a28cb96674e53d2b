"""The data file, as used by the stores of rules, schedules, skills, proposals and memories."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.store.database import Database


class DataFile:
    """Access to the data file: each read uses a connection of its own, each change is one transaction of `writer`.

    `database` is None if the data folder is open read-only. `frozen` tells whether no process at all can change the
    file.
    """

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False) -> None:
        self.path = path
        self._database = database
        self._uri = f"{path.absolute().as_uri()}?{'immutable=1' if frozen else 'mode=ro'}"

    @property
    def can_write(self) -> bool:
        return self._database is not None

    @property
    def writer(self) -> Database:
        """The writing connection. Raise Problem if the data folder is open read-only."""
        if self._database is None:
            raise Problem("The data folder is not writable.", "It is open read-only.", "")
        return self._database

    def catch_up(self) -> None:
        """Wait until the rows that are derived from the event log are up to date."""
        if self._database is not None:
            self._database.catch_up()

    def connect(self) -> sqlite3.Connection:
        """Return a new connection that can only read."""
        return sqlite3.connect(self._uri, uri=True, isolation_level=None)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query, which runs on a new connection."""
        with closing(self.connect()) as db:
            return db.execute(query, values).fetchall()
