"""Opens SQLite databases of other programs. They are never written to."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path

MAGIC = b"SQLite format 3\0"
# Returns whether the user has canceled reading. SQLite calls it after every STEPS_BETWEEN_CHECKS steps of a query.
is_canceled: ContextVar[Callable[[], bool]] = ContextVar("is_canceled", default=lambda: False)
STEPS_BETWEEN_CHECKS = 50_000  # steps of SQLite's virtual machine, which take a few milliseconds


@contextmanager
def open_foreign_db(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading with named columns. Raise ValueError if its schema or contents are unexpected.

    A view cannot be read: in the place of a table, it could compute without end. If `is_canceled` says so, a query ends
    with ValueError; without an index it could take minutes.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            db.set_authorizer(_refuse_views)
            db.set_progress_handler(is_canceled.get(), STEPS_BETWEEN_CHECKS)
            db.row_factory = sqlite3.Row
            yield db
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error


def _refuse_views(action: int, _first: str | None, _second: str | None, _database: str | None, view: str | None) -> int:
    is_computed = view is not None or action == sqlite3.SQLITE_RECURSIVE
    return sqlite3.SQLITE_DENY if is_computed else sqlite3.SQLITE_OK


def is_sqlite(path: Path) -> bool:
    """Return whether a file is an SQLite database, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def has_columns(path: Path, tables: Mapping[str, set[str]]) -> bool:
    """Return whether the file is a database that has these columns in each of these tables."""
    try:
        with open_foreign_db(path) as db:
            return all(names <= column_names(db, table) for table, names in tables.items())
    except ValueError:
        return False


def column_names(db: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; empty if there is no such table."""
    return {row["name"] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
