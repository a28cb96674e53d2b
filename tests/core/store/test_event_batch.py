"""Batches of events: the same rows as when appended one by one, and indexed afterward, even if interrupted."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from core.domain.events import RunStarted, SessionCreated, SessionEvent, UserMessage
from core.domain.session_metadata import SessionRenamed
from core.domain.text import Text
from core.store.database import connect
from core.store.event_batch import encode_batch
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.purge import purge_sessions
from core.store.search_backlog import MAX_SLICE_EVENTS, TextsInHand, index_slice
from tests.core.store.made import START, dump, every_kind, journal_at

NAME = "poured22"
LONG = "word " * 2000


def facts(count: int) -> list[tuple[int, SessionEvent]]:
    """Return an imported session with every kind of event, long texts, and many events."""
    opened = SessionCreated(NAME, "/tmp/here", "Poured", imported_from="Other:1")
    lines = [UserMessage(Text(f"line {n} {LONG if n % 50 == 0 else ''}")) for n in range(count)]
    return [(START + place, event) for place, event in enumerate([opened, *every_kind(), *lines])]


async def poured(journal: Journal, given: Sequence[tuple[int, SessionEvent]], size: int = 100) -> None:
    for first in range(0, len(given), size):
        await journal.append_batch(NAME, encode_batch(given[first : first + size], {"0" * 64: b"kept"}))


def waiting(path: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT first_event & 4294967295, last_event & 4294967295 FROM search_backlog").fetchall()


def test_a_bulk_write_equals_single_writes(tmp_path: Path) -> None:
    given = facts(3 * MAX_SLICE_EVENTS)

    async def one_by_one(journal: Journal) -> None:
        await journal.append_timed(NAME, given, blobs={"0" * 64: b"kept"})

    async def at_once(journal: Journal) -> None:
        await poured(journal, given)
        assert waiting(tmp_path / "b.db") == [(1, len(given))]
        await journal.index_backlog()

    with journal_at(tmp_path / "a.db") as (journal, _, _):
        asyncio.run(one_by_one(journal))
    with journal_at(tmp_path / "b.db") as (journal, reader, _):
        asyncio.run(at_once(journal))
        assert len(reader.search_in_session(NAME, f"line {3 * MAX_SLICE_EVENTS - 1}")) == 1
    assert dump(tmp_path / "a.db") == dump(tmp_path / "b.db") and not waiting(tmp_path / "b.db")


def test_listeners_get_one_update_per_batch_with_every_row(tmp_path: Path) -> None:
    given = facts(150)
    with journal_at(tmp_path / "a.db") as (journal, reader, _):
        told: list[JournalUpdate] = []
        journal.listen(told.append)
        asyncio.run(poured(journal, given, 50))
        row = reader.session(NAME)
        assert row and [each.entry.seq for each in told] == [50, 100, 150, len(given)] and told[-1].session == row
        shown = {step.row: step for each in told for step in each.steps}
        assert list(shown.values()) == reader.steps(NAME, 0, row.rows)


def test_interrupted_indexing_resumes(tmp_path: Path) -> None:
    path, given = tmp_path / "a.db", facts(5 * MAX_SLICE_EVENTS)
    with journal_at(path) as (journal, _, _):
        asyncio.run(poured(journal, given))
        asyncio.run(
            journal.append(NAME, SessionRenamed("Called zanzibar"))
        )  # It must be found at once, and not indexed a second time later.
        asyncio.run(poured(journal, [(START, UserMessage(Text("the last of all")))]))
    with closing(connect(path, "OFF")) as db:
        texts = TextsInHand()
        assert (
            index_slice(db, texts) and index_slice(db, texts) and waiting(path) == [(1 + MAX_SLICE_EVENTS, len(given))]
        )
        db.execute("BEGIN IMMEDIATE")
        assert index_slice(db, texts)
        db.execute("ROLLBACK")  # as after a kill in the middle of a slice
    with journal_at(path) as (journal, reader, _):
        assert reader.search_backlog() > 0 and len(reader.search("zanzibar")) == 1
        asyncio.run(journal.index_backlog())
        assert (
            reader.search_backlog() == 0 and len(reader.search_in_session(NAME, "line", 10_000)) == 5 * MAX_SLICE_EVENTS
        )
        assert len(reader.search("zanzibar")) == len(reader.search("last of all")) == 1
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.told USING fts5vocab(main, event_search, instance)")
        twice = "SELECT count(*) FROM temp.told GROUP BY term, doc, offset HAVING count(*) > 1"
        assert db.execute(twice).fetchall() == []


def test_texts_in_hand_are_indexed_like_stored_ones(tmp_path: Path) -> None:
    """Purging relies on it: an entry is removed from the index by the text that is stored."""
    given, dumps = facts(200), []
    for in_hand in (True, False):
        path = tmp_path / f"{in_hand}.db"
        with journal_at(path) as (journal, _, database):
            asyncio.run(poured(journal, given, 60))
            texts = database.derived.unindexed_texts
            assert len(given) - 5 < len(texts._texts) < len(given)  # A blob of one event is missing.
            if not in_hand:
                texts.clear()
            asyncio.run(journal.index_backlog())
            assert not texts._texts and texts._characters == 0
        dumps.append(dump(path)["search"])
    assert dumps[0] == dumps[1] != []


def test_texts_of_a_batch_that_was_rolled_back_are_not_indexed(tmp_path: Path) -> None:
    with journal_at(tmp_path / "a.db") as (journal, reader, _):
        asyncio.run(poured(journal, facts(3)))
        too_large = encode_batch([(START, UserMessage(Text("lost"))), (START, RunStarted("m", max_turns=2**70))], {})
        with pytest.raises(OverflowError):
            asyncio.run(journal.append_batch(NAME, too_large))
        asyncio.run(poured(journal, [(START, UserMessage(Text("kept")))]))
        asyncio.run(journal.index_backlog())
        assert not reader.search("lost") and len(reader.search("kept")) == 1


def test_a_partly_indexed_session_is_purged_completely(tmp_path: Path) -> None:
    path, given = tmp_path / "a.db", facts(2500)

    async def main(journal: Journal) -> None:
        await poured(journal, given)
        for _ in range(3):
            await database.run(partial(index_slice, texts=database.derived.unindexed_texts))
        await purge_sessions(database, [NAME], journal.prepare_purge)
        await journal.index_backlog()

    with journal_at(path) as (journal, reader, database):
        asyncio.run(main(journal))
        assert reader.sessions() == [] and reader.search_backlog() == 0
    left = dump(path)
    assert not left["search"] and not left["event"] and not left["step"]


def test_a_damaged_event_does_not_stop_indexing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with journal_at(path) as (journal, reader, database):
        asyncio.run(poured(journal, facts(20)))
        damage = "UPDATE event SET payload = {} WHERE kind = 'user_message' AND payload LIKE '%line {}%'"
        lines = [damage.format("'{\"text\":'", 3), damage.format('\'{"text":{"head":"x","blob":7}}\'', 4)]
        kind = "UPDATE event SET kind = 'strange' WHERE payload LIKE '%line 5%'"
        damages = ("DROP TRIGGER event_is_append_only", *lines, kind)
        asyncio.run(database.run(lambda db: [db.execute(line) for line in damages]))
    with journal_at(path) as (journal, reader, _):
        asyncio.run(journal.index_backlog())
        assert not waiting(path)
        found = [len(reader.search_in_session(NAME, f"line {number}")) for number in (2, 3, 4, 5, 6)]
        assert found[0] and found[-1] and not any(found[1:4])
