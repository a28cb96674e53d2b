"""The classes say what the migrations made; the figures count it."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import SQLModel, create_engine

from core.store import tables
from core.store.migrate import migrate
from core.store.opening import FILE, open_data
from tests.core.store.made import GOLDEN, fill

NAMES = [
    "blob",
    "entry",
    "memory",
    "memory_place",
    "memory_use",
    "memory_vector",
    "memory_version",
    "proposal",
    "question",
    "rule",
    "schedule",
    "session",
    "skill",
    "skill_use",
    "skill_version",
    "step",
    "unsearched",
]


def form(db: sqlite3.Connection, table: str) -> dict[str, Any]:
    """A table's columns (type, may be null, key), what it refers to, and its indexes."""
    columns = {
        # A whole number that is the key is never null, said or not.
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
    made = [name for (name,) in found if not name.startswith(("sqlite_", "search"))]
    assert sorted(made) == NAMES


@pytest.mark.parametrize("table", NAMES)
def test_a_class_says_what_the_migrations_made(declared: Path, table: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db, closing(sqlite3.connect(declared)) as other:
        migrate(db)
        assert form(other, table) == form(db, table)


def test_a_file_of_the_first_form_becomes_what_a_new_one_is(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes((GOLDEN / "databases" / "v0001.db").read_bytes())
    opened = open_data(tmp_path)
    assert opened.database is not None
    opened.database.close()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db, closing(sqlite3.connect(opened.path)) as old:
        migrate(db)
        made = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
        assert old.execute(made).fetchall() == db.execute(made).fetchall()


def test_figures(tmp_path: Path) -> None:
    path = tmp_path / FILE
    names = fill(path, 10, sessions=2)
    found = tables.figures(path)
    assert found.rows["session"] == 2 and found.rows["entry"] == 56 and found.rows["blob"] == 1
    assert found.stored == path.stat().st_size and found.contents == 11_000
    assert {(row.id, row.facts) for row in found.largest} == {(name, 28) for name in names}


def test_an_ordinary_start_does_without_the_classes_and_the_codec(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom core.store.opening import open_data\nimport core.store.reader\n"
        f"open_data(Path({str(tmp_path)!r})).database.close()\n"
        "print(sorted({'sqlmodel', 'sqlalchemy', 'pydantic', 'asyncio'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "['asyncio']"
