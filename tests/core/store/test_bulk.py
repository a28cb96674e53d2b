"""Many facts at once: the same rows as one by one, and words that are found afterwards, also after a kill."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from core.domain.events import PersonSpoke, RunEvent, SessionOpened
from core.domain.filing import SessionRenamed
from core.domain.text import Text
from core.store.bulk import bulk
from core.store.database import connect
from core.store.journal import Journal
from core.store.oblivion import erase
from core.store.told import Told
from core.store.unsearched import SLICE, index_some
from tests.core.store.made import START, dump, every_kind, journal_at

NAME = "poured22"
LONG = "word " * 2000


def facts(count: int) -> list[tuple[int, RunEvent]]:
    """A session of others with every kind of fact, long texts, and many lines."""
    opened = SessionOpened(NAME, "/tmp/here", "Poured", source="Other:1")
    lines = [PersonSpoke(Text(f"line {n} {LONG if n % 50 == 0 else ''}")) for n in range(count)]
    return [(START + place, event) for place, event in enumerate([opened, *every_kind(), *lines])]


async def poured(journal: Journal, given: Sequence[tuple[int, RunEvent]], size: int = 100) -> None:
    for first in range(0, len(given), size):
        await journal.pour(NAME, bulk(given[first : first + size], {"0" * 64: b"kept"}))


def waiting(path: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT first & 4294967295, last & 4294967295 FROM unsearched").fetchall()


def test_it_is_the_same_as_one_by_one(tmp_path: Path) -> None:
    given = facts(3 * SLICE)

    async def one_by_one(journal: Journal) -> None:
        await journal.copy(NAME, given, blobs={"0" * 64: b"kept"})

    async def at_once(journal: Journal) -> None:
        await poured(journal, given)
        assert waiting(tmp_path / "b.db") == [(1, len(given))]
        await journal.make_findable()

    with journal_at(tmp_path / "a.db") as (journal, _, _):
        asyncio.run(one_by_one(journal))
    with journal_at(tmp_path / "b.db") as (journal, reader, _):
        asyncio.run(at_once(journal))
        assert len(reader.find_in(NAME, "line 77")) == 1
    assert dump(tmp_path / "a.db") == dump(tmp_path / "b.db") and not waiting(tmp_path / "b.db")


def test_what_is_said_of_it_is_told_once_a_batch_with_every_row(tmp_path: Path) -> None:
    given = facts(150)
    with journal_at(tmp_path / "a.db") as (journal, reader, _):
        told: list[Told] = []
        journal.listen(told.append)
        asyncio.run(poured(journal, given, 50))
        row = reader.session(NAME)
        assert row and [each.entry.seq for each in told] == [50, 100, 150, len(given)] and told[-1].session == row
        shown = {step.row: step for each in told for step in each.steps}
        assert list(shown.values()) == reader.steps(NAME, 0, row.rows)


def test_an_index_that_a_kill_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    path, given = tmp_path / "a.db", facts(5 * SLICE)
    with journal_at(path) as (journal, _, _):
        asyncio.run(poured(journal, given))
        asyncio.run(journal.append(NAME, SessionRenamed("Called zanzibar")))  # found at once, and never twice
        asyncio.run(poured(journal, [(START, PersonSpoke(Text("the last of all")))]))
    with closing(connect(path, "OFF")) as db:
        assert index_some(db) and index_some(db) and waiting(path) == [(1 + SLICE, len(given))]
        db.execute("BEGIN IMMEDIATE")
        assert index_some(db)
        db.execute("ROLLBACK")  # what a kill leaves of a slice
    with journal_at(path) as (journal, reader, _):
        assert reader.unsearched() > 0 and len(reader.find("zanzibar")) == 1
        asyncio.run(journal.make_findable())
        assert reader.unsearched() == 0 and len(reader.find_in(NAME, "line", 10_000)) == 5 * SLICE
        assert len(reader.find("zanzibar")) == len(reader.find("last of all")) == 1
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.told USING fts5vocab(main, search, instance)")
        twice = "SELECT count(*) FROM temp.told GROUP BY term, doc, offset HAVING count(*) > 1"
        assert db.execute(twice).fetchall() == []


def test_a_session_that_is_half_indexed_is_forgotten_whole(tmp_path: Path) -> None:
    path, given = tmp_path / "a.db", facts(2500)

    async def main(journal: Journal) -> None:
        await poured(journal, given)
        for _ in range(3):
            await database.do(index_some)
        await erase(database, [NAME], journal.forget)
        await journal.make_findable()

    with journal_at(path) as (journal, reader, database):
        asyncio.run(main(journal))
        assert reader.sessions() == [] and reader.unsearched() == 0
    left = dump(path)
    assert not left["search"] and not left["entry"] and not left["step"]


def test_a_damaged_line_takes_the_words_from_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with journal_at(path) as (journal, reader, database):
        asyncio.run(poured(journal, facts(20)))
        damage = "UPDATE entry SET payload = {} WHERE kind = 'person_spoke' AND payload LIKE '%line {}%'"
        lines = [damage.format("'{\"text\":'", 3), damage.format('\'{"text":{"head":"x","blob":7}}\'', 4)]
        kind = "UPDATE entry SET kind = 'strange' WHERE payload LIKE '%line 5%'"
        damages = ("DROP TRIGGER entry_is_append_only", *lines, kind)
        asyncio.run(database.do(lambda db: [db.execute(line) for line in damages]))
        asyncio.run(journal.make_findable())
        assert not waiting(path)
        found = [len(reader.find_in(NAME, f"line {number}")) for number in (2, 3, 4, 5, 6)]
        assert found[0] and found[-1] and not any(found[1:4])
