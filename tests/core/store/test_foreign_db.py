"""Databases of other programs may come from anybody: nothing in them is computed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.foreign_db import is_canceled, open_foreign_db


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


def test_a_query_without_an_end_can_be_canceled(tmp_path: Path) -> None:
    """Without an index, a query compares every row with every other."""
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE messages (id)")
        made.executemany("INSERT INTO messages VALUES (?)", ((number,) for number in range(3_000)))
        made.commit()
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 3

    token = is_canceled.set(stop)
    try:
        with pytest.raises(ValueError, match="interrupted"), open_foreign_db(path) as db:
            db.execute(
                "SELECT count(*) FROM messages a, messages b, messages c WHERE a.id + b.id + c.id < 0"
            ).fetchall()
    finally:
        is_canceled.reset(token)
    assert len(asked) == 4
