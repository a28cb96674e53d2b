"""Recovers the readable rows of a damaged file into a new file, then rebuilds everything derived from events."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from core.domain.events import EVENT_CLASSES
from core.domain.problems import Problem
from core.store.backup import Backup, newest_valid_backup, replacement_path
from core.store.blobs import CorruptBlob, blob_hash, decompress
from core.store.codec import decode_event
from core.store.files import DAMAGED, replace_atomically, swap_in, wal_path
from core.store.former_names import KINDS, VERSION, rename_values, renamed_text
from core.store.health import MAGIC, check_health, open_read_only
from core.store.marker import read_marker
from core.store.migrate import latest_version, migrate, schema_version
from core.store.page_reader import PageReader, Value
from core.store.rebuild import rebuild
from core.store.row_keys import key_range, offset_of

SESSION_ID = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(slots=True)
class SalvageResult:
    """What was recovered from a damaged file, which is now at `damaged_file`.

    `events` and `blobs` count what came from the file itself. `from_backup` counts the events that only `backup` had,
    and `lost` the events that are known to be missing.
    """

    damaged_file: Path
    events: int = 0
    blobs: int = 0
    from_backup: int = 0
    lost: int = 0
    sessions: int = 0
    backup: Backup | None = None


class _SessionClaim(NamedTuple):
    """The ID of a session, and the number of its events, according to its row."""

    name: str
    length: int


_Claims = dict[int, _SessionClaim]  # by session number


def salvage(path: Path) -> SalvageResult:
    """Replace a damaged file by one made of its readable rows and of the newest valid backup.

    The damaged file is renamed.
    """
    saved = SalvageResult(path)
    try:
        with replace_atomically(replacement_path(path)) as part:
            with closing(sqlite3.connect(part, isolation_level=None)) as db:
                _build(db, path, saved)
            health = check_health(part)
            if health.state != "good":
                raise Problem("The recovered data file failed verification.", f"{health.error}.", ADVICE)
        saved.damaged_file = swap_in(replacement_path(path), path, DAMAGED)
    except (sqlite3.Error, OSError) as error:
        raise Problem("The data file is damaged and could not be repaired.", f"{error}.", ADVICE) from error
    return saved


ADVICE = "The damaged file was not changed. Free some space and check the disk, then start again."


def _build(db: sqlite3.Connection, path: Path, saved: SalvageResult) -> None:
    db.execute("PRAGMA journal_mode = OFF")  # no journal is needed: after a crash, the partial file is discarded
    db.execute("PRAGMA synchronous = OFF")
    migrate(db)
    db.execute("BEGIN")
    pages = PageReader(path, wal_path(path))
    has_former_names = _has_former_names(path, pages)
    claims = _collect(db, pages, saved, has_former_names)
    if has_former_names:
        rename_values(db)
    saved.backup = newest_valid_backup(path)
    if saved.backup:
        with _migrated(saved.backup.path) as backup:
            saved.from_backup = _add_from_backup(db, backup, claims)
    rebuilt = rebuild(db, {number: claim.name for number, claim in claims.items()})
    db.execute("COMMIT")
    saved.sessions = rebuilt.sessions
    missing_in_sessions = rebuilt.gaps + _count_missing_ends(db, claims)
    missing_in_file = _recorded_count(path) - saved.events - saved.from_backup
    saved.lost = max(missing_in_sessions, missing_in_file)


def _recorded_count(path: Path) -> int:
    """Return the number of events that the shutdown marker last recorded, or 0."""
    marker = read_marker(path)
    return marker.events if marker else 0


def _has_former_names(path: Path, pages: PageReader) -> bool:
    """Return whether the schema of the file is older than version 16, which renamed events and columns.

    If the header is unreadable, the kinds of the events decide.
    """
    with path.open("rb") as file:
        header = file.read(100)
    if header.startswith(MAGIC) and (number := int.from_bytes(header[60:64])):
        return number < VERSION
    return any(len(row.values) == 5 and row.values[3] in KINDS for row in pages.rows())


@contextmanager
def _migrated(backup: Path) -> Iterator[Path]:
    """Yield the backup, or a migrated copy if it has an older schema. The copy is deleted afterwards."""
    with closing(open_read_only(backup)) as source:
        if schema_version(source) == latest_version():
            yield backup
            return
    with TemporaryDirectory(dir=backup.parent) as folder:
        copy = Path(folder, backup.name)
        with closing(open_read_only(backup)) as source, closing(sqlite3.connect(copy, isolation_level=None)) as db:
            source.backup(db)
            migrate(db)
        yield copy


def _collect(db: sqlite3.Connection, pages: PageReader, saved: SalvageResult, has_former_names: bool) -> _Claims:
    """Copy every valid event, blob and other row. Return what the session rows claim.

    A page does not say to which table it belongs, so the table of a row is recognized by the number and types of its
    columns.
    """
    claims: _Claims = {}
    kinds = {*EVENT_CLASSES, *KINDS} if has_former_names else EVENT_CLASSES.keys()
    for number, values in pages.rows():
        match values:
            case (None, int(run), int(at), str(kind), str(payload)) if kind in kinds and offset_of(number):
                name, text = renamed_text(kind, payload) if has_former_names else (kind, payload)
                if _is_valid_event(name, text):
                    saved.events += db.execute(INSERT_EVENT, (number, run, at, name, text)).rowcount
            case (str(name), int(), bytes(body)) if len(name) == 64:
                if _matches_hash(name, body):
                    saved.blobs += db.execute(INSERT_BLOB, values).rowcount
            case (None, str(), str(), int(), str(), int(), int(), int()):
                db.execute(INSERT_SKILL, (number, *values[1:]))
            case (int(), int(), str(), int(), str(), str(digest), str(), str(), str()) if len(digest) == 64:
                db.execute(INSERT_VERSION, values)
            case (str(), int(), int(), str(), str(), str(), str(), int(), str(), str(), int()):
                db.execute(INSERT_CHANGE, values)
            case (str(), int(), str(), int(), int(), float() | int(), int(), str()):
                db.execute(INSERT_USE, values)
            case (None, str(), str(), str(), str(), str(), float() | int(), *_):
                pass  # not copied, because the memory is rebuilt from its versions
            case (None, str(name), *_) if len(values) >= SESSION_COLUMN_COUNT:
                if claim := _session_claim(name, values):
                    claims[number] = claim
            case _:
                pass
    return claims


SESSION_COLUMN_COUNT = 18  # number of columns of a session row in the first schema; later schemas append columns
LAST_SEQ_COLUMN = 10  # index of the column with the number of events in a session row
INSERT_EVENT = "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?)"
INSERT_BLOB = "INSERT OR IGNORE INTO blob VALUES (?, ?, ?)"
INSERT_SKILL = "INSERT OR IGNORE INTO skill VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_CHANGE = "INSERT OR IGNORE INTO memory_version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_USE = "INSERT OR IGNORE INTO memory_use VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_VERSION = "INSERT OR IGNORE INTO skill_version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def _is_valid_event(kind: str, payload: str) -> bool:
    try:
        decode_event(kind, payload)
    except ValueError:
        return False
    return True


def _matches_hash(name: str, body: bytes) -> bool:
    try:
        return blob_hash(decompress(body)) == name
    except CorruptBlob:
        return False


def _session_claim(name: str, values: tuple[Value, ...]) -> _SessionClaim | None:
    """Return the ID and the number of events that a session row claims, or None if they are not plausible."""
    length = values[LAST_SEQ_COLUMN]
    if SESSION_ID.fullmatch(name) and isinstance(length, int) and length > 0:
        return _SessionClaim(name, length)
    return None


def _add_from_backup(db: sqlite3.Connection, backup: Path, claims: _Claims) -> int:
    """Add what only the backup has: events of the sessions that do not differ, blobs, and tables that are not derived.

    Return how many events were added.
    """
    added = 0
    with closing(open_read_only(backup)) as source:
        for number, name, length in source.execute("SELECT number, id, last_seq FROM session").fetchall():
            rows = source.execute("SELECT * FROM event WHERE id BETWEEN ? AND ?", key_range(number)).fetchall()
            claim = claims.get(number)
            is_same_session = claim is None or claim.name == name
            if is_same_session and not _differ(db, rows):
                claims.setdefault(number, _SessionClaim(name, length))
                added += db.executemany(INSERT_EVENT, rows).rowcount
        _copy_unlogged(db, source)
        # A blob is stored under the hash of its content, so the backup's copy can replace a lost one.
        for row in source.execute("SELECT hash, size, body FROM blob"):
            db.execute(INSERT_BLOB, row)
    return added


# Tables that cannot be rebuilt from events.
UNLOGGED_TABLES = ("rule", "schedule", "skill", "skill_version", "proposal", "memory_version", "memory_use")


def _copy_unlogged(db: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """Copy the tables that cannot be rebuilt from events. A backup with an older schema may lack some of them."""
    existing = {name for (name,) in source.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in UNLOGGED_TABLES:
        if table not in existing:
            continue
        columns = [f'"{row[1]}"' for row in source.execute(f"PRAGMA table_info({table})")]
        names = ", ".join(columns)
        marks = ", ".join("?" for _ in columns)
        rows = source.execute(f"SELECT {names} FROM {table}")
        db.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)


def _differ(db: sqlite3.Connection, rows: list[tuple[Value, ...]]) -> bool:
    """Return whether an event in the backup differs from the recovered event with the same key.

    If so, an older backup was restored at some time, and the two files have diverged since.
    """
    for row in rows:
        recovered = db.execute("SELECT * FROM event WHERE id = ?", row[:1]).fetchone()
        if recovered is not None and recovered != row:
            return True
    return False


def _count_missing_ends(db: sqlite3.Connection, claims: _Claims) -> int:
    """Return how many events are missing at the ends of sessions, according to what the session rows claim."""
    missing = 0
    for number, claim in claims.items():
        (last_key,) = db.execute("SELECT max(id) FROM event WHERE id BETWEEN ? AND ?", key_range(number)).fetchone()
        last_seq = offset_of(last_key) if last_key else 0
        missing += max(0, claim.length - last_seq)
    return missing
