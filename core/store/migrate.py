"""Updates a data file to the latest schema.

Each numbered migration is one transaction, which also sets `user_version`.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from importlib import resources
from importlib.abc import Traversable
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from typing import NamedTuple

from core.domain.problems import Problem

APPLICATION_ID = 0x4A4E5259  # "JNRY", which marks an SQLite file as ours
# The version of schema.sql. A new file gets that schema at once, because running all migrations takes much longer.
SNAPSHOT_VERSION = 20

Migration = Callable[[sqlite3.Connection], None]


class NumberedMigration(NamedTuple):
    """A migration, and the schema version that it leads to."""

    number: int
    apply: Migration


def list_migrations(folder: Traversable | None = None) -> list[NumberedMigration]:
    """Return all migrations in order.

    They are files `NNNN_title.sql`, or `NNNN_title.py` with a function `run(db)`. Raise ValueError if two files have
    the same number, because only one of them would be applied.
    """
    folder = folder or resources.files("core.store.migrations")
    names = sorted(item.name for item in folder.iterdir() if item.name[:4].isdigit())
    names = [name for name in names if name.endswith((".sql", ".py"))]
    for name, next_name in pairwise(names):
        if name[:4] == next_name[:4]:
            raise ValueError(f"the migrations {name} and {next_name} have the same number")
    return [NumberedMigration(int(name[:4]), _read_migration(folder / name)) for name in names]


def latest_version(folder: Traversable | None = None) -> int:
    """Return the schema version that this program reads and writes."""
    return list_migrations(folder)[-1].number


def schema_version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def is_ours_or_empty(db: sqlite3.Connection) -> bool:
    """Return whether the file was written by Journeyman or is empty."""
    (application_id,) = db.execute("PRAGMA application_id").fetchone()
    if application_id == APPLICATION_ID:
        return True
    has_schema = db.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None
    return application_id == 0 and schema_version(db) == 0 and not has_schema


def check_compatible(db: sqlite3.Connection) -> None:
    """Raise Problem if the file belongs to another program or has a newer schema."""
    if not is_ours_or_empty(db):
        raise foreign_file()
    if schema_version(db) > latest_version():
        raise newer_schema(schema_version(db))


def foreign_file() -> Problem:
    return Problem(
        "This file does not belong to Journeyman.",
        "Its header names another program.",
        "Choose another data folder with --data-dir, or move the file away.",
    )


def newer_schema(number: int) -> Problem:
    return Problem(
        f"This data was written by a newer Journeyman (schema {number}; this one reads up to {latest_version()}).",
        "An older version could lose data that the newer one wrote, so nothing was changed.",
        "Update Journeyman, or choose another data folder with --data-dir.",
    )


def migrate(db: sqlite3.Connection, folder: Traversable | None = None) -> None:
    """Apply all missing migrations. A crash during one leaves the previous version of the schema."""
    if folder is None and not schema_version(db):
        snapshot = resources.files("core.store.migrations") / "schema.sql"
        _apply(db, SNAPSHOT_VERSION, partial(_run_script, snapshot.read_text("utf-8")))
    current = schema_version(db)
    missing = [migration for migration in list_migrations(folder) if migration.number > current]
    (enforced,) = db.execute("PRAGMA foreign_keys").fetchone()
    db.execute("PRAGMA foreign_keys = 0")  # a migration may recreate a table, so references are checked only at its end
    try:
        for migration in missing:
            _apply(db, migration.number, migration.apply)
    finally:
        db.execute(f"PRAGMA foreign_keys = {enforced}")


def _apply(db: sqlite3.Connection, number: int, apply: Migration) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        apply(db)
        _check_references(db, number)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def statements(script: str) -> list[str]:
    """Split a script into statements. `executescript` is not used, because it commits.

    Raise ValueError if the last statement is incomplete, for example without its semicolon.
    """
    complete: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            complete.append(pending)
            pending = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in pending.splitlines()):
        raise ValueError(f"the script ends in an incomplete statement: {pending.strip()}")
    return complete


def _read_migration(file: Traversable) -> Migration:
    if file.name.endswith(".py"):
        return lambda db: _run_module(file, db)
    return lambda db: _run_script(file.read_text("utf-8"), db)


def _run_script(script: str, db: sqlite3.Connection) -> None:
    for statement in statements(script):
        db.execute(statement)


def _run_module(file: Traversable, db: sqlite3.Connection) -> None:
    """Load and run a Python migration. An import statement could not, because module names start with a digit."""
    with resources.as_file(file) as path:
        spec = spec_from_file_location(f"migration_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    module.run(db)


def _check_references(db: sqlite3.Connection, number: int) -> None:
    broken = db.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise sqlite3.IntegrityError(
            f"migration {number} leaves {len(broken)} rows of {broken[0][0]} with a broken foreign key"
        )
