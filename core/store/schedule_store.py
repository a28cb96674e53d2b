"""The user's schedules in the data file."""

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

from core.domain.problems import Problem
from core.domain.schedule import MISSED_POLICIES, Schedule
from core.store.database import Database

NAMES = tuple(field.name for field in dataclasses.fields(Schedule))
COLUMNS = ", ".join(NAMES)


class ScheduleStore:
    """Schedules, read on separate connections; every change is one transaction."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False) -> None:
        self._path = path
        self._database = database
        self._flags = "immutable=1" if frozen else "mode=ro"

    @property
    def can_write(self) -> bool:
        return self._database is not None

    def read(self) -> list[Schedule]:
        """Return the schedules in the order in which they are due; finished schedules come last."""
        uri = f"{self._path.absolute().as_uri()}?{self._flags}"
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
                rows = db.execute(f"SELECT {COLUMNS} FROM schedule ORDER BY due = 0, due, id").fetchall()
        except sqlite3.Error as error:
            raise Problem("Your schedules cannot be read.", f"{error}.", "Run `journeyman doctor`.") from error
        schedules = [Schedule(**dict(zip(NAMES, row, strict=True))) for row in rows]
        return [
            dataclasses.replace(schedule, worktree=bool(schedule.worktree))
            for schedule in schedules
            if schedule.on_missed in MISSED_POLICIES
        ]

    async def save(self, schedule: Schedule) -> None:
        """Insert a schedule, or replace the one with the same id."""
        row = dataclasses.astuple(schedule)
        marks = ", ".join("?" for _ in NAMES)

        def write(db: sqlite3.Connection) -> None:
            db.execute(f"INSERT OR REPLACE INTO schedule ({COLUMNS}) VALUES ({marks})", row)

        await self._writer().run(write)

    async def update(self, schedule: Schedule) -> bool:
        """Update a schedule if it still exists, and return whether it did."""
        row = [getattr(schedule, name) for name in (*NAMES[1:], NAMES[0])]
        assignments = ", ".join(f"{name} = ?" for name in NAMES[1:])

        def write(db: sqlite3.Connection) -> bool:
            return db.execute(f"UPDATE schedule SET {assignments} WHERE id = ?", row).rowcount == 1

        return await self._writer().run(write)

    async def remove(self, name: str) -> bool:
        """Delete a schedule and return whether it existed."""

        def write(db: sqlite3.Connection) -> bool:
            return db.execute("DELETE FROM schedule WHERE id = ?", (name,)).rowcount == 1

        return await self._writer().run(write)

    def _writer(self) -> Database:
        if self._database is None:
            raise Problem("The data folder is not writable.", "It is open read-only.", "")
        return self._database
