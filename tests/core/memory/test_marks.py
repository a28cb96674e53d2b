"""Tags, expiry dates and the user's rating: kept with the memory, searched, and respected by recall and tidying."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.domain.clock import SECOND
from core.domain.memory import DAY, EVERYWHERE, MemoryContent
from core.domain.memory_marks import join_tags, parse_expiry, tags_of, with_marks
from core.domain.problems import Problem
from core.memory.decay import MAX_OUTCOMES, find_decayed
from core.memory.memories import Memories, with_text
from core.memory.recall import MAX_PINNED
from core.memory.saving import MemorySource
from tests.core.memory.made import ManualClock, add_all, memories_at, run_now, save_memory

NOON = int(datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()) * SECOND


def marked(memories: Memories, text: str, **marks: str) -> str:
    content = with_marks(MemoryContent("knowledge", text), marks)
    return run_now(memories.save(content, MemorySource("user"))).memory.id


def recalled(memories: Memories, question: str) -> list[str]:
    return [item.memory_id for item in memories.recall(question, (EVERYWHERE,)).items]


def test_a_tag_finds_a_memory_and_survives_a_new_text(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = marked(memories, "The staging server restarts at night.", tags=join_tags(["Deploy", "#ops", "deploy"]))
        assert tags_of(memories.get(name).content) == ("deploy", "ops")
        assert [match.memory.id for match in memories.find("ops")] == [name]
        run_now(memories.edit(name, with_text(memories.get(name), "The staging server restarts at noon.")))
        assert tags_of(memories.get(name).content) == ("deploy", "ops")
        assert [match.memory.id for match in memories.find("deploy")] == [name]


def test_an_expired_memory_is_not_recalled_and_is_archived_even_if_the_user_wrote_it(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    with memories_at(tmp_path, clock) as memories:
        name = marked(memories, "The office is closed for building work.", expires=parse_expiry("30d", NOON))
        question = "Is the office closed for building work?"
        assert recalled(memories, question) == [name]
        clock.at += 29 * DAY
        assert recalled(memories, question) == [name] and memories.decayed() == []
        clock.at += DAY
        assert recalled(memories, question) == []
        assert [(memory.id, why) for memory, why in memories.decayed()] == [(name, "it expired on 2026-07-01")]
        assert run_now(memories.archive_decayed()) == [name] and memories.get(name).status == "archived"


def test_a_memory_that_does_not_help_is_found_but_not_recalled(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        name = marked(memories, "The build needs the flag fast.")
        question = "Which flag does the build need to be fast?"
        assert recalled(memories, question) == [name]
        run_now(memories.edit(name, with_marks(memories.get(name).content, {"user_rating": "bad"})))
        assert recalled(memories, question) == [] and [m.memory.id for m in memories.find("build flag")] == [name]
        run_now(memories.undo(name))
        assert recalled(memories, question) == [name]


def test_a_preference_that_does_not_help_is_not_recalled_either_and_takes_no_place(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        useful = save_memory(memories, "They write commit messages in English.", kind="preference").memory.id
        for number in range(MAX_PINNED):
            text = f"They like rule {number} of chapter {number}."
            name = save_memory(memories, text, kind="preference").memory.id
            run_now(memories.edit(name, with_marks(memories.get(name).content, {"user_rating": "bad"})))
        assert recalled(memories, "Hello") == [useful]


def test_a_helpful_memory_is_preferred_among_equal_ones(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        first = save_memory(memories, "The report is built with the red tool.").memory.id
        second = save_memory(memories, "The report is built with the blue tool.").memory.id
        question = "How is the report built?"
        order = [match.memory.id for match in memories.find(question)]
        last = order[-1]
        assert set(order) == {first, second}
        run_now(memories.edit(last, with_marks(memories.get(last).content, {"user_rating": "good"})))
        assert next(match.memory.id for match in memories.find(question)) == last


def test_outcomes_beyond_the_limit_are_archived_the_least_relevant_first(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    with memories_at(tmp_path, clock) as memories:
        contents = [MemoryContent("outcome", f"Task {n} was done.", confidence=1.0) for n in range(MAX_OUTCOMES + 2)]
        run_now(add_all(memories, [(content, MemorySource("run")) for content in contents[:2]], clock.at))
        clock.at += DAY
        run_now(add_all(memories, [(content, MemorySource("run")) for content in contents[2:]], clock.at))
        beyond = find_decayed(memories.listed(), clock.at)
        assert {memory.content.text for memory, _ in beyond} == {"Task 0 was done.", "Task 1 was done."}
        assert "more than 1,000 outcomes" in beyond[0][1]


@pytest.mark.parametrize(
    ("text", "date"), [("", ""), ("never", ""), ("30d", "2026-07-01"), ("2027-01-31", "2027-01-31")]
)
def test_expiry_dates_are_read(text: str, date: str) -> None:
    assert parse_expiry(text, NOON) == date


@pytest.mark.parametrize("wrong", ["soon", "2026-13-01", "2026-06-01", "0d", "31.1.2027"])
def test_a_wrong_or_past_date_is_refused(wrong: str) -> None:
    with pytest.raises(Problem):
        parse_expiry(wrong, NOON)


def test_too_many_tags_are_refused() -> None:
    with pytest.raises(Problem, match="12 tags"):
        join_tags(map(str, range(13)))
