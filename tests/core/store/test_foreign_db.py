"""Databases of other programs may come from anybody: nothing in them is computed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.foreign_db import open_foreign_db


@pytest.mark.parametrize(
    "view",
    [
        "SELECT id FROM messages",
        "WITH RECURSIVE counted(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM counted LIMIT 9) SELECT id FROM counted",
    ],
)
def test_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path, view: str) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE messages (id)")
        made.execute("INSERT INTO messages VALUES (7)")
        made.execute(f"CREATE VIEW sessions AS {view}")
        made.commit()
    with open_foreign_db(path) as db:
        assert [row["id"] for row in db.execute("SELECT id FROM messages")] == [7]
    with pytest.raises(ValueError), open_foreign_db(path) as db:
        db.execute("SELECT * FROM sessions").fetchall()
