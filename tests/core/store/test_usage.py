"""Tokens, cost and time by day, model and folder; replies copied by a fork are not counted again."""

from pathlib import Path

import pytest

from core.domain.clock import now
from core.domain.events import (
    ContextCompacted,
    Replied,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionEvent,
    SessionForked,
    Usage,
    UserMessage,
)
from core.domain.memory import DAY
from core.domain.text import Text
from core.store.journal import Journal
from core.store.usage import read_usage
from core.timeline.usage_export import usage_csv
from core.timeline.usage_totals import group_usage, sum_usage
from tests.core.store.made import write
from tests.sessions import create_session

NOW = now()
FIRST: tuple[SessionEvent, ...] = (
    RunStarted("a/big", 10, Text("")),
    RequestSent("a/big", 1),
    Replied(Text("one"), usage=Usage(100, 10, 40), cost=0.25),
    RequestSent("b/small", 2),
    Replied(Text("two"), usage=Usage(50, 5)),
)
FORKED: tuple[SessionEvent, ...] = (
    SessionForked("s", 5, "fork"),
    RequestSent("a/big", 3, purpose="summary"),
    ContextCompacted("full", 9, 3, model="a/big", usage=Usage(7, 3), cost=0.5),
    ContextCompacted("full", 9, 3),
)


def fill(path: Path) -> None:
    async def work(journal: Journal) -> None:
        first, second = (
            await create_session(journal, "/tmp/x", "First"),
            await create_session(journal, "/tmp/y", "Fork"),
        )
        for fact in FIRST:
            await journal.append(first, fact)
        for fact in (*FIRST, *FORKED):
            await journal.append(second, fact)

    write(path, work)


def test_usage_is_totaled_by_day_model_and_folder(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    fill(path)
    rows = read_usage(path)
    assert [(row.model, row.folder, row.replies, row.tokens, row.cost, row.unpriced) for row in rows] == [
        ("a/big", "/tmp/x", 1, 110, 0.25, 0),
        ("a/big", "/tmp/y", 1, 10, 0.5, 0),
        ("b/small", "/tmp/x", 1, 55, 0.0, 1),
    ]
    assert all(row.duration == 1_000_000 and row.day == rows[0].day for row in rows) and rows[0].cached == 40
    models = group_usage(rows, "model")
    assert [(one.name, one.tokens, one.priced) for one in models] == [("a/big", 120, True), ("b/small", 55, False)]
    assert sum_usage(rows).cost == 0.75 and sum_usage(rows).unpriced == 1
    assert [one.name for one in group_usage(rows, "folder")] == ["/tmp/x", "/tmp/y"]


def test_usage_is_totaled_by_agent_profile(tmp_path: Path) -> None:
    """Each run of a session may have another profile."""

    async def work(journal: Journal) -> None:
        session = await create_session(journal, "/tmp/x", "First")
        for profile, tokens in (("tester", 100), ("", 30), ("tester", 7)):
            for event in (
                UserMessage(Text("Go.")),
                RunStarted("a/big", profile=profile),
                RequestSent("a/big", 1),
                Replied(Text("one"), usage=Usage(tokens, 1)),
                RunEnded("completed"),
            ):
                await journal.append(session, event)

    path = tmp_path / "j.db"
    write(path, work)
    agents = group_usage(read_usage(path), "agent")
    assert [(total.name, total.replies, total.tokens) for total in agents] == [("tester", 2, 109), ("", 1, 31)]


def test_only_new_usage_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    fill(path)
    assert read_usage(path, 2_000_000_000_000_000) == []


@pytest.mark.parametrize("jump", [30 * DAY, 31 * DAY, -2 * DAY // 24, -30 * DAY])
def test_thirty_days_of_usage_after_a_jump_of_the_clock(tmp_path: Path, jump: int) -> None:
    """A request was sent before the jump: its reply took no month, and nothing is counted twice or lost."""

    async def work(journal: Journal) -> None:
        session = await create_session(journal, "/tmp/x", "A session")
        for number, shift in enumerate((0, 0, jump, jump, jump)):
            journal._clock = lambda at=NOW + shift + number * 1_000_000: at
            await journal.append(session, FIRST[number])

    path = tmp_path / "j.db"
    write(path, work)
    total = sum_usage(read_usage(path))
    assert (total.replies, total.tokens, total.cost) == (2, 165, 0.25) and total.time <= 2_000_000
    recent = sum_usage(read_usage(path, NOW + min(jump, 0) - DAY, NOW + max(jump, 0) + DAY))
    assert (recent.replies, recent.tokens) == (2, 165)


def test_a_clock_that_was_wrong_for_a_while_does_not_fill_the_range(tmp_path: Path) -> None:
    """Replies that came while the clock was years ahead or behind are counted only without a range."""
    year, times = 365 * DAY, iter(range(1, 100))

    async def work(journal: Journal) -> None:
        for shift in (0, 10 * year, -20 * year):
            journal._clock = lambda shift=shift: NOW + shift + next(times)
            session = await create_session(journal, "/tmp/x", "A session")
            for fact in FIRST[:3]:
                await journal.append(session, fact)
        session = await create_session(journal, "/tmp/x", "The clock is set during a request")
        for shift, fact in zip((0, 0, 10 * year), FIRST[:3], strict=True):
            journal._clock = lambda shift=shift: NOW + shift
            await journal.append(session, fact)

    path = tmp_path / "j.db"
    write(path, work)
    assert sum_usage(read_usage(path, NOW - 30 * DAY, NOW + DAY)).replies == 1
    assert sum_usage(read_usage(path)).replies == 4
    assert sum_usage(read_usage(path)).time < DAY, "the jump was counted as the time of a reply"


def test_the_exported_table_leaves_unknown_costs_empty_and_has_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    fill(path)
    rows = [row._replace(folder="=evil") for row in read_usage(path)]
    lines = usage_csv(rows).splitlines()
    assert lines[0].startswith("day,model,folder,replies,input,output,cached,cost_usd,unpriced_replies,seconds")
    assert lines[1].endswith(",a/big,'=evil,1,100,10,40,0.250000,0,1.000,")
    assert lines[3].endswith(",b/small,'=evil,1,50,5,0,,1,1.000,")
