"""Changes to memories: edited, undone, forgotten; the rows always equal the fold of the changes."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.memory import EVERYWHERE, Memory, MemoryChange, MemoryContent, fold
from core.domain.problems import Problem
from core.memory.memories import Memories, with_text
from core.memory.saving import MemorySource
from core.store.memory_records import MemoryRecords, MemoryUse
from core.store.salvage import salvage
from tests.core.memory.made import ManualClock, memories_at, run_now, save_memory
from tests.core.store.made import fill


def test_every_change_can_be_undone_and_redone(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, "The port is 8080.").memory.id
        changed = run_now(memories.edit(name, with_text(memories.get(name), "The port is 9090.")))
        assert (changed.content.text, changed.version, changed.author) == ("The port is 9090.", 2, "agent")
        run_now(memories.pin(name))
        run_now(memories.undo(name, 2))
        assert (memories.get(name).content.text, memories.get(name).pinned) == ("The port is 8080.", True)
        run_now(memories.undo(name, 4))
        assert memories.get(name).content.text == "The port is 9090."
        assert run_now(memories.undo(name, 1)) is None and memories.listed(status=None) == []
        run_now(memories.undo(name, 6))
        assert memories.get(name).content.text == "The port is 9090."
        assert [one.number for one in memories.changes(name)] == [1, 2, 3, 4, 5, 6, 7]


def test_undo_reverts_the_last_effective_change(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, "The port is 8080.").memory.id
        run_now(memories.pin(name))
        run_now(memories.archive(name))
        assert (restored := run_now(memories.undo(name))) and (restored.status, restored.pinned) == ("active", True)
        assert (unpinned := run_now(memories.undo(name))) and not unpinned.pinned
        assert run_now(memories.undo(name)) is None
        with pytest.raises(Problem):
            run_now(memories.undo(name))


def test_an_edit_of_a_changed_memory_overwrites_nothing(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        memory = save_memory(memories, "The port is 8080.").memory
        run_now(memories.edit(memory.id, with_text(memory, "The port is 9090."), base=1))
        with pytest.raises(Problem) as moved:
            run_now(memories.edit(memory.id, with_text(memory, "The port is 7070."), base=1))
        assert "version 2, not 1" in moved.value.details.cause
        assert memories.get(memory.id).content.text == "The port is 9090."


def test_rarity_of_words_is_weighed_over_all_scopes(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        for number in range(2, 12):
            save_memory(memories, f"Talk number {number}. It completed.", "outcome", reach="folder", place="/work")
        exact = save_memory(memories, "The fact number 2", "preference").memory.id
        save_memory(memories, "The fact number 1", "preference")
        assert memories.find("The fact number 2")[0].memory.id == exact


def test_an_edit_is_checked_like_a_new_memory(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        memory = save_memory(memories, "The port is 8080.").memory
        with pytest.raises(Problem):
            run_now(memories.edit(memory.id, with_text(memory, "The password is hunter2")))


def test_archived_or_forgotten_memories_are_not_found_and_can_be_restored(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, "The collector runs on the old machine.").memory.id

        def is_found() -> bool:
            return bool(memories.find("collector")) or bool(memories.recall("collector machine", [EVERYWHERE]).items)

        assert is_found()
        for leave, standing in ((memories.archive, "archived"), (memories.forget, "forgotten")):
            run_now(leave(name))
            assert not is_found() and memories.get(name).status == standing
            assert (
                save_memory(memories, "The collector runs on the old machine.").did == "created"
            )  # Archived memories do not count as known.
            run_now(memories.undo(memories.listed()[0].id))
            run_now(memories.restore(name))
            assert is_found()


def test_erasing_removes_everything_recorded(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, "The zeppelin lands at noon.").memory.id
        run_now(memories.record_uses([MemoryUse("s", 1, name, 1, 5, 1.0)]))
        run_now(memories.erase(name))
        with pytest.raises(Problem):
            memories.get(name)
        assert (memories.changes(name), memories.uses(name), memories.find("zeppelin")) == ([], [], [])
    body = b"".join(file.read_bytes() for file in tmp_path.glob("journeyman.db"))
    assert b"noon" not in body or b"zeppelin lands" not in _live(tmp_path)


def _live(folder: Path) -> bytes:
    """Return everything about the memory that can still be read from the file."""
    with memories_at(folder) as memories:
        return repr(memories.listed(status=None)).encode()


def test_forgetting_a_session_or_folder_keeps_what_the_user_wrote(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        save_memory(memories, "Learnt here by the agent.", session="s1")
        save_memory(memories, "Written down by the user in there.", by="user", session="s1")
        save_memory(memories, "Learnt elsewhere entirely.", session="s2", reach="folder", place="/w")
        assert len(run_now(memories.forget_all(session="s1"))) == 1 and len(memories.listed()) == 2
        assert len(run_now(memories.forget_all(folder="/w"))) == 1
        assert [one.author for one in memories.listed()] == ["user"]
        with pytest.raises(Problem):
            run_now(memories.forget_all())


def test_helpful_uses_are_counted_by_run_outcomes(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, "The port is 8080.").memory.id
        run_now(memories.record_uses([MemoryUse("s", n, name, 1, 10 + n, 0.9, int(n != 3)) for n in (1, 2, 3)]))

        def judge(run: int, went: str) -> None:
            run_now(memories.store.write(lambda rows: rows.rate_run("s", run, went)))

        judge(1, "good")
        judge(2, "bad")
        judge(3, "good")  # The run received the memory but did not use it.
        uses = memories.get(name).usage
        assert (uses.recall_count, uses.use_count, uses.good_runs, uses.bad_runs, uses.last_recalled) == (
            3,
            2,
            1,
            1,
            13,
        )
        judge(2, "good")
        judge(1, "")
        assert (memories.get(name).usage.good_runs, memories.get(name).usage.bad_runs) == (1, 0)


def test_unused_memories_decay_into_the_archive_unless_the_user_wrote_them(tmp_path: Path) -> None:
    clock = ManualClock()
    with memories_at(tmp_path, clock) as memories:
        faded = save_memory(memories, "The build takes nine minutes.").memory.id
        used = save_memory(memories, "The cache lies beside the sources.").memory.id
        save_memory(memories, "Mine, and it stays forever.", by="user")
        run_now(memories.pin(save_memory(memories, "Pinned and therefore kept.").memory.id))
        clock.pass_by(200)
        run_now(memories.record_uses([MemoryUse("s", 1, used, 1, clock(), 1.0, 1)]))
        assert run_now(memories.archive_decayed()) == []
        clock.pass_by(200)
        assert run_now(memories.archive_decayed()) == [faded]
        assert memories.get(faded).status == "archived" and len(memories.listed()) == 3
        assert "relevance" in memories.changes(faded)[-1].reason and memories.changes(faded)[-1].author == "run"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["keep", "keep", "edit", "pin", "unpin", "archive", "restore", "forget", "undo", "erase"]),
        st.integers(0, 5),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=25,
)
TEXTS = [f"The {noun} of the {place} house is {color}." for noun, place, color in (
    ("door", "old", "green"), ("roof", "new", "red"), ("fence", "last", "white"), ("gate", "first", "black"),
    ("wall", "north", "yellow"), ("lamp", "south", "blue"),
)]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_rows_are_always_the_fold_of_the_changes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    with memories_at(tmp_path_factory.mktemp("m")) as memories:
        for did, which, number in steps:
            _do(memories, did, which, number)
            assert problems(memories) == []


def _do(memories: Memories, did: str, which: int, number: int) -> None:
    if did == "keep":
        save_memory(memories, TEXTS[which], by="user" if number == 1 else "agent", reach="folder", place=f"/{number}")
        return
    known = sorted(memories.listed(status=None), key=lambda one: one.created_at)
    if not known:
        return
    memory = known[which % len(known)]
    acts: dict[str, Any] = {
        "edit": lambda: memories.edit(memory.id, with_text(memory, TEXTS[number])),
        "pin": lambda: memories.pin(memory.id),
        "unpin": lambda: memories.pin(memory.id, False),
        "archive": lambda: memories.archive(memory.id),
        "restore": lambda: memories.restore(memory.id),
        "forget": lambda: memories.forget(memory.id),
        "erase": lambda: memories.erase(memory.id),
        "undo": lambda: memories.undo(memory.id, min(number, memory.version)),
    }
    run_now(acts[did]())


def problems(memories: Memories) -> list[str]:
    """Return the differences between the rows and the index, and what the changes imply."""

    def look(rows: MemoryRecords) -> list[str]:
        wrong = []
        listed = {one.id: one for one in rows.find(status=None)}
        for name, memory in listed.items():
            if replace_uses(fold(rows.changes(name))) != replace_uses(memory):
                wrong.append(f"{name} is not its fold")
        for place in rows.all_scopes():
            here = [
                one
                for one in listed.values()
                if (one.content.scope, one.content.scope_id) == (place.scope, place.scope_id)
            ]
            active = [one for one in here if one.status == "active"]
            if place.memories != len(active):
                wrong.append(f"{place} holds {len(active)}")
            if len(rows.postings("hous", place.number, 9_999)) != len(active):
                wrong.append(f"the index of {place} has others")
        return wrong

    return memories.store.read(look)


def replace_uses(memory: Memory | None) -> Memory | None:
    from dataclasses import replace

    from core.domain.memory import MemoryUsage

    return replace(memory, usage=MemoryUsage()) if memory else None


@pytest.mark.parametrize("bug", ["a row", "the index", "the count", "a change"])
def test_a_planted_bug_is_detected(tmp_path: Path, bug: str) -> None:
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, TEXTS[0]).memory.id
        run_now(memories.pin(name))
        assert problems(memories) == []
        planted = {
            "a row": "UPDATE memory SET pinned = 0",
            "the index": "INSERT INTO memory_search (memory_search) VALUES ('delete-all')",
            "the count": "UPDATE memory_scope SET memory_count = 7",
            "a change": "UPDATE memory_version SET action = 'archived' WHERE number = 2",
        }[bug]
        assert memories.store.database is not None
        run_now(memories.store.database.run(lambda db: db.execute(planted)))
        assert problems(memories) != []


def test_a_fold_without_a_first_change_is_empty() -> None:
    assert fold([]) is None and fold([MemoryChange("m", 1, 1, "pinned", "user")]) is None
    assert fold([MemoryChange("m", 1, 1, "edited", "user", MemoryContent("knowledge", "x"))]) is None
    assert fold([MemorySource("user").change("m", 1, 1, "created", MemoryContent("knowledge", "x"))]) is not None


def test_rows_are_rebuilt_from_changes(tmp_path: Path) -> None:
    """A salvage leaves versions and uses, but no rows and no index."""
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, TEXTS[0]).memory.id
        run_now(memories.pin(name))
        before = memories.get(name)
        assert memories.store.database is not None
        for table in ("memory", "memory_scope"):
            run_now(memories.store.database.run(lambda db, table=table: db.execute(f"DELETE FROM {table}")))  # type: ignore[misc]
        run_now(
            memories.store.database.run(
                lambda db: db.execute("INSERT INTO memory_search (memory_search) VALUES ('delete-all')")
            )
        )
    with memories_at(tmp_path) as memories:
        assert run_now(memories.rebuild_missing()) == 1 and memories.get(name) == before and problems(memories) == []
        assert run_now(memories.rebuild_missing()) == 0


def test_a_salvaged_file_keeps_its_memories(tmp_path: Path) -> None:
    fill(tmp_path / "journeyman.db", 3)
    with memories_at(tmp_path) as memories:
        name = save_memory(memories, TEXTS[0], reach="folder", place="/w").memory.id
        run_now(memories.record_uses([MemoryUse("s", 1, name, 1, 5, 1.0, 1)]))
        before = memories.get(name)
    saved = salvage(tmp_path / "journeyman.db")
    assert (saved.sessions, saved.lost) == (1, 0)
    with memories_at(tmp_path) as memories:
        assert run_now(memories.rebuild_missing()) == 1 and memories.get(name) == before and problems(memories) == []
