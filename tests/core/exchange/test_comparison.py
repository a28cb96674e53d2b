"""Exported comparisons as Markdown, CSV and JSON, without secrets."""

import asyncio
import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.timeline.run_alignment import Alignment, align_runs
from core.timeline.used_knowledge import UsedKnowledge, find_used_knowledge
from tests.core.exchange.home import home

SECRET = "correct-horse-battery"
SIDES = (SessionRow("a", "Fix | it", model="p/m", cost=0.5), SessionRow("b", "Again", model="p/n"))


def step(number: int, what: str) -> Step:
    return Step(number, "command", "done", number * 1_000_000, number, object=what, ended_at=(number + 1) * 1_000_000)


def found() -> Alignment:
    left = [step(1, "ls"), step(2, f"login {SECRET}"), step(3, "=1+1")]
    both = align_runs(left, [step(1, "ls"), step(2, "make <all>")])
    a = find_used_knowledge([{"kind": "memories_recalled", "memories": [{"memory_id": "m", "text": "Reset at 02:00"}]}])
    b = find_used_knowledge(
        [{"kind": "skill_used", "name": "db-reset", "version": 2}, {"kind": "skill_used", "name": "x", "version": 1}]
    )
    return replace(both, used_a=a, used_b=b)


def written(folder: Path, name: str) -> str:
    async def work() -> None:
        async with home(folder / "home.db", [SECRET]) as made:
            done = await made.exchange.export_comparison(SIDES, found(), folder / name)
            assert done.size and sum(done.removed.values()) == 1

    asyncio.run(work())
    return (folder / name).read_text()


def test_a_text_comparison_shows_both_outcomes_and_the_differences(tmp_path: Path) -> None:
    text = written(tmp_path, "c.md")
    assert text.startswith("# Fix \\| it and Again\n") and SECRET not in text
    assert "- Only in Fix \\| it: the memory “Reset at 02:00”\n" in text
    assert "- Only in Again: the skill db-reset, version 2\n" in text
    assert "| cost (USD) | unknown | unknown |" in text and "Equal steps: 1 of 3." in text
    assert "| first difference | 2 Ran login" in text and "| differs | 3 Ran =1+1 (done) | — |" in text
    assert "make \\<all\\> (done)" in text


def test_a_table_has_a_row_for_each_pair_and_no_formula(tmp_path: Path) -> None:
    text = written(tmp_path, "c.CSV")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["equal"] for line in lines] == ["yes", "no", "no"] and SECRET not in text
    assert lines[2]["left_object"] == "'=1+1" and lines[2]["right_kind"] == ""


def test_the_json_comparison_is_complete(tmp_path: Path) -> None:
    text = written(tmp_path, "c.json")
    whole = json.loads(text)
    assert whole["first_difference"] == 1 and whole["sessions"][1]["only_here"][0] == "the skill db-reset, version 2"
    assert whole["pairs"][2]["right"] is None and SECRET not in text


def test_an_unknown_format_or_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"c\.txt does not name a known format"):
        written(tmp_path, "c.txt")
    with pytest.raises(Problem, match="could not be written"):
        written(tmp_path, "none/c.md")


def test_common_steps_are_not_listed_as_differences() -> None:
    one, other = UsedKnowledge({"m": "a", "n": "b"}, {"s": 1, "t": 1}), UsedKnowledge({"n": "b"}, {"s": 1, "t": 2})
    assert one.without(other) == UsedKnowledge({"m": "a"}, {"t": 1})
    assert other.without(one) == UsedKnowledge({}, {"t": 2})
