"""The reserved disk space: real blocks, released once, reserved again when the disk has plenty."""

import asyncio
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import UserMessage
from core.domain.problems import Problem
from core.domain.text import Text
from core.store.ballast import BALLAST_SIZE, Ballast
from core.store.database import Database
from tests.core.store.made import journal_at
from tests.sessions import create_session


def test_ballast_occupies_real_space_and_frees_it_once(tmp_path: Path) -> None:
    ballast = Ballast(tmp_path)
    reliefs: list[None] = []
    ballast.on_release = lambda: reliefs.append(None)
    assert not ballast.release()
    assert ballast.fill() and ballast.fill()
    found = ballast.path.stat()
    assert (found.st_size, found.st_mode & 0o777) == (BALLAST_SIZE, 0o600) and found.st_blocks * 512 >= BALLAST_SIZE
    assert ballast.release() and not ballast.path.exists() and not ballast.release()
    assert len(reliefs) == 1


def test_no_ballast_is_kept_on_a_nearly_full_disk(tmp_path: Path) -> None:
    assert not Ballast(tmp_path, 2**60).fill()
    assert not Ballast(tmp_path / "nowhere").fill()
    assert list(tmp_path.iterdir()) == []


def full_for(database: Database, pages: int) -> None:
    """Limit the database to `pages` more pages: SQLite reports its own limit like a full disk."""

    def limit(db: sqlite3.Connection) -> None:
        (count,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {count + pages}")

    asyncio.run(database.run(limit, no_transaction=True))


def test_ballast_is_released_on_a_full_disk_and_the_write_succeeds(tmp_path: Path) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, _reader, database):
        name = asyncio.run(create_session(journal, "/tmp", "t"))
        said: list[str] = []
        room: list[bool] = []

        def relieve() -> bool:
            if said:
                return False
            said.append("relieved")
            return True

        database.on_disk_full = relieve
        database.on_space_freed = lambda: bool(room)
        full_for(database, 0)
        large: dict[str, Any] = {"blobs": {"c" * 64: random.Random(1).randbytes(1_000_000)}}
        with pytest.raises(Problem, match=r"The disk is full\..*Free some space"):
            asyncio.run(journal.append(name, UserMessage(Text("x" * 100_000)), **large))
        assert said == ["relieved"]
        full_for(database, 1000)
        assert asyncio.run(journal.append(name, UserMessage(Text("after")))).seq == 2
        assert database._relieved
        room.append(True)
        assert asyncio.run(journal.append(name, UserMessage(Text("after")))).seq == 3
        asyncio.run(database.run(lambda db: None, no_transaction=True))  # Wait for the writing thread.
        assert not database._relieved
