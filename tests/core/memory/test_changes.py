"""What becomes of a memory: changed, taken back, forgotten; always the fold of what happened."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.memory import Change, Memory, Said, fold
from core.domain.problems import Problem
from core.memory.keep import Source
from core.memory.memory import EVERYWHERE, Memories, edited
from core.store.memory_rows import MemoryRows, Use
from core.store.salvage import salvage
from tests.core.memory.made import Days, done, keep, memories_at
from tests.core.store.made import fill


def test_every_change_can_be_taken_back_and_that_too(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = keep(memories, "The port is 8080.").memory.id
        changed = done(memories.edit(name, edited(memories.memory(name), "The port is 9090.")))
        assert (changed.said.text, changed.version, changed.author) == ("The port is 9090.", 2, "agent")
        done(memories.pin(name))
        done(memories.undo(name, 2))
        assert (memories.memory(name).said.text, memories.memory(name).pinned) == ("The port is 8080.", True)
        done(memories.undo(name, 4))
        assert memories.memory(name).said.text == "The port is 9090."
        assert done(memories.undo(name, 1)) is None and memories.listed(standing=None) == []
        done(memories.undo(name, 6))
        assert memories.memory(name).said.text == "The port is 9090."
        assert [one.number for one in memories.changes(name)] == [1, 2, 3, 4, 5, 6, 7]


def test_the_last_change_that_counts_is_taken_back(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = keep(memories, "The port is 8080.").memory.id
        done(memories.pin(name))
        done(memories.archive(name))
        assert (restored := done(memories.undo(name))) and (restored.standing, restored.pinned) == ("active", True)
        assert (unpinned := done(memories.undo(name))) and not unpinned.pinned
        assert done(memories.undo(name)) is None
        with pytest.raises(Problem):
            done(memories.undo(name))


def test_an_edit_of_what_was_changed_meanwhile_overwrites_nothing(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        memory = keep(memories, "The port is 8080.").memory
        done(memories.edit(memory.id, edited(memory, "The port is 9090."), base=1))
        with pytest.raises(Problem) as moved:
            done(memories.edit(memory.id, edited(memory, "The port is 7070."), base=1))
        assert "version 2, not 1" in moved.value.trouble.why
        assert memories.memory(memory.id).said.text == "The port is 9090."


def test_what_is_rare_among_two_memories_of_a_place_is_weighed_by_all_places(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        for number in range(2, 12):
            keep(memories, f"Talk number {number}. It completed.", "outcome", reach="folder", place="/work")
        exact = keep(memories, "The fact number 2", "preference").memory.id
        keep(memories, "The fact number 1", "preference")
        assert memories.find("The fact number 2")[0].memory.id == exact


def test_an_edit_is_looked_at_like_a_new_one(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        memory = keep(memories, "The port is 8080.").memory
        with pytest.raises(Problem):
            done(memories.edit(memory.id, edited(memory, "The password is hunter2")))


def test_what_is_archived_or_forgotten_is_found_by_nobody_and_comes_back(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = keep(memories, "The collector runs on the old machine.").memory.id

        def is_found() -> bool:
            return bool(memories.find("collector")) or bool(memories.recall("collector machine", [EVERYWHERE]).items)

        assert is_found()
        for leave, standing in ((memories.archive, "archived"), (memories.forget, "forgotten")):
            done(leave(name))
            assert not is_found() and memories.memory(name).standing == standing
            assert keep(memories, "The collector runs on the old machine.").did == "kept"  # it is no longer known
            done(memories.undo(memories.listed()[0].id))
            done(memories.restore(name))
            assert is_found()


def test_erased_is_gone_with_all_that_was_noted_of_it(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = keep(memories, "The zeppelin lands at noon.").memory.id
        done(memories.use([Use("s", 1, name, 1, 5, 1.0)]))
        done(memories.erase(name))
        with pytest.raises(Problem):
            memories.memory(name)
        assert (memories.changes(name), memories.uses(name), memories.find("zeppelin")) == ([], [], [])
    body = b"".join(file.read_bytes() for file in tmp_path.glob("journeyman.db"))
    assert b"noon" not in body or b"zeppelin lands" not in _live(tmp_path)


def _live(folder: Path) -> bytes:
    """What the file still says to anybody who asks it."""
    with memories_at(folder) as memories:
        return repr(memories.listed(standing=None)).encode()


def test_all_of_a_session_or_a_folder_is_forgotten_but_not_what_a_person_wrote(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        keep(memories, "Learnt here by the agent.", session="s1")
        keep(memories, "Written down by the person in there.", by="person", session="s1")
        keep(memories, "Learnt elsewhere entirely.", session="s2", reach="folder", place="/w")
        assert len(done(memories.forget_all(session="s1"))) == 1 and len(memories.listed()) == 2
        assert len(done(memories.forget_all(folder="/w"))) == 1
        assert [one.author for one in memories.listed()] == ["person"]
        with pytest.raises(Problem):
            done(memories.forget_all())


def test_helps_are_counted_by_how_the_runs_went(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = keep(memories, "The port is 8080.").memory.id
        done(memories.use([Use("s", n, name, 1, 10 + n, 0.9, int(n != 3)) for n in (1, 2, 3)]))

        def judge(run: int, went: str) -> None:
            done(memories.book.write(lambda rows: rows.judge("s", run, went)))

        judge(1, "good")
        judge(2, "bad")
        judge(3, "good")  # it was told there, but not used
        uses = memories.memory(name).uses
        assert (uses.recalled, uses.used, uses.good, uses.bad, uses.last) == (3, 2, 1, 1, 13)
        judge(2, "good")
        judge(1, "")
        assert (memories.memory(name).uses.good, memories.memory(name).uses.bad) == (1, 0)


def test_what_nobody_uses_fades_into_the_archive_and_what_a_person_wrote_never_does(tmp_path: Path) -> None:
    clock = Days()
    with memories_at(tmp_path, clock) as memories:
        faded = keep(memories, "The build takes nine minutes.").memory.id
        used = keep(memories, "The cache lies beside the sources.").memory.id
        keep(memories, "Mine, and it stays for good.", by="person")
        done(memories.pin(keep(memories, "Pinned and therefore kept.").memory.id))
        clock.pass_by(200)
        done(memories.use([Use("s", 1, used, 1, clock(), 1.0, 1)]))
        assert done(memories.fade()) == []
        clock.pass_by(200)
        assert done(memories.fade()) == [faded]
        assert memories.memory(faded).standing == "archived" and len(memories.listed()) == 3
        assert "strength" in memories.changes(faded)[-1].why and memories.changes(faded)[-1].by == "run"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["keep", "keep", "edit", "pin", "unpin", "archive", "restore", "forget", "undo", "erase"]),
        st.integers(0, 5),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=25,
)
TEXTS = [f"The {noun} of the {place} house is {colour}." for noun, place, colour in (
    ("door", "old", "green"), ("roof", "new", "red"), ("fence", "last", "white"), ("gate", "first", "black"),
    ("wall", "north", "yellow"), ("lamp", "south", "blue"),
)]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_whatever_is_done_the_rows_are_the_fold_of_the_changes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    with memories_at(tmp_path_factory.mktemp("m")) as memories:
        for did, which, number in steps:
            _do(memories, did, which, number)
            assert problems(memories) == []


def _do(memories: Memories, did: str, which: int, number: int) -> None:
    if did == "keep":
        keep(memories, TEXTS[which], by="person" if number == 1 else "agent", reach="folder", place=f"/{number}")
        return
    known = sorted(memories.listed(standing=None), key=lambda one: one.made)
    if not known:
        return
    memory = known[which % len(known)]
    acts: dict[str, Any] = {
        "edit": lambda: memories.edit(memory.id, edited(memory, TEXTS[number])),
        "pin": lambda: memories.pin(memory.id),
        "unpin": lambda: memories.pin(memory.id, False),
        "archive": lambda: memories.archive(memory.id),
        "restore": lambda: memories.restore(memory.id),
        "forget": lambda: memories.forget(memory.id),
        "erase": lambda: memories.erase(memory.id),
        "undo": lambda: memories.undo(memory.id, min(number, memory.version)),
    }
    done(acts[did]())


def problems(memories: Memories) -> list[str]:
    """What of the rows and the index is not as the changes say."""

    def look(rows: MemoryRows) -> list[str]:
        wrong = []
        listed = {one.id: one for one in rows.listed(standing=None)}
        for name, memory in listed.items():
            if replace_uses(fold(rows.changes(name))) != replace_uses(memory):
                wrong.append(f"{name} is not its fold")
        for place in rows.every_place():
            here = [one for one in listed.values() if (one.said.reach, one.said.place) == (place.reach, place.place)]
            active = [one for one in here if one.standing == "active"]
            if place.memories != len(active):
                wrong.append(f"{place} holds {len(active)}")
            if len(rows.postings("hous", place.number, 9_999)) != len(active):
                wrong.append(f"the index of {place} has others")
        return wrong

    return memories.book.read(look)


def replace_uses(memory: Memory | None) -> Memory | None:
    from dataclasses import replace

    from core.domain.memory import Uses

    return replace(memory, uses=Uses()) if memory else None


@pytest.mark.parametrize("bug", ["a row", "the index", "the count", "a change"])
def test_a_planted_bug_is_seen(tmp_path: Path, bug: str) -> None:
    with memories_at(tmp_path) as memories:
        name = keep(memories, TEXTS[0]).memory.id
        done(memories.pin(name))
        assert problems(memories) == []
        planted = {
            "a row": "UPDATE memory SET pinned = 0",
            "the index": "INSERT INTO search_memory (search_memory) VALUES ('delete-all')",
            "the count": "UPDATE memory_place SET memories = 7",
            "a change": "UPDATE memory_version SET did = 'archived' WHERE number = 2",
        }[bug]
        assert memories.book.database is not None
        done(memories.book.database.do(lambda db: db.execute(planted)))
        assert problems(memories) != []


def test_a_fold_of_nothing_or_without_a_beginning_is_nothing() -> None:
    assert fold([]) is None and fold([Change("m", 1, 1, "pinned", "person")]) is None
    assert fold([Change("m", 1, 1, "edited", "person", Said("knowledge", "x"))]) is None
    assert fold([Source("person").change("m", 1, 1, "kept", Said("knowledge", "x"))]) is not None


def test_what_only_the_changes_tell_of_is_made_anew(tmp_path: Path) -> None:
    """As a salvage leaves it: versions and uses, but no rows and no index."""
    with memories_at(tmp_path) as memories:
        name = keep(memories, TEXTS[0]).memory.id
        done(memories.pin(name))
        before = memories.memory(name)
        assert memories.book.database is not None
        for table in ("memory", "memory_place"):
            done(memories.book.database.do(lambda db, table=table: db.execute(f"DELETE FROM {table}")))  # type: ignore[misc]
        done(
            memories.book.database.do(
                lambda db: db.execute("INSERT INTO search_memory (search_memory) VALUES ('delete-all')")
            )
        )
    with memories_at(tmp_path) as memories:
        assert done(memories.mend()) == 1 and memories.memory(name) == before and problems(memories) == []
        assert done(memories.mend()) == 0


def test_a_salvaged_file_remembers(tmp_path: Path) -> None:
    fill(tmp_path / "journeyman.db", 3)
    with memories_at(tmp_path) as memories:
        name = keep(memories, TEXTS[0], reach="folder", place="/w").memory.id
        done(memories.use([Use("s", 1, name, 1, 5, 1.0, 1)]))
        before = memories.memory(name)
    saved = salvage(tmp_path / "journeyman.db")
    assert (saved.sessions, saved.lost) == (1, 0)
    with memories_at(tmp_path) as memories:
        assert done(memories.mend()) == 1 and memories.memory(name) == before and problems(memories) == []
