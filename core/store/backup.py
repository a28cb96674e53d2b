"""Whole copies of the file, each read through before it counts: made daily and before migrations."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from core.domain.problems import Problem
from core.store.files import ASIDE, PART, finish, in_place_of, make_private, put_in_place, size_of, wal_of
from core.store.health import Health, look
from core.store.marker import write_marker

KEEP = 7  # daily ones
KEEP_BEFORE = 3  # of those made before a migration
NAME = re.compile(r"journeyman-(\d{4}-\d\d-\d\d)(-before-v\d{4})?\.db")


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy and what a check found in it."""

    path: Path
    health: Health

    @property
    def good(self) -> bool:
        return self.health.state == "good" and self.health.version > 0

    @property
    def words(self) -> str:
        """`journeyman-2025-01-31.db (1,204 facts in 12 sessions)`"""
        return f"{self.path.name} ({self.health.facts:,} facts in {self.health.sessions:,} sessions)"


def here() -> date:
    """The day where the person is."""
    return datetime.now().astimezone().date()


def backups_of(path: Path) -> Path:
    """Where the copies of a database are."""
    return path.parent / "backups"


def next_of(path: Path) -> Path:
    """The name of a whole file that is about to take the database's place."""
    return path.with_name(path.name + ".next")


def back_up(path: Path, today: date | None = None) -> Backup:
    """Make today's copy, in the place of an earlier one of today. Does not hold up the writing connection."""
    day = today or here()
    made = copy(path, backups_of(path) / f"journeyman-{day.isoformat()}.db")
    _thin(backups_of(path))
    return made


def back_up_daily(path: Path, today: date | None = None) -> Backup | None:
    """Make today's copy unless there is one."""
    day = today or here()
    if (backups_of(path) / f"journeyman-{day.isoformat()}.db").exists():
        return None
    return back_up(path, day)


def back_up_before(path: Path, number: int, today: date | None = None) -> Backup:
    """A copy of the form before migration `number`."""
    day = today or here()
    made = copy(path, backups_of(path) / f"journeyman-{day.isoformat()}-before-v{number:04}.db")
    _thin(backups_of(path))
    return made


def copy(path: Path, target: Path) -> Backup:
    """Copy the whole database to `target`, which is replaced only by a copy that has been read through."""
    make_private(target.parent)
    try:
        with in_place_of(target) as part:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
                db.execute("VACUUM INTO ?", (str(part),))
            found = look(part)
            if found.state != "good":
                raise Problem("The backup could not be read back.", f"{found.why}.", "The older backups were kept.")
    except sqlite3.Error as error:
        raise Problem("No backup was made.", f"{error}.", "The older backups were kept.") from error
    except OSError as error:
        why = f"{target.parent}: {error.strerror or error}."
        raise Problem("No backup was made.", why, "The older backups were kept.") from error
    return Backup(target, found)


def names(path: Path) -> list[Path]:
    """Every copy of a database, the newest first, unread."""
    return _names(backups_of(path))


def verify(path: Path) -> Backup:
    """Read a copy through."""
    return Backup(path, look(path))


def backups(path: Path) -> Iterator[Backup]:
    """Every copy, the newest first, each read through when its turn comes."""
    return map(verify, _names(backups_of(path)))


def newest_good(path: Path) -> Backup | None:
    """The newest copy that can be read."""
    return next((found for found in backups(path) if found.good), None)


def restore(path: Path, source: Path) -> Path | None:
    """Put a copy in the place of the database, which must not be open. The present file is set aside: its name."""
    found = verify(source)
    if not found.good:
        why = found.health.why or f"It is {found.health.state}"
        raise Problem(f"{source.name} cannot be restored.", f"{why}.", "Choose another backup.")
    try:
        with in_place_of(next_of(path)) as part:
            shutil.copyfile(source, part)
            if verify(part).health != found.health:
                raise Problem("The copy differs from the backup.", "The disk may be failing.", "Nothing was changed.")
        aside = None
        if path.exists() or wal_of(path).exists():
            aside = put_in_place(next_of(path), path, ASIDE[1])
        else:
            finish(path, next_of(path))
        write_marker(path, closed=True, facts=found.health.facts)
    except OSError as error:
        why = f"{error.strerror or error}."
        raise Problem("The backup was not restored.", why, "The present data was not changed.") from error
    return aside


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes on the disk, with the log."""

    before: int
    after: int


def compact(db: sqlite3.Connection) -> Compacted:
    """Give back the room of what was deleted. Run it with `Database.do(…, alone=True)`."""
    path = Path(db.execute("PRAGMA database_list").fetchone()[2])
    before = size_of(path) + size_of(wal_of(path))
    db.execute("INSERT INTO search (search) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Compacted(before, size_of(path) + size_of(wal_of(path)))


def _names(folder: Path) -> list[Path]:
    """By day; on one day the copy before a migration is the older."""
    found = [item for item in folder.glob("journeyman-*.db") if NAME.fullmatch(item.name)]
    return sorted(found, key=lambda item: (item.name[11:21], len(item.name) == 24, item.name), reverse=True)


def _thin(folder: Path) -> None:
    """Called after a good copy was made, so that what goes is never the last one."""
    names = _names(folder)
    before = [item for item in names if "-before-" in item.name]
    daily = [item for item in names if "-before-" not in item.name]
    for old in daily[KEEP:] + before[KEEP_BEFORE:]:
        old.unlink(missing_ok=True)
    for left in folder.glob(f"journeyman-*{PART}*"):
        left.unlink(missing_ok=True)
