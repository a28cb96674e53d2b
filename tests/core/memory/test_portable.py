"""Memories go out and come in; what cannot be read is said, and nothing is half taken in."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.engine.memory import Memory
from core.memory.portable import imported, of_lines
from tests.core.engine.scenes import bounded, opened
from tests.core.memory.made import Days, done, keep, memories_at

LIST = """# Notes

## The house
- The key lies under the blue pot.
- Bread is baked
  on Mondays.
---
They like tea.
§
Knock twice.
"""
GUIDE = """# Work
Test all of it with
```sh
# slow
make test
```
1. Read it.
2) Say it.
- ✨
"""


def test_what_goes_out_comes_in_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "a") as scene:
            await scene.engine.memory.add("The key lies under the pot.", reach="folder", place="/w")
            await scene.engine.memory.add("", "heuristic", parts={"when": "it rains", "do": "close the roof"})
            text = await scene.engine.memory.export()
        (tmp_path / "out.json").write_text(text)
        async with opened(tmp_path / "b") as scene:
            assert [kept.did for kept in await scene.engine.memory.take_in(tmp_path / "out.json")] == ["kept", "kept"]
            again = await scene.engine.memory.take_in(tmp_path / "out.json")
            assert [kept.did for kept in again] == ["seen again", "seen again"]
            said = {(one.memory.said.text, one.memory.said.place) for one in await scene.engine.memory.listed()}
            assert said == {("The key lies under the pot.", "/w"), ("When it rains: close the roof.", "")}

    bounded(main())


def test_what_is_pinned_comes_in_pinned(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "a") as scene:
            pinned = (await scene.engine.memory.add("The key lies under the pot.")).memory.id
            await scene.engine.memory.pin(pinned)
            await scene.engine.memory.add("They like tea.")
            (tmp_path / "out.json").write_text(await scene.engine.memory.export())
        async with opened(tmp_path / "b") as scene:
            for _ in "once", "again":
                await scene.engine.memory.take_in(tmp_path / "out.json")
                there = {one.memory.said.text: one.memory.pinned for one in await scene.engine.memory.listed()}
                assert there == {"The key lies under the pot.": True, "They like tea.": False}
            name = next(one.memory.id for one in await scene.engine.memory.listed() if one.memory.pinned)
            assert [one.did for one in await scene.engine.memory.changes(name)] == ["kept", "pinned", "seen again"]

    bounded(main())


def test_a_file_is_kept_in_one_write_and_compared_with_itself_and_what_is_there(tmp_path: Path) -> None:
    texts = [
        "The key lies under the blue pot.", "The key lies under the blue pot!", "The printer is on the second floor.",
        "The printer is not on the second floor.", "They like tea.",
    ]  # fmt: skip
    file = tmp_path / "in.json"
    told = {"journeyman": "memories", "form": 1, "memories": [{"text": text} for text in texts]}
    file.write_text(json.dumps(told))
    with memories_at(tmp_path) as memories:
        known = keep(memories, "They like tea.").memory.id
        seen: list[int] = []
        memories.book.changed = lambda: seen.append(len(memories.listed()))
        made = done(Memory(memories, None, None).take_in(file))  # type: ignore[arg-type]  # it reads memories only
        assert seen == [4]
        assert [kept.did for kept in made] == ["kept", "seen again", "kept", "kept", "seen again"]
        assert made[4].memory.id == known and memories.memory(known).evidence == 2
        assert memories.memory(made[2].memory.id).links == (made[3].memory.id,)
        assert memories.memory(made[3].memory.id).links == (made[2].memory.id,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1"),
        ("[]", "Expected an object"),
        ('{"journeyman": "memories", "form": 9, "memories": []}', '"form": 1'),
        ('{"journeyman": "memories", "form": 1, "memories": [{"text": "a"}, {"kind": "x"}]}', "Memory 2"),
        ('{"journeyman": "memories", "form": 1, "memories": [{"text": "a", "confidence": "high"}]}', "Memory 1"),
    ],
)
def test_a_bad_file_is_said_with_the_place(text: str, why: str) -> None:
    with pytest.raises(Problem) as wrong:
        imported(text)
    assert why in wrong.value.trouble.why


def test_one_bad_memory_keeps_all_of_them_out(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "a") as scene:
            file = tmp_path / "in.json"
            for bad in ("The password is hunter2", "cut \ud800 in two", "word " * 1_000):
                texts = [{"text": "Good and true."}, {"text": bad}]
                file.write_text(json.dumps({"journeyman": "memories", "form": 1, "memories": texts}))
                with pytest.raises(Problem, match=r"memory 2 of in\.json"):
                    await scene.engine.memory.take_in(file)
            with pytest.raises(Problem):
                await scene.engine.memory.take_in(tmp_path / "none.json")
            assert await scene.engine.memory.listed() == []

    bounded(main())


def test_lists_of_other_agents_are_taken_in() -> None:
    found = [(said.text, said.around) for said in of_lines(LIST)]
    assert found == [
        ("The key lies under the blue pot.", "The house"),
        ("Bread is baked on Mondays.", "The house"),
        ("They like tea.", "The house"),
        ("Knock twice.", "The house"),
    ]


def test_code_steps_and_what_says_nothing_in_a_list_of_another(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "a") as scene:
            (tmp_path / "CLAUDE.md").write_text(GUIDE, "utf-8-sig")  # as Windows saves it
            found = [kept.memory.said for kept in await scene.engine.memory.take_in(tmp_path / "CLAUDE.md")]
            assert [said.text for said in found] == ["Test all of it with # slow make test", "Read it.", "Say it."]
            assert {said.around for said in found} == {"Work"}

    bounded(main())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        os.mkfifo(tmp_path / "pipe.json")
        async with opened(tmp_path / "a") as scene:
            with pytest.raises(Problem, match="no ordinary file"):
                await scene.engine.memory.take_in(tmp_path / "pipe.json")

    bounded(main())


def test_what_alma_has_learnt_is_taken_in(tmp_path: Path) -> None:
    file = tmp_path / "alma.db"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE heuristics (id TEXT, condition TEXT, strategy TEXT, confidence REAL)")
        db.execute("INSERT INTO heuristics VALUES ('1', 'tests fail', 'read the log', 0.8)")
        db.execute("CREATE TABLE anti_patterns (pattern TEXT, why_bad TEXT, better_alternative TEXT)")
        db.execute("INSERT INTO anti_patterns VALUES ('sleep in tests', 'it is slow', '[To be determined by hand]')")
        db.execute("CREATE TABLE domain_knowledge (domain TEXT, fact TEXT, source TEXT, confidence REAL)")
        db.execute("INSERT INTO domain_knowledge VALUES ('house', 'The key lies under the pot.', 'me', 1.0)")

    async def main() -> None:
        async with opened(tmp_path / "a") as scene:
            await scene.engine.memory.take_in(file)
            said = {one.memory.said.text: one.memory.said for one in await scene.engine.memory.listed()}
            assert set(said) == {
                "When tests fail: read the log.",
                "Do not sleep in tests, because it is slow.",
                "The key lies under the pot.",
            }
            assert said["When tests fail: read the log."].confidence == 0.8
            (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + b"x" * 100)
            with pytest.raises(Problem):
                await scene.engine.memory.take_in(tmp_path / "other.db")

    bounded(main())


def test_the_journey_of_learning_is_told_by_day(tmp_path: Path) -> None:
    """The newest day first; outcomes are only counted, and what was forgotten since was learnt all the same."""
    clock = Days()
    with memories_at(tmp_path, clock) as memories:
        keep(memories, "They like tea.", kind="preference")
        gone = keep(memories, "The shed is green.").memory.id
        clock.pass_by(2)
        keep(memories, "Write the letter. It was done.", kind="outcome")
        keep(memories, "Letters leave at noon.")
        done(memories.forget(gone))
        days = done(Memory(memories, None, None).journey())  # type: ignore[arg-type]  # it reads memories only
    assert [([one.said.text for one in day.learnt], day.runs) for day in days] == [
        (["Letters leave at noon."], 1),
        (["The shed is green.", "They like tea."], 0),
    ]
    assert days[0].day > days[1].day
