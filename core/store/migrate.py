"""Bring a file to the newest form: numbered steps, each in one transaction with its own number."""

import sqlite3
from importlib import resources

from core.domain.problems import Problem

APPLICATION_ID = 0x4A4E5259  # "JNRY"


def scripts() -> list[tuple[int, str]]:
    """Every migration there is, in order."""
    folder = resources.files("core.store.migrations")
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text("utf-8")) for name in names]


def newest() -> int:
    """The form this program reads and writes."""
    return scripts()[-1][0]


def version(db: sqlite3.Connection) -> int:
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def refuse_foreign(db: sqlite3.Connection) -> None:
    """A file of a newer version, or of another program, is left alone."""
    owner = db.execute("PRAGMA application_id").fetchone()[0]
    if owner not in {0, APPLICATION_ID} or (owner == 0 and db.execute("SELECT 1 FROM sqlite_schema").fetchone()):
        raise Problem(
            "This file does not belong to Journeyman.",
            "Its first page names another program.",
            "Choose another data folder with --home, or move the file away.",
        )
    if version(db) > newest():
        raise Problem(
            f"This data was written by a newer Journeyman (form {version(db)}; this one reads up to {newest()}).",
            "An older program could lose what the newer one wrote, so nothing was changed.",
            "Update Journeyman, or choose another data folder with --home.",
        )


def migrate(db: sqlite3.Connection) -> None:
    """Make every step that is missing. A crash in the middle leaves the form before it."""
    for number, script in scripts():
        if number <= version(db):
            continue
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements(script):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
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
