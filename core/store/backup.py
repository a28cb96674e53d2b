"""Full copies of the data file, each verified after it is written: made daily and before migrations."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from core.domain.problems import Problem
from core.store.files import (
    ASIDE_REASONS,
    PARTIAL_SUFFIX,
    file_size,
    finish_swap,
    make_private,
    replace_atomically,
    swap_in,
    wal_path,
)
from core.store.health import REPAIR_ADVICE, Health, check_health, is_corruption
from core.store.marker import write_marker

KEEP_DAILY = 7  # daily backups
KEEP_BEFORE_MIGRATION = 3  # backups made before a migration
NAME = re.compile(r"journeyman-(\d{4}-\d\d-\d\d)(-before-v\d{4})?\.db")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup file, and its state when it was last read."""

    path: Path
    health: Health

    @property
    def is_valid(self) -> bool:
        return self.health.state == "good" and self.health.version > 0

    @property
    def summary(self) -> str:
        """A one-line description such as `journeyman-2025-01-31.db (1,204 events in 12 sessions)`."""
        return (
            f"{self.path.name} ({quantity(self.health.events, 'event')} in {quantity(self.health.sessions, 'session')})"
        )


def quantity(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural, such as `1,204 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def local_date() -> date:
    """Return the current date in the user's time zone."""
    return datetime.now().astimezone().date()


def backup_folder(path: Path) -> Path:
    """Return the folder that holds the backups of a database."""
    return path.parent / "backups"


def replacement_path(path: Path) -> Path:
    """Return the path of a complete file that is about to replace the database."""
    return path.with_name(path.name + ".next")


def back_up(path: Path, today: date | None = None) -> Backup:
    """Make or replace today's backup. The writing connection is not blocked."""
    day = today or local_date()
    backup = copy_database(path, backup_folder(path) / f"journeyman-{day.isoformat()}.db")
    _delete_surplus(backup_folder(path))
    return backup


def back_up_daily(path: Path, today: date | None = None) -> Backup | None:
    """Make today's backup unless it exists."""
    day = today or local_date()
    if (backup_folder(path) / f"journeyman-{day.isoformat()}.db").exists():
        return None
    return back_up(path, day)


def back_up_before_migration(path: Path, number: int, today: date | None = None) -> Backup:
    """Make a backup of the older schema before migrating to version `number`."""
    day = today or local_date()
    backup = copy_database(path, backup_folder(path) / f"journeyman-{day.isoformat()}-before-v{number:04}.db")
    _delete_surplus(backup_folder(path))
    return backup


def copy_database(path: Path, target: Path) -> Backup:
    """Copy the whole database to `target`, which is replaced only once the copy has been verified."""
    make_private(target.parent)
    try:
        with replace_atomically(target) as part:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
                db.execute("VACUUM INTO ?", (str(part),))
            health = check_health(part)
            if health.state != "good":
                raise Problem("The backup failed verification.", f"{health.error}.", "The older backups were kept.")
    except sqlite3.Error as error:
        kept = "The older backups were kept."
        fix = f"{kept} {REPAIR_ADVICE}" if is_corruption(error) else kept
        raise Problem("The backup failed.", f"{error}.", fix) from error
    except OSError as error:
        cause = f"{target.parent}: {error.strerror or error}."
        raise Problem("The backup failed.", cause, "The older backups were kept.") from error
    return Backup(target, health)


def backup_paths(path: Path) -> list[Path]:
    """Return the paths of all backups, newest first, without reading them."""
    return _names(backup_folder(path))


def verify(path: Path) -> Backup:
    """Read a backup completely and return its state."""
    return Backup(path, check_health(path))


def verified_backups(path: Path) -> Iterator[Backup]:
    """Yield every backup, newest first, verifying each one as it is reached."""
    return map(verify, _names(backup_folder(path)))


def newest_valid_backup(path: Path) -> Backup | None:
    """Return the newest valid backup, or None."""
    return next((backup for backup in verified_backups(path) if backup.is_valid), None)


def restore(path: Path, source: Path) -> Path | None:
    """Replace the database, which must not be open, with a backup.

    Return the path to which the current file was moved, or None if there was none.
    """
    backup = verify(source)
    if not backup.is_valid:
        cause = backup.health.error or f"The file is {backup.health.state}"
        raise Problem(f"{source.name} cannot be restored.", f"{cause}.", "Choose another backup.")
    try:
        with replace_atomically(replacement_path(path)) as part:
            shutil.copyfile(source, part)
            if verify(part).health != backup.health:
                raise Problem("The copy differs from the backup.", "The disk may be failing.", "Nothing was changed.")
        aside = None
        if path.exists() or wal_path(path).exists():
            aside = swap_in(replacement_path(path), path, ASIDE_REASONS[1])
        else:
            finish_swap(path, replacement_path(path))
        write_marker(path, closed=True, events=backup.health.events)
    except OSError as error:
        cause = f"{error.strerror or error}."
        raise Problem("The backup could not be restored.", cause, "The current data was not changed.") from error
    return aside


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The size on disk in bytes, including the WAL, before and after."""

    before: int
    after: int


def compact(db: sqlite3.Connection) -> CompactResult:
    """Shrink the database file by the space of deleted rows. Call it by `Database.run(…, no_transaction=True)`."""
    path = Path(db.execute("PRAGMA database_list").fetchone()[2])
    before = file_size(path) + file_size(wal_path(path))
    db.execute("INSERT INTO event_search (event_search) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return CompactResult(before, file_size(path) + file_size(wal_path(path)))


def _names(folder: Path) -> list[Path]:
    """Return the backups, newest first. Of two made on the same day, the one made before a migration is the older."""
    paths = [item for item in folder.glob("journeyman-*.db") if NAME.fullmatch(item.name)]
    return sorted(paths, key=lambda item: (item.name[11:21], len(item.name) == 24, item.name), reverse=True)


def _delete_surplus(folder: Path) -> None:
    """Delete the oldest surplus backups. Called after a valid backup was made, so at least one valid backup remains."""
    paths = _names(folder)
    before = [item for item in paths if "-before-" in item.name]
    daily = [item for item in paths if "-before-" not in item.name]
    for old in daily[KEEP_DAILY:] + before[KEEP_BEFORE_MIGRATION:]:
        old.unlink(missing_ok=True)
    for partial in folder.glob(f"journeyman-*{PARTIAL_SUFFIX}*"):
        partial.unlink(missing_ok=True)
