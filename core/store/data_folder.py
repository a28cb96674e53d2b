"""Opens the data folder: checks the data file, repairs it if needed, and reports what was done."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import ErrorDetails, Problem
from core.store.backup import newest_valid_backup, quantity, replacement_path
from core.store.ballast import Ballast
from core.store.database import Database, is_disk_full, to_problem
from core.store.derived_rows import sessions_behind
from core.store.files import DATABASE_SUFFIXES, file_size, finish_swap, make_private, unwritable_folder, wal_path
from core.store.health import Health, check_health, is_corruption, open_read_only
from core.store.integrity import IntegrityCheck, read_report, rebuild_indexes, report_path
from core.store.marker import ShutdownMarker, is_unchanged, marker_path, read_marker, write_marker
from core.store.migrate import foreign_file, latest_version, newer_schema
from core.store.reader import Reader

DATABASE_FILE = "journeyman.db"


@dataclass(frozen=True, slots=True)
class DataFolder:
    """An open data folder.

    `database` is None if the folder is read-only, so that data can only be viewed. `immutable` is passed on to
    `core.store.reader.Reader`. `warnings` are to be shown to the user, in order. `was_closed` is false after a crash,
    which may have left runs to recover.
    """

    path: Path
    database: Database | None
    ballast: Ballast
    warnings: tuple[ErrorDetails, ...] = ()
    immutable: bool = False
    was_closed: bool = False

    def open_reader(self) -> Reader:
        """Open a reader for the calling thread."""
        return Reader(self.path, immutable=self.immutable, catch_up=self.catch_up)

    def catch_up(self) -> None:
        """Wait until the rows derived from events are up to date. Any thread may call it."""
        if self.database:
            self.database.catch_up()


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result of checking a data file.

    `repair` describes how damage was repaired; None if the file was intact. `is_log_missing` is set if the write-ahead
    log of a crash has disappeared, and with it the newest events.
    """

    repair: ErrorDetails | None = None
    is_log_missing: bool = False

    @property
    def warnings(self) -> tuple[ErrorDetails, ...]:
        """The warnings to show to the user."""
        log_warnings = (WAL_MISSING,) if self.is_log_missing else ()
        return log_warnings if self.repair is None else (*log_warnings, self.repair)


def open_data_folder(folder: Path, *, synchronous: str = "FULL") -> DataFolder:
    """Open the data in `folder` for writing, or read-only if it cannot be written. Raise Problem if that fails.

    Only one process at a time may do this; the caller holds `app.process.data_folder_lock`.
    """
    make_private(folder)
    path = folder / DATABASE_FILE
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return _open_read_only(path, _NOT_WRITABLE)
    try:
        finish_swap(path, replacement_path(path))
        marker = read_marker(path)
        check = _repair_before_open(path, marker)
        opened = _open_or_repair(path, synchronous)
    except Problem as problem:
        if is_disk_full(problem.__cause__, folder):
            return _open_read_only(path, _DISK_FULL)
        raise
    except (sqlite3.Error, OSError) as error:
        if is_disk_full(error, folder):
            return _open_read_only(path, _DISK_FULL)
        raise (unwritable_folder(folder, error) if isinstance(error, OSError) else to_problem(error)) from error
    ballast = Ballast(folder)
    ballast.fill()
    opened.database.on_disk_full = ballast.release
    opened.database.on_space_freed = ballast.fill
    return DataFolder(
        path=path,
        database=opened.database,
        ballast=ballast,
        warnings=check.warnings if opened.repair is None else (*check.warnings, opened.repair),
        was_closed=marker is None or marker.closed,
    )


def _repair_before_open(path: Path, marker: ShutdownMarker | None) -> FileCheck:
    """Check the data file and repair it if it is damaged. Raise Problem if it cannot be opened.

    After a clean shutdown, the check is quick; otherwise it reads every page.
    """
    is_log_missing = marker is not None and not marker.closed and not wal_path(path).exists()
    has_log = file_size(wal_path(path)) > 0
    was_closed = marker is not None and path.exists() and is_unchanged(path, marker) and not has_log
    health = check_health(path, thorough=not was_closed)
    match health.state:
        case "missing" | "empty":
            had_data = marker is not None and marker.had_data
            if had_data or has_log:
                raise _missing_file(path, health, marker)
            return FileCheck()
        case "foreign":
            raise foreign_file()
        case "newer":
            raise newer_schema(health.version)
        case "damaged":
            return FileCheck(_salvage(path))
        case "good":
            return FileCheck(_repair_reported_damage(path), is_log_missing)


def _repair_reported_damage(path: Path) -> ErrorDetails | None:
    """If an earlier check found damage while the file was in use, repair it and describe how."""
    report = read_report(path)
    if report is None or not report.errors:
        return None
    repair = _check_and_repair(path)
    report_path(path).unlink(missing_ok=True)
    return repair


def _check_and_repair(path: Path) -> ErrorDetails | None:
    """Check everything in the file. If it is damaged, repair it and describe how.

    Rebuild the indexes if only they are damaged, else salvage the file.
    """
    errors = IntegrityCheck(path).run()
    if not errors:
        return None
    return INDEXES_REBUILT if rebuild_indexes(path, errors) else _salvage(path)


def repair_data_folder(folder: Path) -> FileCheck:
    """Check everything in a closed data file, and repair it if it is damaged.

    Raise Problem if there is no data file, or if it cannot be repaired.
    """
    path = folder / DATABASE_FILE
    try:
        finish_swap(path, replacement_path(path))
        check = _repair_before_open(path, read_marker(path))
        if not path.exists():
            raise Problem("There is no data to repair.", f"{path} does not exist.", "")
        if check.repair is None:
            check = replace(check, repair=_check_and_repair(path))
        _mark_closed(path, intact=True)
        return check
    except (sqlite3.Error, OSError) as error:
        raise (unwritable_folder(folder, error) if isinstance(error, OSError) else to_problem(error)) from error


class _OpenedDatabase(NamedTuple):
    """The writing connection, and how damage was repaired that was found only when it was opened."""

    database: Database
    repair: ErrorDetails | None


def _open_or_repair(path: Path, synchronous: str) -> _OpenedDatabase:
    """Open a file that was checked. If it turns out to be corrupt only now, repair it first."""
    repair = None
    try:
        database = Database(path, synchronous=synchronous)
    except Problem as problem:
        if not is_corruption(problem.__cause__):
            raise
        repair = _salvage(path)
        database = Database(path, synchronous=synchronous)
    try:
        _mark_open(path)
    except BaseException:
        database.close()
        raise
    database.on_closed = lambda intact: _mark_closed(path, intact)
    return _OpenedDatabase(database, repair)


def _mark_open(path: Path) -> None:
    """Make the files of the database private, and record that it is open."""
    for suffix in DATABASE_SUFFIXES:
        # Change the mode by path: closing a descriptor of the file would drop SQLite's POSIX locks in this process.
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.chmod(0o600)
    write_marker(path, closed=False, events=_event_count(path))


def _mark_closed(path: Path, intact: bool) -> bool:
    """Record a clean shutdown, so that the next start can skip the full check. Return whether it was recorded."""
    if not intact or file_size(wal_path(path)):
        return False
    try:
        write_marker(path, closed=True, events=_event_count(path))
    except (OSError, sqlite3.Error):
        return False  # without the record, the next start makes a full check
    return True


def _event_count(path: Path) -> int:
    with closing(open_read_only(path)) as db:
        count: int = db.execute("SELECT coalesce(sum(last_seq), 0) FROM session").fetchone()[0]
    return count


class _ReadOnlyReason(NamedTuple):
    """Why a folder cannot be written, and how to fix that. `fix_with_wal` is for a WAL that cannot be read either."""

    cause: str
    fix: str
    fix_with_wal: str


_NOT_WRITABLE = _ReadOnlyReason(
    "{} is not writable.",
    "Change its permissions, or choose another folder with --data-dir.",
    "Copy the folder to a writable place, and open the copy with --data-dir.",
)
_DISK_FULL = _ReadOnlyReason(
    "The disk of {} is full.", "Free some space, then start again.", "Free some space, then start again."
)


def _open_read_only(path: Path, reason: _ReadOnlyReason) -> DataFolder:
    """Open the data read-only, without writing anything to the folder."""
    cause, fix = reason.cause.format(path.parent), reason.fix
    has_wal = file_size(wal_path(path)) > 0
    try:
        health = check_health(path)
    except sqlite3.Error as error:
        raise Problem("The newest events cannot be read here.", f"{cause} {error}.", reason.fix_with_wal) from error
    match health.state:
        case "foreign":
            raise foreign_file()
        case "newer":
            raise newer_schema(health.version)
        case "missing" | "empty":
            raise Problem("There is no data to show.", cause, fix)
        case "damaged":
            raise Problem("The data file is damaged and cannot be repaired here.", f"{health.error}. {cause}", fix)
        case "good" if health.version < latest_version():
            raise Problem("The data has an older schema and cannot be migrated.", cause, fix)
        case "good":
            warnings = [ErrorDetails("The data is read-only. Nothing can be changed or run.", cause, fix)]
            if _has_events_without_rows(path):
                warnings.append(ErrorDetails("The newest events are not shown.", NOT_DERIVED, fix))
            return DataFolder(
                path=path,
                database=None,
                ballast=Ballast(path.parent),
                warnings=tuple(warnings),
                immutable=not has_wal,
            )


def _has_events_without_rows(path: Path) -> bool:
    """Return whether a crash left events whose timeline rows are missing.

    They could only be written in a writable folder.
    """
    with closing(open_read_only(path)) as db:
        return bool(sessions_behind(db))


def _salvage(path: Path) -> ErrorDetails:
    """Recover what can be read of a damaged file into a new one. Return a warning that describes the result."""
    # Imported here because it imports the codec, which would delay a normal start.
    from core.store.salvage import salvage

    saved = salvage(path)
    events, sessions = quantity(saved.events, "event"), quantity(saved.sessions, "session")
    results = [f"Recovered: {events} in {sessions}"]
    if saved.backup and saved.from_backup:
        results.append(f"added from the backup {saved.backup.path.name}: {quantity(saved.from_backup, 'event')}")
    results.append(f"known to be lost: {quantity(saved.lost, 'event') if saved.lost else 'none'}")
    fix = f"The damaged file was kept as {saved.damaged_file.name}."
    if saved.lost or not saved.events:
        fix += " Check your newest sessions before you continue."
    return ErrorDetails("The data file was damaged and has been repaired.", f"{'; '.join(results)}.", fix)


def _missing_file(path: Path, health: Health, marker: ShutdownMarker | None) -> Problem:
    """Return the Problem for a file that has disappeared: creating a new one would hide the loss."""
    contents = f" with {quantity(marker.events, 'event')}" if marker and marker.events else ""
    state = "missing" if health.state == "missing" else "empty"
    backup = newest_valid_backup(path)
    start_over = f"To start with an empty one, move {marker_path(path).name} away."
    if backup:
        fix = f"Restore the newest valid backup, {backup.summary}, with `journeyman db restore`. {start_over}"
    else:
        fix = f"There is no valid backup. Move the file back. {start_over}"
    return Problem(f"The data file is {state}.", f"{path} existed before{contents}. No new file was created.", fix)


NOT_DERIVED = "Journeyman was not shut down cleanly, and their timeline rows cannot be written here. Nothing is lost."
INDEXES_REBUILT = ErrorDetails(
    "The data file had damaged indexes, which were rebuilt.",
    "Nothing was lost.",
    "If this happens again, check the disk.",
)
WAL_MISSING = ErrorDetails(
    "The newest events may be missing.",
    f"Journeyman was not shut down cleanly, and the file {DATABASE_FILE}-wal, which held them, is missing.",
    "Check your newest sessions before you continue.",
)
