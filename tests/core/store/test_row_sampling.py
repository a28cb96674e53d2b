"""Partial reads of a session: bounded samples, events by kind, and the row of an event."""

from pathlib import Path

import pytest

from core.store.journal import Journal
from core.store.reader import Reader
from tests.core.store.made import every_kind, fill, write
from tests.sessions import create_session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journeyman.db"


def test_a_sample_covers_all_rows_or_some(path: Path) -> None:
    (name,) = fill(path, 300)
    reader = Reader(path)
    row = reader.session(name)
    assert row is not None
    whole = reader.sample(name, row.rows, 10_000)
    assert [mark.row for mark in whole] == list(range(row.rows)) and whole == reader.row_samples(name, 0, row.rows)
    few = reader.sample(name, row.rows, 20)
    assert len(few) == 20 and few[0].row == 0 and few[-1].row == row.rows - 1 and set(few) <= set(whole)
    assert reader.sample("nobody", 10, 20) == []
    reader.close()


def test_rows_come_by_kind_and_in_order(path: Path) -> None:
    names = fill(path, 5, sessions=2)
    reader = Reader(path)
    found = reader.events_of(names[1], ("file_changed", "user_message"), 0, 1000)
    assert [line["kind"] for line in found].count("file_changed") == 1
    assert [line["seq"] for line in found] == sorted(line["seq"] for line in found)
    assert reader.events_of(names[1], ("file_changed",), 0, found[0]["seq"]) == []
    reader.close()


def test_every_event_leads_to_a_row_it_created_or_changed(path: Path) -> None:
    (name,) = fill(path, 20)
    reader = Reader(path)
    row = reader.session(name)
    assert row is not None
    steps = reader.steps(name, 0, row.rows)
    for seq, _, _, kind, _ in reader.raw_events(name):
        found = reader.row_of(name, seq)
        if kind == "session_created":
            continue
        assert found is not None
        step = steps[found]
        exact = [each.row for each in steps if seq in (each.first_seq, each.last_seq) and each.kind != "run"]
        assert not exact or step.row in exact
    assert reader.row_of("nobody", 1) is None
    reader.close()


def test_text_is_found_in_one_session_only(path: Path) -> None:
    async def work(journal: Journal) -> list[str]:
        names = [await create_session(journal, "/tmp", f"S{n}") for n in range(2)]
        for name in names:
            await journal.append(name, *every_kind())
        return names

    names = write(path, work)
    reader = Reader(path)
    assert [reader.search_in_session(name, "S1") for name in names] == [[], [1]]
    assert reader.search_in_session(names[0], "") == [] and reader.search_in_session(names[0], "nowhere at all") == []
    reader.close()
