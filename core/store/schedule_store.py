"""The user's schedules in the data file."""

import dataclasses
import sqlite3
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.domain.schedule import MISSED_POLICIES, Schedule
from core.store.data_file import DataFile
from core.store.database import Database

NAMES = tuple(field.name for field in dataclasses.fields(Schedule))
COLUMNS = ", ".join(NAMES)


class ScheduleStore:
    """Reads, saves and deletes schedules."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False) -> None:
        self._file = DataFile(path, database, frozen=frozen)

    @property
    def can_write(self) -> bool:
        return self._file.can_write

    def read(self) -> list[Schedule]:
        """Return the schedules, the next due first. Schedules that will not run again come last."""
        try:
            rows = self._file.rows(f"SELECT {COLUMNS} FROM schedule ORDER BY due = 0, due, id")
        except sqlite3.Error as error:
            raise Problem("Your schedules cannot be read.", f"{error}.", "Run `journeyman doctor`.") from error
        return [schedule for row in rows if (schedule := _from_row(row)).on_missed in MISSED_POLICIES]

    async def save(self, schedule: Schedule) -> None:
        """Insert a schedule, or replace the one with the same ID."""
        values = ", ".join(f":{name}" for name in NAMES)

        def write(db: sqlite3.Connection) -> None:
            db.execute(f"INSERT OR REPLACE INTO schedule ({COLUMNS}) VALUES ({values})", _to_row(schedule))

        await self._file.writer.run(write)

    async def update(self, schedule: Schedule) -> bool:
        """Update a schedule. Return false, with nothing written, if it was deleted."""
        assignments = ", ".join(f"{name} = :{name}" for name in NAMES if name != "id")

        def write(db: sqlite3.Connection) -> bool:
            return db.execute(f"UPDATE schedule SET {assignments} WHERE id = :id", _to_row(schedule)).rowcount == 1

        return await self._file.writer.run(write)

    async def remove(self, name: str) -> bool:
        """Delete a schedule. Return false if it did not exist."""

        def write(db: sqlite3.Connection) -> bool:
            return db.execute("DELETE FROM schedule WHERE id = ?", (name,)).rowcount == 1

        return await self._file.writer.run(write)


def _from_row(row: tuple[Any, ...]) -> Schedule:
    schedule = Schedule(**dict(zip(NAMES, row, strict=True)))
    return dataclasses.replace(schedule, due=schedule.due or None, worktree=bool(schedule.worktree))


def _to_row(schedule: Schedule) -> dict[str, Any]:
    """Return the values of the columns. The due time of a schedule that will not run again is stored as 0."""
    return dataclasses.asdict(dataclasses.replace(schedule, due=schedule.due or 0))
