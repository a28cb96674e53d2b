"""The SQLModel tables match the migrations, and the statistics count them."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import SQLModel, create_engine

from core.store import tables
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.migrate import latest_version, migrate, schema_version
from tests.core.store.made import GOLDEN, fill

NAMES = [
    "blob",
    "event",
    "memory",
    "memory_embedding",
    "memory_scope",
    "memory_use",
    "memory_version",
    "pending_request",
    "proposal",
    "rule",
    "schedule",
    "search_backlog",
    "session",
    "skill",
    "skill_use",
    "skill_version",
    "step",
    "untrusted_file",
]


def form(db: sqlite3.Connection, table: str) -> dict[str, Any]:
    """Return a table's columns (type, nullability, default, key), foreign keys and indexes."""
    columns = {
        # An INTEGER PRIMARY KEY is never null, declared so or not.
        name: (type_, bool(notnull) or (bool(key) and type_ == "INTEGER"), default, key)
        for _, name, type_, notnull, default, key, _ in db.execute(f"PRAGMA table_xinfo({table})")
    }
    refers = [row[2:7] for row in db.execute(f"PRAGMA foreign_key_list({table})")]
    indexes = sorted(
        (bool(unique), [row[2] for row in db.execute(f"PRAGMA index_info({name})")])
        for _, name, unique, origin, partial in db.execute(f"PRAGMA index_list({table})")
        if not partial
    )
    (made,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    return {"columns": columns, "refers": refers, "indexes": indexes, "counts": "AUTOINCREMENT" in made}


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("declared") / "declared.db"
    engine = create_engine(f"sqlite:///{path}")
    SQLModel.metadata.create_all(engine)
    engine.dispose()
    return path


def test_every_table_is_declared() -> None:
    assert sorted(SQLModel.metadata.tables) == NAMES
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        found = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    made = [name for (name,) in found if not name.startswith(("sqlite_", "event_search", "memory_search"))]
    assert sorted(made) == NAMES


@pytest.mark.parametrize("table", NAMES)
def test_a_class_matches_the_migrated_schema(declared: Path, table: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db, closing(sqlite3.connect(declared)) as other:
        migrate(db)
        assert form(other, table) == form(db, table)


def test_a_file_of_the_first_schema_becomes_equal_to_a_new_one(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes((GOLDEN / "databases" / "v0001.db").read_bytes())
    opened = open_data_folder(tmp_path)
    assert opened.database is not None
    opened.database.close()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db, closing(sqlite3.connect(opened.path)) as old:
        migrate(db)
        # The tables of a renamed full-text index have other quotation marks.
        made = "SELECT type, name, tbl_name, replace(sql, char(39), char(34)) FROM sqlite_schema ORDER BY name"
        assert old.execute(made).fetchall() == db.execute(made).fetchall()
        assert schema_version(old) == schema_version(db) == latest_version()


def test_figures(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    names = fill(path, 10, sessions=2)
    found = tables.collect_stats(path)
    assert found.rows["session"] == 2 and found.rows["event"] == 56 and found.rows["blob"] == 1
    assert found.disk_bytes == path.stat().st_size and found.blob_bytes == 11_000
    assert {(row.id, row.events) for row in found.largest} == {(name, 28) for name in names}


def test_an_ordinary_start_loads_neither_the_classes_nor_the_codec(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from core.store.data_folder import open_data_folder\nimport core.store.reader\n"
        f"open_data_folder(Path({str(tmp_path)!r})).database.close()\n"
        "print(sorted({'sqlmodel', 'sqlalchemy', 'pydantic', 'asyncio'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "['asyncio']"
