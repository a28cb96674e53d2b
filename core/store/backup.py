"""Full copies of the data file, each verified after it is written: made daily and before migrations."""

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from core.domain.problems import Problem
from core.store.files import (
    PARTIAL_SUFFIX,
    REPLACED,
    finish_swap,
    make_private,
    replace_atomically,
    swap_in,
    wal_path,
)
from core.store.health import REPAIR_ADVICE, Health, check_health, is_corruption
from core.store.marker import write_marker

KEEP_DAILY = 7  # how many daily backups are kept
KEEP_BEFORE_MIGRATION = 3  # how many backups are kept that were made before a migration
ABANDONED_AFTER_S = 24 * 60 * 60  # seconds; an older partial copy was left by a crash, and is deleted
NAME = re.compile(r"journeyman-(?P<day>\d{4}-\d\d-\d\d)(?P<before>-before-v\d{4})?\.db")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup file and the health that it had when it was last read."""

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
    """Return the path for a complete copy that is about to replace the database."""
    return path.with_name(path.name + ".next")


def back_up(path: Path, today: date | None = None) -> Backup:
    """Make or replace today's backup. Writing to the database can go on meanwhile."""
    day = today or local_date()
    backup = copy_database(path, backup_folder(path) / f"journeyman-{day.isoformat()}.db")
    _delete_surplus(backup_folder(path))
    return backup


def back_up_daily(path: Path, today: date | None = None) -> Backup | None:
    """Make today's backup. If it exists already, do nothing and return None."""
    day = today or local_date()
    if (backup_folder(path) / f"journeyman-{day.isoformat()}.db").exists():
        return None
    return back_up(path, day)


def back_up_before_migration(path: Path, number: int, today: date | None = None) -> Backup:
    """Make a backup of the database before it is migrated to schema version `number`."""
    day = today or local_date()
    backup = copy_database(path, backup_folder(path) / f"journeyman-{day.isoformat()}-before-v{number:04}.db")
    _delete_surplus(backup_folder(path))
    return backup


def copy_database(path: Path, target: Path) -> Backup:
    """Copy the whole database to `target`. An existing file is replaced only once the copy has been verified."""
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
    return _backup_files(backup_folder(path))


def verify(path: Path) -> Backup:
    """Read a backup completely, and return it with its health."""
    return Backup(path, check_health(path))


def verified_backups(path: Path) -> Iterator[Backup]:
    """Yield every backup, newest first. Each is verified only when the iteration reaches it."""
    return map(verify, _backup_files(backup_folder(path)))


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
    except OSError as error:
        raise _not_restored(error, "The current data was not changed.") from error
    try:
        aside = _replace_with_copy(path)
    except OSError as error:
        raise _not_restored(error, _state_after_failed_swap(path)) from error
    try:
        write_marker(path, closed=True, events=backup.health.events)
    except OSError as error:
        cause = f"The file that records its state could not be written: {error.strerror or error}."
        raise Problem("The backup was restored.", cause, "Start Journeyman again: it checks the data.") from error
    return aside


def _replace_with_copy(path: Path) -> Path | None:
    """Rename the complete copy to the database.

    Return the path to which the database was moved, None if there was none.
    """
    if path.exists() or wal_path(path).exists():
        return swap_in(replacement_path(path), path, REPLACED)
    finish_swap(path, replacement_path(path))
    return None


def _state_after_failed_swap(path: Path) -> str:
    """Return a sentence that says which data the folder holds after `_replace_with_copy` failed.

    The copy is deleted if it was not used.
    """
    # The database was moved away but not replaced: `finish_swap` completes this at the next start.
    if not path.exists():
        return "The current data was set aside. Start Journeyman again to complete the restoration."
    if not replacement_path(path).exists():
        return "The backup has replaced the current data. Start Journeyman again: it checks the data."
    with suppress(OSError):
        replacement_path(path).unlink()
    return "The current data was not changed."


def _not_restored(error: OSError, fix: str) -> Problem:
    return Problem("The backup could not be restored.", f"{error.strerror or error}.", fix)


def _backup_files(folder: Path) -> list[Path]:
    """Return the backups, newest first. Of two from the same day, one made before a migration counts as older."""

    def age(name: re.Match[str]) -> tuple[str, bool, str]:
        return name["day"], not name["before"], name.string

    names = [match for file in folder.glob("journeyman-*.db") if (match := NAME.fullmatch(file.name))]
    return [folder / name.string for name in sorted(names, key=age, reverse=True)]


def _delete_surplus(folder: Path) -> None:
    """Delete the oldest backups beyond the number to keep.

    Call this after a valid backup was made, so that one remains.
    """
    backups = _backup_files(folder)
    before_migration = [file for file in backups if "-before-" in file.name]
    daily = [file for file in backups if "-before-" not in file.name]
    for surplus in daily[KEEP_DAILY:] + before_migration[KEEP_BEFORE_MIGRATION:]:
        surplus.unlink(missing_ok=True)
    for partial in folder.glob(f"journeyman-*{PARTIAL_SUFFIX}*"):
        with suppress(FileNotFoundError):  # another thread may have renamed or deleted the file
            if time.time() - partial.stat().st_mtime > ABANDONED_AFTER_S:
                partial.unlink()
