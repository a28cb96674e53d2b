"""Compaction of random conversations: calls keep their results, one summary remains, and required messages are kept."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.domain.events import (
    ContextCompacted,
    EventRecord,
    HarnessMessage,
    Replied,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionEvent,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.text import Text
from core.engine.state import compaction
from core.engine.state import conversation as module
from core.engine.state.compaction import SUMMARY, TRUNCATED_LENGTH, USER
from core.engine.state.compaction_plan import compaction_event, message_groups, plan_compaction
from core.engine.state.conversation import Conversation, fold_events
from core.engine.state.token_counts import TokenCounts, message_tokens

SIZES = st.sampled_from([0, 1, 30, 400, 3000])
WORDS = SIZES.map(lambda size: "word " * size)


class EventList:
    """A growing list of events with the conversation folded from it."""

    def __init__(self) -> None:
        self.talk = Conversation()
        self.entries: list[EventRecord] = []

    def add(self, event: SessionEvent) -> None:
        self.entries.append(EventRecord("s", len(self.entries) + 1, 1, len(self.entries), event))
        self.talk.apply(self.entries[-1])

    def compact(self, room: float, summary: str) -> ContextCompacted | None:
        talk = self.talk
        talk.token_counts.count_messages(talk.messages)
        made = plan_compaction(talk.messages, talk.token_counts.counts, room, 0, talk.task, talk.compacted_calls)
        if not made.truncated and not made.summarized:
            return None
        done = replace(
            compaction_event(talk.messages, made, "by hand", 0), summary=Text(summary) if made.summarized else Text()
        )
        self.add(done)
        return done


def a_talk(data: st.DataObject) -> None:
    """Build a random conversation with compactions at random points, and check the invariants after each."""
    events = EventList()
    tasks: list[str] = []
    room = data.draw(st.sampled_from([300.0, 3000.0, 30000.0]))
    for run in range(data.draw(st.integers(1, 3))):
        tasks.append(f"Task {run}. " + data.draw(WORDS))
        events.add(UserMessage(Text(tasks[-1])))
        events.add(RunStarted("m"))
        for turn in range(data.draw(st.integers(0, 9))):
            if data.draw(st.integers(0, 5)) == 0:
                events.add(UserMessage(Text(data.draw(WORDS))))
            if data.draw(st.integers(0, 5)) == 0:
                events.add(HarnessMessage(Text(data.draw(WORDS))))
            events.add(RequestSent("m", turn))
            _whole(events.talk)
            calls = tuple(
                ToolCall(f"{run}.{turn}.{n}", "read", Text("{}")) for n in range(data.draw(st.integers(0, 3)))
            )
            events.add(Replied(Text(data.draw(WORDS)), calls=calls))
            for call in calls:
                events.add(ToolReturned(call.id, Text(data.draw(WORDS)), data.draw(st.booleans())))
            if data.draw(st.integers(0, 2)) == 0:
                _compact(events, room, f"Summary {run}.{turn}", tasks)
        events.add(RunEnded("completed"))
    assert events.talk == fold_events(events.entries)
    assert fold_events(events.entries).token_counts.count_messages(
        events.talk.messages
    ) == events.talk.token_counts.count_messages(events.talk.messages)


def _compact(events: EventList, room: float, summary: str, tasks: list[str]) -> None:
    before = list(events.talk.messages)
    done = events.compact(room, summary)
    after = events.talk.messages
    if done is None:
        assert after == before
        return
    _whole(events.talk)
    assert sum(message.category == SUMMARY for message in after) <= 1
    if done.until_seq:
        assert [message.text.head for message in after if message.category == SUMMARY] == [summary]
    heads = [message.text.head for message in after]
    if tasks[-1] in [message.text.head for message in before]:
        assert tasks[-1] in heads, "the task is lost"
    if before and before[0].category == USER:
        assert before[0] in after, "the first task is lost"
    last = message_groups(before)[-1]
    for place in last:  # kept verbatim, except for an oversized result
        assert before[place] in after or before[place].call_id in done.truncated_calls
    for message in before:
        gone = message not in after and message.role == "tool"
        assert not gone or events.talk.compacted_calls.get(message.call_id) == message.seq, (
            "a compacted result is unreadable"
        )
    assert sum(map(message_tokens, after)) <= sum(map(message_tokens, before)) + message_tokens(
        replace(before[0], text=Text(summary))
    )


def _whole(talk: Conversation) -> None:
    """Check that every call is followed by its result, and that every result has its call."""
    asked = [call.id for message in talk.messages for call in message.calls]
    assert asked == [message.call_id for message in talk.messages if message.role == "tool"]
    assert all(message.text.head for message in talk.messages if message.category == SUMMARY)


def a_long_run(turns: int, output: str) -> EventList:
    """Return a run with one task and many turns, without another user message."""
    events = EventList()
    events.add(UserMessage(Text("Do it.")))
    events.add(RunStarted("m"))
    for number in range(1, turns + 1):
        events.add(RequestSent("m", number))
        call = ToolCall(f"r{number}c1", "read", Text(json.dumps({"path": f"{number}.txt"})))
        events.add(Replied(Text(f"Turn {number}."), calls=(call,)))
        events.add(ToolReturned(call.id, Text(output)))
    return events


def test_old_large_results_are_truncated_first() -> None:
    events = a_long_run(10, "A line of the file.\n" * 200)
    done = events.compact(30_000, "")
    assert done and done.until_seq == 0 and done.truncated_calls == tuple(f"r{n}c1" for n in range(1, 7))
    results = [message.text.head for message in events.talk.messages if message.role == "tool"]
    assert all(text.startswith("A line of the file.") and "recall_dropped" in text for text in results[:6])
    assert all(len(text) < TRUNCATED_LENGTH + 200 for text in results[:6]) and len(results[6]) == 4000


def test_a_second_summary_replaces_the_first() -> None:
    """L-B3: there is only one summary."""
    events = a_long_run(40, "short")
    first = events.compact(500, "First.")
    assert first and first.compacted_messages > 60
    for number in range(41, 80):
        events.add(RequestSent("m", number))
        events.add(Replied(Text(f"Turn {number}."), calls=(ToolCall(f"r{number}c1", "read"),)))
        events.add(ToolReturned(f"r{number}c1", Text("short")))
    second = events.compact(500, "Second, which knows the first.")
    assert second
    messages = events.talk.messages
    assert [m.text.head for m in messages[:2]] == ["Do it.", "Second, which knows the first."]
    assert [m.category for m in messages].count(SUMMARY) == 1 and len(messages) == 10
    assert events.talk.compacted_calls["r1c1"] == 5 and events.talk.compactions == 2
    assert events.talk == fold_events(events.entries)


def test_a_result_that_fills_the_window_is_truncated_in_place() -> None:
    events = a_long_run(1, "word " * 700)
    done = events.compact(1_000, "")
    assert done and done.truncated_calls == ("r1c1",) and events.talk.messages[-1].text.head.startswith("word word")


def test_short_user_messages_in_the_middle_are_kept() -> None:
    events = a_long_run(20, "short " * 50)
    events.add(UserMessage(Text("Never touch the tests.")))
    for number in range(21, 60):
        events.add(RequestSent("m", number))
        events.add(Replied(Text(f"Turn {number}."), calls=(ToolCall(f"r{number}c1", "read"),)))
        events.add(ToolReturned(f"r{number}c1", Text("short " * 50)))
    assert events.compact(3_000, "A summary.")
    assert [m.text.head for m in events.talk.messages[:3]] == ["Do it.", "A summary.", "Never touch the tests."]


def test_compaction_without_candidates_does_nothing() -> None:
    assert a_long_run(2, "short").compact(100_000, "x") is None
    assert EventList().compact(10, "x") is None


@pytest.mark.parametrize("counted", [0, 2000, 4000])
def test_real_counts_correct_the_estimates(counted: int) -> None:
    events = EventList()
    events.add(UserMessage(Text("go")))
    events.add(RunStarted("m"))
    events.add(RequestSent("m", 1, tokens={"user": 1000}))
    events.add(Replied(usage=Usage(counted, 5)))
    ratio = events.talk.token_ratio("m")
    assert ratio == (pytest.approx(1 + 0.3 * (counted / 1000 - 1)) if counted else 1.0)
    events.add(RequestSent("m", 2, tokens={"user": round(1000 * ratio)}))
    events.add(Replied(usage=Usage(counted, 5)))
    assert events.talk.token_ratio("m") >= ratio and events.talk.token_ratio("other") == 1.0


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_compaction_keeps_what_matters_in_any_conversation(data: st.DataObject) -> None:
    """L-B4: a compaction removes what its event names, and nothing else."""
    a_talk(data)


def _splitting(messages: Any, seq: int, done: ContextCompacted) -> Any:
    """Planted bug: keep a call without its result."""
    after, origins = compaction.apply_compaction(messages, seq, done)
    kept = [place for place, message in enumerate(messages) if message.calls and place not in origins][:1]
    return [messages[place] for place in kept] + after, kept + origins


def _hoarding(messages: Any, seq: int, done: ContextCompacted) -> Any:
    """Planted bug: keep the older summary next to the new one."""
    old = [place for place, message in enumerate(messages) if message.category == compaction.SUMMARY]
    after, origins = compaction.apply_compaction(messages, seq, done)
    add = [place for place in old if place not in origins and done.until_seq]
    return after[:1] + [messages[place] for place in add] + after[1:], origins[:1] + add + origins[1:]


def _careless(messages: Any, seq: int, done: ContextCompacted) -> Any:
    """Planted bug: compact the task too."""
    after, origins = compaction.apply_compaction(messages, seq, done)
    return (after[1:], origins[1:]) if done.until_seq else (after, origins)


def _forgetting(real: Callable[..., None]) -> Callable[..., None]:
    def compact(talk: Conversation, done: ContextCompacted) -> None:
        known = dict(talk.compacted_calls)
        real(talk, done)
        talk.compacted_calls = known

    return compact


def _unweighed(real: Callable[..., None]) -> Callable[..., None]:
    def update(scales: TokenCounts, messages: Any, origins: Any) -> None:
        each, filled = list(scales.counts), dict(scales.totals)
        real(scales, messages, origins)
        if len(scales.counts) == len(messages) and each:
            scales.totals = filled

    return update


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "splits a call from its result": (module, "apply_compaction", _splitting),
    "keeps every summary": (module, "apply_compaction", _hoarding),
    "gives up the task": (module, "apply_compaction", _careless),
    "forgets what it dropped": (Conversation, "_compact", _forgetting(Conversation._compact)),
    "weighs what is gone": (TokenCounts, "update_after_compaction", _unweighed(TokenCounts.update_after_compaction)),
}
BRIEF = settings(deadline=None, derandomize=True, database=None, phases=(Phase.generate,), max_examples=300)


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bugs_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        settings(BRIEF, suppress_health_check=list(HealthCheck))(given(st.data())(a_talk))()
