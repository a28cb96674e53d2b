"""Save what can still be read of a damaged file: facts and contents, row by row; everything else is folded again."""

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from core.domain.events import KINDS
from core.domain.problems import Problem
from core.store.backup import Backup, newest_good, next_of
from core.store.blobs import Damaged, blob_hash, inflate
from core.store.codec import decode
from core.store.files import ASIDE, in_place_of, put_in_place, wal_of
from core.store.health import look, peek
from core.store.keys import place, span
from core.store.marker import read_marker
from core.store.migrate import migrate
from core.store.pages import Pages, Value
from core.store.rebuild import rebuild

BATCH = 500
NAME = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(slots=True)
class Saved:
    """What came out of a damaged file, in numbers. `aside` is where that file is now.

    `facts` and `texts` are of the file, `filled` are facts that only the `backup` had, `lost` are lines that are known
    to be missing.
    """

    aside: Path
    facts: int = 0
    texts: int = 0
    filled: int = 0
    lost: int = 0
    sessions: int = 0
    backup: Backup | None = None


def salvage(path: Path) -> Saved:
    """Make a whole file of what can be read of `path` and of the newest good backup; set the damaged one aside."""
    saved = Saved(path)
    try:
        with in_place_of(next_of(path)) as part:
            with closing(sqlite3.connect(part, isolation_level=None)) as db:
                _refill(db, path, saved)
            found = look(part)
            if found.state != "good":
                raise Problem("What was saved of the data file could not be read back.", f"{found.why}.", ADVICE)
        saved.aside = put_in_place(next_of(path), path, ASIDE[0])
    except (sqlite3.Error, OSError) as error:
        raise Problem("The data file is damaged and could not be mended.", f"{error}.", ADVICE) from error
    return saved


ADVICE = "The damaged file was left as it is. Free some space and check the disk, then start again."


def _refill(db: sqlite3.Connection, path: Path, saved: Saved) -> None:
    db.execute("PRAGMA journal_mode = OFF")  # a crash leaves a part that is thrown away
    db.execute("PRAGMA synchronous = OFF")
    migrate(db)
    db.execute("BEGIN")
    ends = _collect(db, Pages(path, wal_of(path)), saved)
    saved.backup = newest_good(path)
    if saved.backup:
        saved.filled = _fill(db, saved.backup.path, ends)
    done = rebuild(db, {number: name for number, (name, _) in ends.items()})
    db.execute("COMMIT")
    saved.sessions = done.sessions
    saved.lost = max(done.gaps + _cut_ends(db, ends), _noted(path) - saved.facts - saved.filled)


def _noted(path: Path) -> int:
    """How many facts there were when the mark beside the file was written."""
    marker = read_marker(path)
    return marker.facts if marker else 0


def _collect(db: sqlite3.Connection, pages: Pages, saved: Saved) -> dict[int, tuple[str, int]]:
    """Keep every fact and text that is what it says it is; return what session lines said of id and length."""
    ends: dict[int, tuple[str, int]] = {}
    for number, values in pages.rows():
        match values:
            case (None, int(), int(), str(kind), str(payload)) if kind in KINDS and place(number):
                if _states_a_fact(kind, payload):
                    saved.facts += db.execute(INSERT_ENTRY, (number, *values[1:])).rowcount
            case (str(name), int(), bytes(body)) if len(name) == 64:
                if _is_what_it_says(name, body):
                    saved.texts += db.execute(INSERT_BLOB, values).rowcount
            case (None, str(), str(), int(), str(), int(), int(), int()):
                db.execute(INSERT_SKILL, (number, *values[1:]))
            case (int(), int(), str(), int(), str(), str(digest), str(), str(), str()) if len(digest) == 64:
                db.execute(INSERT_VERSION, values)
            case (str(), int(), int(), str(), str(), str(), str(), int(), str(), str(), int()):
                db.execute(INSERT_CHANGE, values)
            case (str(), int(), str(), int(), int(), float() | int(), int(), str()):
                db.execute(INSERT_USE, values)
            case (None, str(), str(), str(), str(), str(), float() | int(), *_):
                pass  # a memory, which is made anew from its changes
            case (None, str(name), *_) if len(values) >= COLUMNS:
                if end := _end_of(name, values):
                    ends[number] = end
            case _:
                pass
    return ends


COLUMNS = 18  # of a session's line; newer forms add some behind
SEQ = 10  # its column that says how long the journal is
INSERT_ENTRY = "INSERT OR IGNORE INTO entry VALUES (?, ?, ?, ?, ?)"
INSERT_BLOB = "INSERT OR IGNORE INTO blob VALUES (?, ?, ?)"
INSERT_SKILL = "INSERT OR IGNORE INTO skill VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_CHANGE = "INSERT OR IGNORE INTO memory_version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_USE = "INSERT OR IGNORE INTO memory_use VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_VERSION = "INSERT OR IGNORE INTO skill_version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def _states_a_fact(kind: str, payload: str) -> bool:
    try:
        decode(kind, payload)
    except ValueError:
        return False
    return True


def _is_what_it_says(name: str, body: bytes) -> bool:
    try:
        return blob_hash(inflate(body)) == name
    except Damaged:
        return False


def _end_of(name: str, values: tuple[Value, ...]) -> tuple[str, int] | None:
    """The id and the length of a journal, as its session's line says."""
    length = values[SEQ]
    return (name, length) if NAME.fullmatch(name) and isinstance(length, int) and length > 0 else None


def _fill(db: sqlite3.Connection, backup: Path, ends: dict[int, tuple[str, int]]) -> int:
    """Add what only the backup has, session by session, where both tell the same story."""
    filled = 0
    with closing(peek(backup)) as source:
        for number, name, length in source.execute("SELECT number, id, seq FROM session").fetchall():
            rows = source.execute("SELECT * FROM entry WHERE id BETWEEN ? AND ?", span(number)).fetchall()
            if ends.get(number, (name, 0))[0] == name and not _differ(db, rows):
                ends.setdefault(number, (name, length))
                filled += db.executemany(INSERT_ENTRY, rows).rowcount
        _copy_kept(db, source)
        # `size` is that of the contents, so a text of the backup is as good as that of the file.
        for row in source.execute("SELECT hash, size, body FROM blob"):
            db.execute(INSERT_BLOB, row)
    return filled


KEPT = (
    "rule",
    "schedule",
    "skill",
    "skill_version",
    "proposal",
    "memory_version",
    "memory_use",
)  # tables that no fact tells of


def _copy_kept(db: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """What only the backup tells in full. A backup of an older form has not all of it."""
    there = {name for (name,) in source.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in KEPT:
        columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")] if table in there else []
        if columns:
            names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" for _ in columns)
            rows = source.execute(f"SELECT {names} FROM {table}")
            db.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)


def _differ(db: sqlite3.Connection, rows: list[tuple[Value, ...]]) -> bool:
    """Does a line of the file say something else? Then an older backup was restored once, and this is another past."""
    for row in rows:
        found = db.execute("SELECT * FROM entry WHERE id = ?", row[:1]).fetchone()
        if found is not None and found != row:
            return True
    return False


def _cut_ends(db: sqlite3.Connection, ends: dict[int, tuple[str, int]]) -> int:
    """Lines behind the last one that is left, as far as the sessions' lines tell."""
    lost = 0
    for number, (_, length) in ends.items():
        last = db.execute("SELECT max(id) FROM entry WHERE id BETWEEN ? AND ?", span(number)).fetchone()[0]
        lost += max(0, length - (place(last) if last else 0))
    return lost
