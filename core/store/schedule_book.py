"""The schedules a person made, kept in the data file."""

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

from core.domain.problems import Problem
from core.domain.schedule import MISSED, Schedule
from core.store.database import Database

NAMES = tuple(field.name for field in dataclasses.fields(Schedule))
COLUMNS = ", ".join(NAMES)


class ScheduleBook:
    """Reads beside the writer; every change is one transaction."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False) -> None:
        self._path = path
        self._database = database
        self._flags = "immutable=1" if frozen else "mode=ro"

    @property
    def can_write(self) -> bool:
        return self._database is not None

    def read(self) -> list[Schedule]:
        """The one that is due next first; those that are over last."""
        uri = f"{self._path.absolute().as_uri()}?{self._flags}"
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
                rows = db.execute(f"SELECT {COLUMNS} FROM schedule ORDER BY due = 0, due, id").fetchall()
        except sqlite3.Error as error:
            raise Problem("Your schedules cannot be read.", f"{error}.", "See `journeyman doctor`.") from error
        found = [Schedule(**dict(zip(NAMES, row, strict=True))) for row in rows]
        return [dataclasses.replace(one, worktree=bool(one.worktree)) for one in found if one.missed in MISSED]

    async def keep(self, schedule: Schedule) -> None:
        """A new one, or another state of one that is there."""
        row = dataclasses.astuple(schedule)
        marks = ", ".join("?" for _ in NAMES)

        def write(db: sqlite3.Connection) -> None:
            db.execute(f"INSERT OR REPLACE INTO schedule ({COLUMNS}) VALUES ({marks})", row)

        await self._writer().do(write)

    async def change(self, schedule: Schedule) -> bool:
        """Another state of one that is still there; whether it was."""
        row = [getattr(schedule, name) for name in (*NAMES[1:], NAMES[0])]
        sets = ", ".join(f"{name} = ?" for name in NAMES[1:])

        def write(db: sqlite3.Connection) -> bool:
            return db.execute(f"UPDATE schedule SET {sets} WHERE id = ?", row).rowcount == 1

        return await self._writer().do(write)

    async def remove(self, name: str) -> bool:
        """Whether it was there."""

        def write(db: sqlite3.Connection) -> bool:
            return db.execute("DELETE FROM schedule WHERE id = ?", (name,)).rowcount == 1

        return await self._writer().do(write)

    def _writer(self) -> Database:
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        return self._database
