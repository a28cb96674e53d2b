"""Renaming, pinning, archiving, trashing and purging sessions, and what is left after that."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from core.domain.events import UserMessage
from core.domain.problems import Problem
from core.domain.session_metadata import initial_title
from core.domain.text import Text
from core.engine.lifecycle.session_archive import DAY, TRASH_DAYS, SessionArchive
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.rebuild import rebuild
from tests.core.store.made import START, dump, every_kind, journal_at
from tests.sessions import create_session

Act = Callable[[SessionArchive, Journal, Reader], Awaitable[None]]


def on(path: Path, act: Act, later: int = 0) -> list[str]:
    """Create two sessions that share a blob and run `act` on them. Return the IDs of the sessions that were stopped."""
    ended: list[str] = []

    async def end(session: str) -> None:
        ended.append(session)

    async def main(journal: Journal, reader: Reader, shelf: SessionArchive) -> None:
        if not reader.sessions():
            for title in ("first", "second"):
                name = await create_session(journal, "/tmp/x", title)
                only = UserMessage(Text(f"only in {title} " * 900))
                await journal.append(name, *every_kind(), UserMessage(Text("shared words " * 900)), only)
        await act(shelf, journal, reader)

    with journal_at(path) as (journal, reader, database):
        shelf = SessionArchive(journal, reader, database, end, lambda: START + later)
        asyncio.run(main(journal, reader, shelf))
    return ended


def named(reader: Reader, title: str) -> str:
    return next(row.id for row in reader.sessions() if row.title == title)


def test_title_pin_and_archive_are_stored_without_reordering_the_session(tmp_path: Path) -> None:
    async def act(shelf: SessionArchive, journal: Journal, reader: Reader) -> None:
        name = named(reader, "first")
        before = reader.session(name)
        await shelf.rename(name, "  A better\nname ")
        assert await shelf.pin([name, name]) == (name,)
        assert await shelf.pin([name]) == ()
        await shelf.archive([name])
        after = reader.session(name)
        assert before is not None and after is not None
        assert (after.title, bool(after.pinned), bool(after.archived)) == ("A better name", True, True)
        assert after.updated_at == before.updated_at and after.rows == before.rows and after.status == before.status
        await shelf.archive([name], False)
        assert [row.archived for row in reader.sessions()] == [0, 0]
        assert [hit.kind for hit in reader.search("better name")] == ["session_renamed"]
        with pytest.raises(Problem, match="needs a name"):
            await shelf.rename(name, " \n ")

    on(tmp_path / "j.db", act)


def test_the_trash_is_restored_or_emptied_completely(tmp_path: Path) -> None:
    path = tmp_path / "j.db"

    async def act(shelf: SessionArchive, journal: Journal, reader: Reader) -> None:
        first, second = named(reader, "first"), named(reader, "second")
        gone: list[tuple[str, ...]] = []
        shelf.subscribe_purged(gone.append)
        assert await shelf.trash([first, second]) == (first, second)
        assert await shelf.restore([second]) == (second,)
        assert await shelf.purge_expired() == ()
        assert await shelf.empty_trash([first, second]) == (first,)
        assert gone == [(first,)]
        assert [row.id for row in reader.sessions()] == [second]
        assert reader.search("only in first") == [] and len(reader.search("shared words")) == 1
        assert reader.full_text(second, reader.sessions()[0].last_seq - 4).startswith("shared words") or reader.search(
            "shared"
        )
        await journal.append(second, UserMessage(Text("still writable")))

    assert len(on(path, act)) == 2
    held = dump(path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    rebuild(db)
    db.execute("COMMIT")
    db.close()
    again = dump(path)
    assert again["search"] == held["search"]
    assert [row[:9] for row in again["session"]] == [row[:9] for row in held["session"]]
    assert not [body for body in held["blob"] if body[1] == len("only in first " * 900)]
    assert [body for body in held["blob"] if body[1] == len("shared words " * 900)]


def test_sessions_in_the_trash_are_deleted_after_thirty_days(tmp_path: Path) -> None:
    async def throw(shelf: SessionArchive, journal: Journal, reader: Reader) -> None:
        await shelf.trash([named(reader, "first")])

    async def clean(shelf: SessionArchive, journal: Journal, reader: Reader) -> None:
        assert len(await shelf.purge_expired()) == 1
        assert [row.title for row in reader.sessions()] == ["second"]

    on(tmp_path / "j.db", throw)
    on(tmp_path / "j.db", clean, (TRASH_DAYS + 1) * DAY)


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("Write it", "Write it"),
        ("\n\n# Fix   the tests\nand more", "Fix the tests"),
        ("Find out why it fails. " + "Then say what you saw. " * 9, "Find out why it fails"),
        ("word " * 40, "word " * 14 + "word…"),
        ("x" * 200, "x" * 79 + "…"),
        ("", ""),
    ],
)
def test_a_title_is_the_first_line_of_the_task(task: str, title: str) -> None:
    assert initial_title(task) == title
