"""Lessons derived from outcomes, merges of near-duplicates, and what becomes of such proposals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.memory import Memory, MemoryContent, sentence
from core.domain.proposal import MemoryChangeRef, MemoryResult
from core.engine.services.proposal_queue import ProposalQueue
from core.memory.daily_maintenance import run_daily_maintenance
from core.memory.lessons import derive_lessons, find_duplicates
from core.memory.memories import Memories
from core.memory.proposal_actions import MemoryProposals
from core.memory.saving import MemorySource
from core.skills.library import SkillLibrary
from core.skills.proposal_actions import SkillProposals
from core.skills.skill_disk import SkillDisk
from core.store.journal import Journal
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.store.skill_store import SkillStore
from tests.core.memory.made import memories_at, run_now, save_memory

BADLY = "and went badly"


def ended(n: int, task: str, tried: str, verdict: str = "", status: str = "completed", **more: str) -> Memory:
    parts = {"task": task, "tried": tried, "status": status, "rating": verdict, **more}
    told = {name: text for name, text in parts.items() if text}
    said = MemoryContent("outcome", sentence("outcome", told), "folder", "/w", fields=told)
    return Memory(f"m{n}", said, "run", n, n, 1, f"s{n}")


def deploys(count: int, verdict: str = "and went well", **more: Any) -> list[Memory]:
    return [ended(n, f"Deploy the site number {n}", "command make release", verdict, **more) for n in range(count)]


def test_three_similar_successes_are_a_heuristic_and_two_are_none() -> None:
    assert derive_lessons(deploys(2)) == []
    (lesson,) = derive_lessons(deploys(4))
    assert (
        lesson.content.kind == "heuristic" and "make release" in lesson.content.text and lesson.content.scope_id == "/w"
    )
    assert lesson.content.confidence == 4 / 6 and lesson.reason.startswith("4 similar runs went well")


def test_an_agent_may_need_more_similar_runs() -> None:
    assert derive_lessons(deploys(4, least="5")) == []
    (lesson,) = derive_lessons(deploys(5, least="5"))
    assert lesson.reason.startswith("5 similar runs")


def test_a_completed_run_alone_teaches_nothing() -> None:
    assert derive_lessons(deploys(9, verdict="")) == []


def test_similar_failures_are_an_anti_pattern_with_their_error_once_they_are_rated() -> None:
    """A run can fail because of its provider or its limits, which says nothing about its approach."""
    failed = {"status": "failed", "error": "the port is taken"}
    assert derive_lessons(deploys(9, verdict="", **failed)) == []
    (lesson,) = derive_lessons(deploys(3, verdict="and went badly", **failed))
    assert lesson.content.kind == "anti-pattern" and "the port is taken" in lesson.content.text


def test_mixed_outcomes_teach_nothing() -> None:
    assert derive_lessons([*deploys(3), ended(7, "Deploy the site", "command make release", "and went badly")]) == []


def test_other_approaches_and_scopes_are_not_similar() -> None:
    """Approaches that consist of one word each are not similar because of that."""
    ways = [
        ended(n, "Deploy the site", f"command {way}", "and went well")
        for n, way in enumerate(("ant", "bun", "cmake", "doit"))
    ]
    assert derive_lessons(ways) == []


@pytest.mark.parametrize(
    "approaches",
    [
        ("command make test", "command make lint", "command make deploy"),
        ("write a.md", "write b.md", "write c.md"),
        ("edit src/one.py; command pytest", "edit src/two.py; command tox", "edit src/three.py; command nox"),
    ],
)
def test_approaches_that_share_the_kinds_of_steps_or_an_ending_are_not_similar(approaches: tuple[str, ...]) -> None:
    runs = [ended(n, "Prepare the site", tried, "and went well") for n, tried in enumerate(approaches)]
    assert derive_lessons(runs) == []


def test_near_duplicate_pairs_without_contradictions(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        save_memory(memories, "The release script of the site needs a clean working tree to start.")
        mine = save_memory(memories, "The release script of the site needs a clean tree.", by="user").memory
        save_memory(memories, "The release script of the site never needs a clean working tree to start.")
        save_memory(memories, "Bread is baked on Mondays.")
        found = find_duplicates(memories.listed())
        assert [one.id for one, _ in found] == [mine.id] and len(found) == 1


def tray_at(folder: Path, memories: Memories) -> tuple[ProposalQueue, ProposalStore]:
    path = folder / "journeyman.db"
    reader = Reader(path)
    reader.close()
    proposals = ProposalStore(path, memories.store.database, Journal(memories.store.database, reader))
    library = SkillLibrary(SkillStore(path, memories.store.database), SkillDisk(None))
    return ProposalQueue(proposals, skills=SkillProposals(library), memories=MemoryProposals(memories)), proposals


def test_consolidation_proposes_once_and_accepting_and_undoing_are_changes(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        for one in deploys(3):
            keep_outcome(memories, one)
        first = save_memory(memories, "The release script of the site needs a clean working tree to start.").memory
        second = save_memory(memories, "The release script of the site needs a clean tree.").memory
        tray, proposals = tray_at(tmp_path, memories)
        _, made = run_now(run_daily_maintenance(memories, proposals))
        assert sorted(one.action for one in made) == ["create", "merge"]
        assert run_now(run_daily_maintenance(memories, proposals))[1] == []
        merge = next(one for one in made if one.action == "merge")
        kept = run_now(tray.accept(merge.id))
        assert isinstance(kept.result, MemoryResult) and len(kept.result.changes) == 2
        standings = {memories.get(one.id).status for one in (first, second)}
        assert standings == {"active", "archived"}
        assert {memories.get(one.id).content.text for one in (first, second)} >= {first.content.text}
        run_now(tray.undo(merge.id))
        assert [memories.get(one.id).content.text for one in (first, second)] == [
            first.content.text,
            second.content.text,
        ]
        assert {memories.get(one.id).status for one in (first, second)} == {"active"}
        lesson = next(one for one in made if one.action == "create")
        run_now(tray.accept(lesson.id, "When a site is deployed: make release."))
        assert [one.content.text for one in memories.listed(kind="heuristic")] == [
            "When a site is deployed: make release."
        ]
        run_now(tray.undo(lesson.id))
        assert memories.listed(kind="heuristic", status=None) == []


def merge_of_two(memories: Memories, proposals: ProposalStore) -> tuple[Memory, Memory, str]:
    """Return a memory of the user that a proposed merge keeps word for word, the other memory, and the proposal."""
    kept = save_memory(memories, "Build the app with gradle inside the container builder", by="user").memory
    save_memory(memories, "Build the app with gradle inside the container builder, using the release flavor", by="user")
    [merge] = run_now(run_daily_maintenance(memories, proposals))[1]
    if merge.target != kept.id:
        kept = memories.get(merge.target)
    [other] = [one for one in memories.listed() if one.id != kept.id]
    assert merge.text == kept.content.text, "the merge changes no text"
    return kept, other, merge.id


def test_A23_undoing_a_merge_that_changed_no_text_loses_no_memory(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        tray, proposals = tray_at(tmp_path, memories)
        kept, other, merge = merge_of_two(memories, proposals)
        assert run_now(tray.accept(merge)).result == MemoryResult((MemoryChangeRef(other.id, 2),))
        run_now(tray.undo(merge))
        assert {one.id: one.content.text for one in memories.listed()} == {
            one.id: one.content.text for one in (kept, other)
        }


def test_A23_a_merge_recorded_with_a_change_that_it_did_not_make_loses_no_memory(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        tray, proposals = tray_at(tmp_path, memories)
        kept, other, merge = merge_of_two(memories, proposals)
        run_now(tray.accept(merge))
        recorded = ("UPDATE proposal SET result = ? WHERE id = ?", (f"{kept.id}:1 {other.id}:2", merge))
        assert memories.store.database is not None
        run_now(memories.store.database.run(lambda db: db.execute(*recorded)))
        run_now(tray.undo(merge))
        assert {one.id for one in memories.listed()} == {kept.id, other.id}


def keep_outcome(memories: Memories, outcome: Memory) -> None:
    from core.memory.saving import MemorySource

    run_now(memories.save(outcome.content, MemorySource("run", outcome.session)))


def test_a_rejected_lesson_is_not_proposed_again_after_each_new_outcome(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        reader = Reader(memories.store.path)
        proposals = ProposalStore(reader.path, memories.store.database, Journal(memories.store.database, reader))
        for number in range(6):
            error = f"Port {8000 + number} of the site is taken"
            outcome = ended(
                number, f"Deploy the site number {number}", "command make release", BADLY, "failed", error=error
            )
            run_now(memories.save(outcome.content, MemorySource("run", f"s{number}")))
            _, made = run_now(run_daily_maintenance(memories, proposals))
            assert len(made) == (number == 2), "the same lesson was proposed again"
            for one in made:
                run_now(proposals.resolve(one.id, "rejected", text="Deploy at night."))  # as if edited before
        for number in range(3):
            outcome = ended(
                number, "Write the letters of the week", "command make letters", BADLY, "failed", error="No paper"
            )
            run_now(memories.save(outcome.content, MemorySource("run", f"t{number}")))
        assert len(run_now(run_daily_maintenance(memories, proposals))[1]) == 1, "another lesson is still proposed"
        reader.close()


def test_a_pending_lesson_whose_runs_are_rated_otherwise_says_so_and_is_withdrawn(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        queue, proposals = tray_at(tmp_path, memories)
        for outcome in deploys(3):
            keep_outcome(memories, outcome)
        [lesson] = run_now(run_daily_maintenance(memories, proposals))[1]
        assert queue.get(lesson.id) == lesson and lesson.reason.startswith("3 similar runs went well")

        def rate(verdict: str) -> None:
            outcome = memories.listed(kind="outcome")[0]
            fields = {name: text for name, text in outcome.content.fields.items() if name != "rating"}
            content = replace(outcome.content, fields=fields | ({"rating": verdict} if verdict else {}))
            run_now(memories.edit(outcome.id, content, by=MemorySource("run")))

        rate("")  # the user removed the rating of a run
        changed = "Ratings have changed since: 2 of these 3 runs are still rated good."
        assert queue.list()[0].reason == f"{lesson.reason} {changed}" == queue.get(lesson.id).reason
        assert run_now(run_daily_maintenance(memories, proposals))[1] == [] and queue.list() == ()
        assert queue.get(lesson.id).state == "rejected"
        rate("and went well")
        [again] = run_now(run_daily_maintenance(memories, proposals))[1]
        assert (again.text, again.reason) == (lesson.text, lesson.reason) and again.id != lesson.id
        run_now(queue.accept(again.id))
        assert [memory.content.text for memory in memories.listed(kind="heuristic")] == [lesson.text]
