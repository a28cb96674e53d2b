"""What is told of many outcomes, what is worth merging, and what becomes of such proposals."""

from pathlib import Path
from typing import Any

from core.domain.memory import Memory, Said, sentence
from core.engine.proposing import Tray
from core.memory.keeper import MemoryKeeper
from core.memory.lessons import lessons, pairs
from core.memory.memory import Memories
from core.memory.tidy import tidy
from core.store.journal import Journal
from core.store.proposals import Proposals
from core.store.reader import Reader
from tests.core.memory.made import done, keep, memories_at


def ended(n: int, task: str, tried: str, verdict: str = "", status: str = "completed", error: str = "") -> Memory:
    parts = {"task": task, "tried": tried, "status": status, "verdict": verdict, "error": error}
    told = {name: text for name, text in parts.items() if text}
    said = Said("outcome", sentence("outcome", told), "folder", "/w", parts=told)
    return Memory(f"m{n}", said, "run", n, n, 1, f"s{n}")


def deploys(count: int, verdict: str = "and went well", **more: Any) -> list[Memory]:
    return [ended(n, f"Deploy the site number {n}", "command make release", verdict, **more) for n in range(count)]


def test_three_like_outcomes_that_went_well_are_a_heuristic_and_two_are_none() -> None:
    assert lessons(deploys(2)) == []
    (lesson,) = lessons(deploys(4))
    assert lesson.said.kind == "heuristic" and "make release" in lesson.said.text and lesson.said.place == "/w"
    assert lesson.said.confidence == 4 / 6 and lesson.reason.startswith("4 like runs went well")


def test_that_a_run_was_completed_teaches_nothing() -> None:
    assert lessons(deploys(9, verdict="")) == []


def test_like_failures_are_an_anti_pattern_with_their_error() -> None:
    (lesson,) = lessons(deploys(3, verdict="", status="failed", error="the port is taken"))
    assert lesson.said.kind == "anti-pattern" and "the port is taken" in lesson.said.text


def test_what_went_both_ways_teaches_nothing() -> None:
    assert lessons([*deploys(3), ended(7, "Deploy the site", "command make release", "and went badly")]) == []


def test_other_ways_and_other_places_are_not_like() -> None:
    """A-B6: ways of one word each are not the same for that."""
    ways = [
        ended(n, "Deploy the site", f"command {way}", "and went well")
        for n, way in enumerate(("ant", "bun", "cmake", "doit"))
    ]
    assert lessons(ways) == []


def test_pairs_that_say_nearly_the_same_and_none_that_say_otherwise(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        keep(memories, "The release script of the site needs a clean working tree to start.")
        mine = keep(memories, "The release script of the site needs a clean tree.", by="person").memory
        keep(memories, "The release script of the site never needs a clean working tree to start.")
        keep(memories, "Bread is baked on Mondays.")
        found = pairs(memories.listed())
        assert [one.id for one, _ in found] == [mine.id] and len(found) == 1


def tray_at(folder: Path, memories: Memories) -> tuple[Tray, Proposals]:
    path = folder / "journeyman.db"
    reader = Reader(path)
    reader.close()
    proposals = Proposals(path, memories.book.database, Journal(memories.book.database, reader))
    return Tray(proposals, {"memory": MemoryKeeper(memories)}), proposals


def test_tidying_proposes_once_and_keeping_and_undoing_are_changes(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        for one in deploys(3):
            keep_outcome(memories, one)
        first = keep(memories, "The release script of the site needs a clean working tree to start.").memory
        second = keep(memories, "The release script of the site needs a clean tree.").memory
        tray, proposals = tray_at(tmp_path, memories)
        _, made = done(tidy(memories, proposals))
        assert sorted(one.what for one in made) == ["create", "merge"]
        assert done(tidy(memories, proposals))[1] == []
        merge = next(one for one in made if one.what == "merge")
        kept = done(tray.keep(merge.id))
        assert len(kept.result.split()) == 2
        standings = {memories.memory(one.id).standing for one in (first, second)}
        assert standings == {"active", "archived"}
        assert {memories.memory(one.id).said.text for one in (first, second)} >= {first.said.text}
        done(tray.undo(merge.id))
        assert [memories.memory(one.id).said.text for one in (first, second)] == [first.said.text, second.said.text]
        assert {memories.memory(one.id).standing for one in (first, second)} == {"active"}
        lesson = next(one for one in made if one.what == "create")
        done(tray.keep(lesson.id, "When a site is deployed: make release."))
        assert [one.said.text for one in memories.listed(kind="heuristic")] == [
            "When a site is deployed: make release."
        ]
        done(tray.undo(lesson.id))
        assert memories.listed(kind="heuristic", standing=None) == []


def keep_outcome(memories: Memories, outcome: Memory) -> None:
    from core.memory.keep import Source

    done(memories.keep(outcome.said, Source("run", outcome.session)))
