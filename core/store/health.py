"""Determines the state of a data file without changing it."""

import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.store.files import file_size, wal_path
from core.store.former_names import VERSION
from core.store.migrate import APPLICATION_ID, is_ours_or_empty, latest_version, schema_version

MAGIC = b"SQLite format 3\0"
CORRUPTION_ERRORS = ("SQLITE_NOTADB", "SQLITE_CORRUPT")
REPAIR_ADVICE = (
    "Restart Journeyman, or close it and run `journeyman db repair`: what can be read is recovered into a new file, "
    "and the damaged file is kept. To go back to a backup instead, use `journeyman db restore`."
)

HealthState = Literal["missing", "empty", "good", "foreign", "newer", "damaged"]


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a data file. `events` is its number of events. `error` says what is wrong, empty if nothing is."""

    state: HealthState
    version: int = 0
    events: int = 0
    sessions: int = 0
    error: str = ""


def check_health(path: Path, *, thorough: bool = True) -> Health:
    """Return the state of a file. With `thorough`, every page is read.

    Otherwise only the header and the schema are checked, and `events` is the sum that the session rows give.
    """
    size = file_size(path)
    if not size:
        return Health("empty" if path.exists() else "missing")
    if damage := _header_error(path, size):
        return Health("damaged", error=damage)
    try:
        with closing(open_read_only(path)) as db:
            return _check(db, thorough)
    except sqlite3.DatabaseError as error:
        if is_corruption(error):
            return Health("damaged", error=str(error))
        raise


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open the database read-only. If there is no WAL to read, SQLite also creates no files next to it."""
    if file_size(path.with_name(path.name + "-journal")) and _application_id(path) in {0, APPLICATION_ID}:
        flags = "mode=rw"  # only a writer can roll back the journal that a crash during the first write left
    else:
        flags = "mode=ro" if file_size(wal_path(path)) else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{flags}", uri=True, isolation_level=None)


def is_corruption(error: BaseException | None) -> bool:
    """Return whether SQLite reports that the file itself is corrupt."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "").startswith(CORRUPTION_ERRORS)


def _check(db: sqlite3.Connection, thorough: bool) -> Health:
    version = schema_version(db)
    if not is_ours_or_empty(db):
        return Health("foreign", version)
    if version > latest_version():
        return Health("newer", version)
    if thorough:
        result = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if result != "ok":
            return Health("damaged", version, error=result)
    if not version:
        return Health("good")
    event_table, last_seq = ("event", "last_seq") if version >= VERSION else ("entry", "seq")
    count_query = (
        f"SELECT count(*) FROM {event_table}" if thorough else f"SELECT coalesce(sum({last_seq}), 0) FROM session"
    )
    (events,) = db.execute(count_query).fetchone()
    (sessions,) = db.execute("SELECT count(*) FROM session").fetchone()
    return Health("good", version, events, sessions)


def _application_id(path: Path) -> int:
    """Return the application ID in the header of the database, which identifies its program."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(72)[68:72])


def _header_error(path: Path, size: int) -> str:
    """Return how the header shows that the file is damaged, or "".

    Also detects a file that is too short for SQLite to open.
    """
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(MAGIC):
        return "file is not a database"
    (stored_page_size,) = struct.unpack_from(">H", header, 16)
    page_size = 65536 if stored_page_size == 1 else stored_page_size
    (change_counter, page_count) = struct.unpack_from(">II", header, 24)
    (page_count_valid_for,) = struct.unpack_from(">I", header, 92)  # the change counter when the count was written
    is_too_short = change_counter == page_count_valid_for and size < page_count * page_size
    if is_too_short and not file_size(wal_path(path)):
        return f"the file ends after {size:,} bytes; it had {page_count} pages"
    return ""
