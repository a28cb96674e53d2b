"""Room kept back: real blocks, given up once, made again when there is plenty."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import PersonSpoke
from core.domain.problems import Problem
from core.domain.text import Text
from core.store.ballast import SIZE, Ballast
from core.store.database import Database
from tests.core.store.made import journal_at


def test_it_takes_real_room_and_gives_it_up_once(tmp_path: Path) -> None:
    ballast = Ballast(tmp_path)
    reliefs: list[None] = []
    ballast.on_relief = lambda: reliefs.append(None)
    assert not ballast.relieve()
    assert ballast.fill() and ballast.fill()
    found = ballast.path.stat()
    assert (found.st_size, found.st_mode & 0o777) == (SIZE, 0o600) and found.st_blocks * 512 >= SIZE
    assert ballast.relieve() and not ballast.path.exists() and not ballast.relieve()
    assert len(reliefs) == 1


def test_where_there_is_little_room_none_is_kept_back(tmp_path: Path) -> None:
    assert not Ballast(tmp_path, 2**60).fill()
    assert not Ballast(tmp_path / "nowhere").fill()
    assert list(tmp_path.iterdir()) == []


def full_for(database: Database, pages: int) -> None:
    """A disk that takes `pages` more: SQLite says of its own limit what it says of a full disk."""

    def limit(db: sqlite3.Connection) -> None:
        (count,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {count + pages}")

    asyncio.run(database.do(limit, alone=True))


def test_a_full_disk_is_relieved_and_what_was_asked_is_saved(tmp_path: Path) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, _reader, database):
        name = asyncio.run(journal.open("/tmp", "t"))
        said: list[str] = []
        room: list[bool] = []

        def relieve() -> bool:
            if said:
                return False
            said.append("relieved")
            return True

        database.relieve = relieve
        database.recover = lambda: bool(room)
        full_for(database, 0)
        large: dict[str, Any] = {"blobs": {"c" * 64: bytes(range(256)) * 4000}}
        with pytest.raises(Problem, match=r"The disk is full\..*Free some space"):
            asyncio.run(journal.append(name, PersonSpoke(Text("x" * 100_000)), **large))
        assert said == ["relieved"]
        full_for(database, 1000)
        assert asyncio.run(journal.append(name, PersonSpoke(Text("after")))).seq == 2
        assert database._relieved
        room.append(True)
        assert asyncio.run(journal.append(name, PersonSpoke(Text("after")))).seq == 3
        asyncio.run(database.do(lambda db: None, alone=True))  # the writing thread has gone on
        assert not database._relieved
