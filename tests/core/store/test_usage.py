"""Tokens, cost and time by day, model and folder; what a fork brought along is not counted again."""

from pathlib import Path

from core.domain.events import ContextCompacted, Replied, RequestSent, RunEvent, RunStarted, SessionForked, Usage
from core.domain.text import Text
from core.store.journal import Journal
from core.store.usage import used
from core.timeline.spending import as_csv, grouped, total
from tests.core.store.made import write

FIRST: tuple[RunEvent, ...] = (
    RunStarted("a/big", 10, Text("")),
    RequestSent("a/big", 1),
    Replied(Text("one"), usage=Usage(100, 10, 40), cost=0.25),
    RequestSent("b/small", 2),
    Replied(Text("two"), usage=Usage(50, 5)),
)
FORKED: tuple[RunEvent, ...] = (
    SessionForked("s", 5, "fork"),
    RequestSent("a/big", 3, role="summary"),
    ContextCompacted("full", 9, 3, model="a/big", usage=Usage(7, 3), cost=0.5),
    ContextCompacted("full", 9, 3),
)


def fill(path: Path) -> None:
    async def work(journal: Journal) -> None:
        first, second = await journal.open("/tmp/x", "First"), await journal.open("/tmp/y", "Fork")
        for fact in FIRST:
            await journal.append(first, fact)
        for fact in (*FIRST, *FORKED):
            await journal.append(second, fact)

    write(path, work)


def test_replies_are_added_up_by_day_model_and_folder(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    fill(path)
    rows = used(path)
    assert [(row.model, row.folder, row.replies, row.tokens, row.cost, row.unpriced) for row in rows] == [
        ("a/big", "/tmp/x", 1, 110, 0.25, 0),
        ("a/big", "/tmp/y", 1, 10, 0.5, 0),
        ("b/small", "/tmp/x", 1, 55, 0.0, 1),
    ]
    assert all(row.time == 1_000_000 and row.day == rows[0].day for row in rows) and rows[0].cached == 40
    models = grouped(rows, "model")
    assert [(one.name, one.tokens, one.priced) for one in models] == [("a/big", 120, True), ("b/small", 55, False)]
    assert total(rows).cost == 0.75 and total(rows).unpriced == 1
    assert [one.name for one in grouped(rows, "folder")] == ["/tmp/x", "/tmp/y"]


def test_only_what_came_since_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    fill(path)
    assert used(path, 2_000_000_000_000_000) == []


def test_the_table_for_other_programs_leaves_unknown_costs_empty_and_holds_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    fill(path)
    rows = [row._replace(folder="=evil") for row in used(path)]
    lines = as_csv(rows).splitlines()
    assert lines[0].startswith("day,model,folder,replies,input,output,cached,cost_usd,unpriced_replies,seconds")
    assert lines[1].endswith(",a/big,'=evil,1,100,10,40,0.250000,0,1.000")
    assert lines[3].endswith(",b/small,'=evil,1,50,5,0,,1,1.000")
