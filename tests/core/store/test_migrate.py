"""Migrations: after a backup, each one is applied completely or not at all."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store import migrate as migrate_module
from core.store.backup import verify
from core.store.database import Database
from core.store.migrate import NumberedMigration, latest_version, list_migrations, migrate, schema_version, statements
from tests.core.store.made import dump, fill

FIRST = "CREATE TABLE a (x INTEGER PRIMARY KEY);\nINSERT INTO a VALUES (1), (2);\n"
SECOND = "-- why; and how\nALTER TABLE a ADD COLUMN y TEXT;\nUPDATE a SET y = 'semi;colon';\n"
THIRD = "def run(db):\n    db.execute('INSERT INTO a SELECT x + 10, upper(y) FROM a')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "migrations"
    made.mkdir()
    (made / "0001_start.sql").write_text(FIRST)
    (made / "__init__.py").write_text("")
    return made


def test_statements_are_split_where_they_end() -> None:
    assert len(statements(SECOND)) == 2
    trigger = "CREATE TRIGGER t BEFORE UPDATE ON a\nBEGIN\n    SELECT 1;\n    SELECT 2;\nEND;\nSELECT 3;\n"
    assert len(statements(trigger)) == 2


def test_each_migration_runs_once_in_order(folder: Path) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db, folder)
        (folder / "0003_more.py").write_text(THIRD)
        (folder / "0002_add.sql").write_text(SECOND)
        assert [number for number, _ in list_migrations(folder)] == [1, 2, 3] and latest_version(folder) == 3
        for _ in range(2):
            migrate(db, folder)
            assert schema_version(db) == 3
            found = db.execute("SELECT x, y FROM a ORDER BY x").fetchall()
            assert found == [(1, "semi;colon"), (2, "semi;colon"), (11, "SEMI;COLON"), (12, "SEMI;COLON")]


@pytest.mark.parametrize(
    "broken",
    [
        "ALTER TABLE a ADD COLUMN y TEXT;\nINSERT INTO nowhere VALUES (1);\n",
        "CREATE TABLE b (z REFERENCES a (x));\nINSERT INTO b VALUES (99);\n",
        "ALTER TABLE a ADD COLUMN y TEXT;\nUPDATE a SET y = 'the semicolon is missing'\n",
    ],
)
def test_a_failing_migration_leaves_the_previous_schema(folder: Path, broken: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db, folder)
        before = list(db.iterdump())
        (folder / "0002_bad.sql").write_text(broken)
        db.execute("PRAGMA foreign_keys = 1")
        with pytest.raises((sqlite3.Error, ValueError)):
            migrate(db, folder)
        assert list(db.iterdump()) == before and schema_version(db) == 1
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)
        (folder / "0002_bad.sql").write_text(SECOND)
        migrate(db, folder)
        assert schema_version(db) == 2


def test_an_older_file_is_backed_up_first_and_a_new_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journeyman.db"
    fill(path, 3)
    assert not (tmp_path / "backups").exists()
    before = dump(path)
    real = migrate_module.list_migrations()
    known = real[-1].number

    def add_column(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE session ADD COLUMN made_up INTEGER NOT NULL DEFAULT 0")

    second = NumberedMigration(known + 1, add_column)
    monkeypatch.setattr(migrate_module, "list_migrations", lambda folder=None: [*real, second])
    Database(path).close()
    (made,) = (tmp_path / "backups").iterdir()
    assert made.name.endswith(f"-before-v{known + 1:04}.db")
    assert verify(made).is_valid and verify(made).health.version == known
    assert dump(made) == before
    assert dump(path)["session"][0] == (*before["session"][0], 0)
    Database(path).close()
    assert len(list((tmp_path / "backups").iterdir())) == 1


def test_two_migrations_with_the_same_number_are_an_error(folder: Path) -> None:
    (folder / "0001_other.sql").write_text(SECOND)
    with pytest.raises(ValueError, match="0001_other"):
        list_migrations(folder)


def test_no_number_is_used_twice_and_migration_files_are_of_a_known_kind() -> None:
    found = [number for number, _ in list_migrations()]
    assert found == sorted(set(found)) and found[0] == 1
