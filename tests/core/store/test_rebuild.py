"""State reloaded from the file equals the state in memory for any events, and can be rebuilt from the events."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import core.store.derived_rows as derived_rows
from core.domain.events import (
    EventRecord,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionEvent,
    ToolReturned,
    UserMessage,
)
from core.domain.sessions import SessionRow
from core.domain.steps import Outline
from core.domain.text import Text
from core.store.database import Database
from core.store.derived_rows import DerivedRows, load_outline, load_state
from core.store.journal import Journal
from core.store.migrate import migrate
from core.store.reader import Reader
from core.store.rebuild import rebuild
from core.store.row_mapping import SESSION_COLUMNS, read_session
from tests.core.domain.event_strategies import journals
from tests.core.store.made import dump, fill, journal_at
from tests.sessions import create_session

FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class JournalHarness:
    """Runs the journal's write path on this thread, with a database in memory."""

    def __init__(self, forgets: bool) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        migrate(self.db)
        self.journal = Journal.__new__(Journal)
        self.rows = self.journal._derived = DerivedRows()
        self._forgets = forgets

    def write(self, event: SessionEvent, at: int) -> None:
        if self._forgets:
            self.rows.drop("s")
        self.journal._write(self.db, "s", ((at, event),), {})

    def catch_up(self) -> None:
        """Write the derived rows, as the database does some time after the events."""
        self.rows.write(self.db)
        self.rows.on_written()

    def live(self) -> tuple[SessionRow, Outline, int, int]:
        known = self.rows._states["s"]
        return known.row, known.outline, known.run, known.at


@contextmanager
def open_journal(*, forgets: bool = False) -> Iterator[JournalHarness]:
    made = JournalHarness(forgets)
    try:
        yield made
    finally:
        made.db.close()


def write_all(to: JournalHarness, entries: list[EventRecord]) -> None:
    to.write(SessionCreated("s", "/tmp", "t"), 1)
    for entry in entries:
        to.write(entry.event, entry.at)


def check_what_is_stored(entries: list[EventRecord]) -> None:
    """Compare the state in memory with the file after each event."""
    with open_journal() as live:
        live.write(SessionCreated("s", "/tmp", "t"), 1)
        for entry in entries:
            live.write(entry.event, entry.at)
            row, outline, run, at = live.live()
            loaded = load_state(live.db, "s")
            assert loaded is not None and (loaded.row, loaded.outline, loaded.run, loaded.at) == (row, outline, run, at)
            assert list(loaded.outline.open) == list(outline.open)
            if entry.seq % 3:  # Otherwise the next event is folded from more than one event that has no rows yet.
                continue
            live.catch_up()
            stored = read_session(live.db.execute(f"SELECT {SESSION_COLUMNS} FROM session").fetchone())
            assert stored == row
            again = load_outline(live.db, 1, row.rows)
            assert again == outline and list(again.open) == list(outline.open)


@FEW
@given(journals(25))
def test_after_every_event_the_file_equals_memory(entries: list[EventRecord]) -> None:
    check_what_is_stored(entries)


@FEW
@given(journals(25))
def test_a_journal_without_a_cache_writes_the_same(entries: list[EventRecord]) -> None:
    with open_journal() as live, open_journal(forgets=True) as forgetful:
        write_all(live, entries)
        write_all(forgetful, entries)
        live.catch_up()
        forgetful.catch_up()
        assert list(live.db.iterdump()) == list(forgetful.db.iterdump())


@FEW
@given(journals(25))
def test_rebuild_restores_everything(entries: list[EventRecord]) -> None:
    with open_journal() as live:
        write_all(live, entries)
        live.catch_up()
        tables = [f"SELECT * FROM {table} ORDER BY 1" for table in ("session", "step", "pending_request", "event")]
        before = [live.db.execute(table).fetchall() for table in tables]
        done = rebuild(live.db)
        assert [live.db.execute(table).fetchall() for table in tables] == before
        assert (done.sessions, done.events, done.gaps) == (1, len(entries) + 1, 0)


def test_a_fold_that_omits_something_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived_rows, "write_steps", lambda db, number, steps: None)
    tried = settings(FEW, phases=[Phase.generate], database=None)(given(journals(25))(check_what_is_stored))
    with pytest.raises(AssertionError):
        tried()


def test_rebuild_restores_search_and_blobs(tmp_path: Path) -> None:
    path = tmp_path / "journeyman.db"
    fill(path, 30, sessions=3)
    long = "begin " + "middle " * 2000 + "finish"

    async def work(journal: Journal) -> None:
        name = await create_session(journal, "/tmp", "long")
        await journal.append(name, UserMessage(Text(long)), RunStarted("m"))
        kept = Text(long[:10], len(long), "f" * 64)
        await journal.append(
            name, ToolReturned("c", kept), RunEnded("completed"), blobs={"f" * 64: b"outermost " * 900}
        )

    with journal_at(path) as (journal, reader, database):
        asyncio.run(work(journal))
        assert [hit.seq for hit in reader.search("outermost")] == [4]
        before = dump(path)
        assert len(before["search"]) > 1000

        async def again() -> None:
            await database.run(rebuild)

        asyncio.run(again())
        assert dump(path) == before


def test_a_session_without_its_first_event_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journeyman.db"
    (name,) = fill(path, 5)
    Database(path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DELETE FROM event WHERE id & 0xFFFFFFFF IN (1, 2, 7)")
    kept = db.execute("SELECT * FROM event").fetchall()
    done = rebuild(db)
    assert (done.sessions, done.events, done.gaps) == (1, len(kept), 3)
    db.execute("DELETE FROM session")
    rebuild(db)
    db.close()
    reader = Reader(path)
    try:
        (row,) = reader.sessions()
        assert (
            row.id == "lost0001"
            and row.title == "Recovered session (beginning lost)"
            and row.last_seq == kept[-1][0] & 0xFFFF
        )
    finally:
        reader.close()
    assert name != row.id
