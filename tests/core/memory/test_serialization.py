"""Export and import of memories: invalid files are reported, and no file is imported partially."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.engine.services.memory_service import MemoryService
from core.memory.serialization import from_json, from_markdown
from tests.core.engine.harness import open_engine, run_bounded
from tests.core.memory.made import ManualClock, memories_at, run_now, save_memory

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


def test_exported_memories_are_imported_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path / "a") as scene:
            await scene.engine.memory.add("The key lies under the pot.", scope="folder", scope_id="/w")
            await scene.engine.memory.add("", "heuristic", parts={"when": "it rains", "do": "close the roof"})
            text = await scene.engine.memory.export()
        (tmp_path / "out.json").write_text(text)
        async with open_engine(tmp_path / "b") as scene:
            assert [kept.did for kept in (await scene.engine.memory.import_file(tmp_path / "out.json")).saved] == [
                "created",
                "created",
            ]
            again = await scene.engine.memory.import_file(tmp_path / "out.json")
            assert [kept.did for kept in again.saved] == ["reinforced", "reinforced"]
            said = {
                (one.memory.content.text, one.memory.content.scope_id)
                for one in await scene.engine.memory.list_memories()
            }
            assert said == {("The key lies under the pot.", "/w"), ("When it rains: close the roof.", "")}

    run_bounded(main())


def test_pinned_memories_are_imported_pinned(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path / "a") as scene:
            pinned = (await scene.engine.memory.add("The key lies under the pot.")).memory.id
            await scene.engine.memory.pin(pinned)
            await scene.engine.memory.add("They like tea.")
            (tmp_path / "out.json").write_text(await scene.engine.memory.export())
        async with open_engine(tmp_path / "b") as scene:
            for _ in "once", "again":
                await scene.engine.memory.import_file(tmp_path / "out.json")
                there = {
                    one.memory.content.text: one.memory.pinned for one in await scene.engine.memory.list_memories()
                }
                assert there == {"The key lies under the pot.": True, "They like tea.": False}
            name = next(one.memory.id for one in await scene.engine.memory.list_memories() if one.memory.pinned)
            assert [one.action for one in await scene.engine.memory.changes(name)] == [
                "created",
                "pinned",
                "reinforced",
            ]

    run_bounded(main())


def test_a_file_is_imported_in_one_write_and_deduplicated(tmp_path: Path) -> None:
    texts = [
        "The key lies under the blue pot.", "The key lies under the blue pot!", "The printer is on the second floor.",
        "The printer is not on the second floor.", "They like tea.",
    ]  # fmt: skip
    file = tmp_path / "in.json"
    told = {"journeyman": "memories", "version": 1, "memories": [{"text": text} for text in texts]}
    file.write_text(json.dumps(told))
    with memories_at(tmp_path) as memories:
        known = save_memory(memories, "They like tea.").memory.id
        seen: list[int] = []
        memories.store.listen(lambda: seen.append(len(memories.listed())))
        imported = run_now(MemoryService(memories, None, None).import_file(file))  # type: ignore[arg-type]  # it reads memories only
        assert seen == [4]
        made = imported.saved
        assert [kept.did for kept in made] == ["created", "reinforced", "created", "created", "reinforced"]
        assert made[4].memory.id == known and memories.get(known).evidence == 2
        assert memories.get(made[2].memory.id).conflicts == (made[3].memory.id,)
        assert memories.get(made[3].memory.id).conflicts == (made[2].memory.id,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1"),
        ("[]", "Expected an object"),
        ('{"journeyman": "memories", "version": 9, "memories": []}', '"version": 1'),
        ('{"journeyman": "memories", "version": 1, "memories": [{"text": "a"}, {"kind": "x"}]}', "Memory 2"),
        ('{"journeyman": "memories", "version": 1, "memories": [{"text": "a", "confidence": "high"}]}', "Memory 1"),
    ],
)
def test_an_invalid_file_is_reported_with_the_line(text: str, why: str) -> None:
    with pytest.raises(Problem) as wrong:
        from_json(text)
    assert why in wrong.value.details.cause


def test_one_invalid_memory_rejects_the_whole_file(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path / "a") as scene:
            file = tmp_path / "in.json"
            for bad in ("The password is hunter2", "cut \ud800 in two", "word " * 1_000):
                texts = [{"text": "Good and true."}, {"text": bad}]
                file.write_text(json.dumps({"journeyman": "memories", "version": 1, "memories": texts}))
                with pytest.raises(Problem, match=r"memory 2 of in\.json"):
                    await scene.engine.memory.import_file(file)
            with pytest.raises(Problem):
                await scene.engine.memory.import_file(tmp_path / "none.json")
            assert await scene.engine.memory.list_memories() == []

    run_bounded(main())


def test_lists_of_other_agents_are_imported() -> None:
    found = [(said.text, said.context) for said in from_markdown(LIST)]
    assert found == [
        ("The key lies under the blue pot.", "The house"),
        ("Bread is baked on Mondays.", "The house"),
        ("They like tea.", "The house"),
        ("Knock twice.", "The house"),
    ]


def test_code_steps_and_meaningless_lines_of_other_agents(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path / "a") as scene:
            (tmp_path / "CLAUDE.md").write_text(GUIDE, "utf-8-sig")  # as Windows saves it
            found = [
                kept.memory.content for kept in (await scene.engine.memory.import_file(tmp_path / "CLAUDE.md")).saved
            ]
            assert [said.text for said in found] == ["Test all of it with # slow make test", "Read it.", "Say it."]
            assert {said.context for said in found} == {"Work"}

    run_bounded(main())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    async def main() -> None:
        os.mkfifo(tmp_path / "pipe.json")
        async with open_engine(tmp_path / "a") as scene:
            with pytest.raises(Problem, match="not a regular file"):
                await scene.engine.memory.import_file(tmp_path / "pipe.json")

    run_bounded(main())


def test_memories_of_alma_are_imported(tmp_path: Path) -> None:
    file = tmp_path / "alma.db"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE heuristics (id TEXT, condition TEXT, strategy TEXT, confidence REAL)")
        db.execute("INSERT INTO heuristics VALUES ('1', 'tests fail', 'read the log', 0.8)")
        db.execute("CREATE TABLE anti_patterns (pattern TEXT, why_bad TEXT, better_alternative TEXT)")
        db.execute("INSERT INTO anti_patterns VALUES ('sleep in tests', 'it is slow', '[To be determined by hand]')")
        db.execute("CREATE TABLE domain_knowledge (domain TEXT, fact TEXT, source TEXT, confidence REAL)")
        db.execute("INSERT INTO domain_knowledge VALUES ('house', 'The key lies under the pot.', 'me', 1.0)")

    async def main() -> None:
        async with open_engine(tmp_path / "a") as scene:
            await scene.engine.memory.import_file(file)
            said = {one.memory.content.text: one.memory.content for one in await scene.engine.memory.list_memories()}
            assert set(said) == {
                "When tests fail: read the log.",
                "Do not sleep in tests, because it is slow.",
                "The key lies under the pot.",
            }
            assert said["When tests fail: read the log."].confidence == 0.8
            (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + b"x" * 100)
            with pytest.raises(Problem):
                await scene.engine.memory.import_file(tmp_path / "other.db")

    run_bounded(main())


def test_the_learning_history_is_grouped_by_day(tmp_path: Path) -> None:
    """The newest day comes first; outcomes are only counted, and memories that were forgotten later are included."""
    clock = ManualClock()
    with memories_at(tmp_path, clock) as memories:
        save_memory(memories, "They like tea.", kind="preference")
        gone = save_memory(memories, "The shed is green.").memory.id
        clock.pass_by(2)
        save_memory(memories, "Write the letter. It was done.", kind="outcome")
        save_memory(memories, "Letters leave at noon.")
        run_now(memories.forget(gone))
        days = run_now(MemoryService(memories, None, None).learned_by_day())  # type: ignore[arg-type]  # it reads memories only
    assert [([one.content.text for one in day.learned], day.runs) for day in days] == [
        (["Letters leave at noon."], 1),
        (["The shed is green.", "They like tea."], 0),
    ]
    assert days[0].day > days[1].day
