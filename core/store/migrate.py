"""Bring a file to the newest form: numbered steps, each in one transaction with its own number."""

import sqlite3
from collections.abc import Callable
from importlib import resources
from importlib.abc import Traversable
from importlib.util import module_from_spec, spec_from_file_location

from core.domain.problems import Problem

APPLICATION_ID = 0x4A4E5259  # "JNRY"

Change = Callable[[sqlite3.Connection], None]


def changes(folder: Traversable | None = None) -> list[tuple[int, Change]]:
    """Every migration there is, in order: `NNNN_why.sql`, or `NNNN_why.py` with a function `run(db)`."""
    folder = folder or resources.files("core.store.migrations")
    names = sorted(item.name for item in folder.iterdir() if item.name[:4].isdigit())
    return [(int(name[:4]), _change(folder / name)) for name in names if name.endswith((".sql", ".py"))]


def newest(folder: Traversable | None = None) -> int:
    """The form this program reads and writes."""
    return changes(folder)[-1][0]


def version(db: sqlite3.Connection) -> int:
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def owned(db: sqlite3.Connection) -> bool:
    """Is this our file, or one that nobody has written to yet?"""
    owner = db.execute("PRAGMA application_id").fetchone()[0]
    return owner == APPLICATION_ID or (
        owner == 0 and db.execute("SELECT 1 FROM sqlite_schema").fetchone() is None and version(db) == 0
    )


def refuse_foreign(db: sqlite3.Connection) -> None:
    """A file of a newer version, or of another program, is left alone."""
    if not owned(db):
        raise foreign()
    if version(db) > newest():
        raise newer(version(db))


def foreign() -> Problem:
    return Problem(
        "This file does not belong to Journeyman.",
        "Its first page names another program.",
        "Choose another data folder with --home, or move the file away.",
    )


def newer(number: int) -> Problem:
    return Problem(
        f"This data was written by a newer Journeyman (form {number}; this one reads up to {newest()}).",
        "An older program could lose what the newer one wrote, so nothing was changed.",
        "Update Journeyman, or choose another data folder with --home.",
    )


def migrate(db: sqlite3.Connection, folder: Traversable | None = None) -> None:
    """Make every step that is missing. A crash in the middle leaves the form before it."""
    for number, change in changes(folder):
        if number <= version(db):
            continue
        db.execute("PRAGMA foreign_keys = 0")  # a table may be made anew; what it leaves is checked below
        db.execute("BEGIN IMMEDIATE")
        try:
            change(db)
            _check_references(db, number)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def statements(script: str) -> list[str]:
    """One by one, because `executescript` commits by itself."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


def _change(file: Traversable) -> Change:
    if file.name.endswith(".py"):
        return lambda db: _run(file, db)
    return lambda db: _execute(file.read_text("utf-8"), db)


def _execute(script: str, db: sqlite3.Connection) -> None:
    for statement in statements(script):
        db.execute(statement)


def _run(file: Traversable, db: sqlite3.Connection) -> None:
    """A name that begins with a digit cannot be imported by a statement."""
    with resources.as_file(file) as path:
        spec = spec_from_file_location(f"migration_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    module.run(db)


def _check_references(db: sqlite3.Connection, number: int) -> None:
    broken = db.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise sqlite3.IntegrityError(f"migration {number} leaves {len(broken)} rows of {broken[0][0]} without a parent")
