"""What state a data file is in, found without changing a byte of it."""

import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.store.files import size_of, wal_of
from core.store.migrate import APPLICATION_ID, newest, owned, version

MAGIC = b"SQLite format 3\0"
DAMAGE = ("SQLITE_NOTADB", "SQLITE_CORRUPT")

State = Literal["missing", "empty", "good", "foreign", "newer", "damaged"]


@dataclass(frozen=True, slots=True)
class Health:
    """`facts` counts the lines of all journals; `why` is what a check said of a damaged file."""

    state: State
    version: int = 0
    facts: int = 0
    sessions: int = 0
    why: str = ""


def look(path: Path, *, thorough: bool = True) -> Health:
    """Its state. `thorough` reads every page; otherwise the header and the first ones."""
    size = size_of(path)
    if not size:
        return Health("empty" if path.exists() else "missing")
    if cut := _cut(path, size):
        return Health("damaged", why=cut)
    try:
        with closing(peek(path)) as db:
            return _judge(db, thorough)
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return Health("damaged", why=str(error))
        raise


def peek(path: Path) -> sqlite3.Connection:
    """Read only. Where no log waits, also without the small files that SQLite makes beside."""
    if size_of(path.with_name(path.name + "-journal")) and _stamp(path) in {0, APPLICATION_ID}:
        flags = "mode=rw"  # a crash in the very first write, which only a writer can take back
    else:
        flags = "mode=ro" if size_of(wal_of(path)) else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{flags}", uri=True, isolation_level=None)


def is_damage(error: BaseException | None) -> bool:
    """Does SQLite say that the file itself is broken?"""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "").startswith(DAMAGE)


def _judge(db: sqlite3.Connection, thorough: bool) -> Health:
    found = version(db)
    if not owned(db):
        return Health("foreign", found)
    if found > newest():
        return Health("newer", found)
    if thorough:
        said = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if said != "ok":
            return Health("damaged", found, why=said)
    if not found:
        return Health("good")
    count = "SELECT count(*) FROM entry" if thorough else "SELECT coalesce(sum(seq), 0) FROM session"
    facts = db.execute(count).fetchone()[0]
    return Health("good", found, facts, db.execute("SELECT count(*) FROM session").fetchone()[0])


def _stamp(path: Path) -> int:
    """The application id as the first page has it."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(72)[68:])


def _cut(path: Path, size: int) -> str:
    """What the first page says that cannot be, so that SQLite need not be asked."""
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(MAGIC):
        return "file is not a database"
    pages, changed, valid = (struct.unpack_from(">I", head, at)[0] for at in (28, 24, 92))
    (page,) = struct.unpack_from(">H", head, 16)
    if changed == valid and size < pages * (65536 if page == 1 else page) and not size_of(wal_of(path)):
        return f"the file ends after {size:,} bytes; it had {pages} pages"
    return ""
