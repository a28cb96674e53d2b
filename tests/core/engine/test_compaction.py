"""What gives way when the context is full: of any talk, pairs stay whole, one summary stands, what matters stays."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.domain.events import (
    Call,
    ContextCompacted,
    Entry,
    Nudged,
    PersonSpoke,
    Replied,
    RequestSent,
    RunEnded,
    RunEvent,
    RunStarted,
    ToolReturned,
    Usage,
)
from core.domain.text import Text
from core.engine import compaction
from core.engine import conversation as module
from core.engine.compaction import HEAD, PERSON, SUMMARY, fact, plan, units
from core.engine.conversation import Conversation, conversation
from core.engine.weights import Weights, weight

SIZES = st.sampled_from([0, 1, 30, 400, 3000])
WORDS = SIZES.map(lambda size: "word " * size)


class Told:
    """A journal that grows."""

    def __init__(self) -> None:
        self.talk = Conversation()
        self.entries: list[Entry] = []

    def tell(self, event: RunEvent) -> None:
        self.entries.append(Entry("s", len(self.entries) + 1, 1, len(self.entries), event))
        self.talk.hear(self.entries[-1])

    def compact(self, room: float, summary: str) -> ContextCompacted | None:
        talk = self.talk
        talk.weights.count(talk.messages)
        made = plan(talk.messages, talk.weights.each, room, 0, talk.task, talk.dropped)
        if not made.folded and not made.dropped:
            return None
        done = replace(fact(talk.messages, made, "by hand", 0), summary=Text(summary) if made.dropped else Text())
        self.tell(done)
        return done


def a_talk(data: st.DataObject) -> None:
    """Any talk, compacted at any places; what must hold does, all the way."""
    told = Told()
    tasks: list[str] = []
    room = data.draw(st.sampled_from([300.0, 3000.0, 30000.0]))
    for run in range(data.draw(st.integers(1, 3))):
        tasks.append(f"Task {run}. " + data.draw(WORDS))
        told.tell(PersonSpoke(Text(tasks[-1])))
        told.tell(RunStarted("m"))
        for turn in range(data.draw(st.integers(0, 9))):
            if data.draw(st.integers(0, 5)) == 0:
                told.tell(PersonSpoke(Text(data.draw(WORDS))))
            if data.draw(st.integers(0, 5)) == 0:
                told.tell(Nudged(Text(data.draw(WORDS))))
            told.tell(RequestSent("m", turn))
            _whole(told.talk)
            calls = tuple(Call(f"{run}.{turn}.{n}", "read", Text("{}")) for n in range(data.draw(st.integers(0, 3))))
            told.tell(Replied(Text(data.draw(WORDS)), calls=calls))
            for call in calls:
                told.tell(ToolReturned(call.id, Text(data.draw(WORDS)), data.draw(st.booleans())))
            if data.draw(st.integers(0, 2)) == 0:
                _compact(told, room, f"Summary {run}.{turn}", tasks)
        told.tell(RunEnded("completed"))
    assert told.talk == conversation(told.entries)
    assert conversation(told.entries).weights.count(told.talk.messages) == told.talk.weights.count(told.talk.messages)


def _compact(told: Told, room: float, summary: str, tasks: list[str]) -> None:
    before = list(told.talk.messages)
    done = told.compact(room, summary)
    after = told.talk.messages
    if done is None:
        assert after == before
        return
    _whole(told.talk)
    assert sum(message.kind == SUMMARY for message in after) <= 1
    if done.until:
        assert [message.text.head for message in after if message.kind == SUMMARY] == [summary]
    heads = [message.text.head for message in after]
    if tasks[-1] in [message.text.head for message in before]:
        assert tasks[-1] in heads, "the task is lost"
    if before and before[0].kind == PERSON:
        assert before[0] in after, "the first task is lost"
    last = units(before)[-1]
    for place in last:  # word for word, but for a result that no window could hold
        assert before[place] in after or before[place].call_id in done.folded
    for message in before:
        gone = message not in after and message.role == "tool"
        assert not gone or told.talk.dropped.get(message.call_id) == message.seq, "it cannot be read back"
    assert sum(map(weight, after)) <= sum(map(weight, before)) + weight(replace(before[0], text=Text(summary)))


def _whole(talk: Conversation) -> None:
    """Every call has its one result behind it, and every result its call."""
    asked = [call.id for message in talk.messages for call in message.calls]
    assert asked == [message.call_id for message in talk.messages if message.role == "tool"]
    assert all(message.text.head for message in talk.messages if message.kind == SUMMARY)


def a_long_run(rounds: int, output: str) -> Told:
    """One task, and many rounds without another word."""
    told = Told()
    told.tell(PersonSpoke(Text("Do it.")))
    told.tell(RunStarted("m"))
    for number in range(1, rounds + 1):
        told.tell(RequestSent("m", number))
        call = Call(f"r{number}c1", "read", Text(json.dumps({"path": f"{number}.txt"})))
        told.tell(Replied(Text(f"Round {number}."), calls=(call,)))
        told.tell(ToolReturned(call.id, Text(output)))
    return told


def test_old_large_results_become_heads_first() -> None:
    told = a_long_run(10, "A line of the file.\n" * 200)
    done = told.compact(30_000, "")
    assert done and done.until == 0 and done.folded == tuple(f"r{n}c1" for n in range(1, 7))
    results = [message.text.head for message in told.talk.messages if message.role == "tool"]
    assert all(text.startswith("A line of the file.") and "recall_dropped" in text for text in results[:6])
    assert all(len(text) < HEAD + 200 for text in results[:6]) and len(results[6]) == 4000


def test_a_second_summary_takes_the_place_of_the_first() -> None:
    """L-B3: one summary, in its place."""
    told = a_long_run(40, "short")
    first = told.compact(500, "First.")
    assert first and first.dropped > 60
    for number in range(41, 80):
        told.tell(RequestSent("m", number))
        told.tell(Replied(Text(f"Round {number}."), calls=(Call(f"r{number}c1", "read"),)))
        told.tell(ToolReturned(f"r{number}c1", Text("short")))
    second = told.compact(500, "Second, which knows the first.")
    assert second
    messages = told.talk.messages
    assert [m.text.head for m in messages[:2]] == ["Do it.", "Second, which knows the first."]
    assert [m.kind for m in messages].count(SUMMARY) == 1 and len(messages) == 10
    assert told.talk.dropped["r1c1"] == 5 and told.talk.compactions == 2
    assert told.talk == conversation(told.entries)


def test_a_result_that_fills_the_window_by_itself_becomes_a_head_where_it_stands() -> None:
    told = a_long_run(1, "word " * 700)
    done = told.compact(1_000, "")
    assert done and done.folded == ("r1c1",) and told.talk.messages[-1].text.head.startswith("word word")


def test_short_words_of_the_person_stay_in_the_middle() -> None:
    told = a_long_run(20, "short " * 50)
    told.tell(PersonSpoke(Text("Never touch the tests.")))
    for number in range(21, 60):
        told.tell(RequestSent("m", number))
        told.tell(Replied(Text(f"Round {number}."), calls=(Call(f"r{number}c1", "read"),)))
        told.tell(ToolReturned(f"r{number}c1", Text("short " * 50)))
    assert told.compact(3_000, "A summary.")
    assert [m.text.head for m in told.talk.messages[:3]] == ["Do it.", "A summary.", "Never touch the tests."]


def test_nothing_to_give_up_is_nothing_done() -> None:
    assert a_long_run(2, "short").compact(100_000, "x") is None
    assert Told().compact(10, "x") is None


@pytest.mark.parametrize("counted", [0, 2000, 4000])
def test_real_counts_correct_the_estimates(counted: int) -> None:
    told = Told()
    told.tell(PersonSpoke(Text("go")))
    told.tell(RunStarted("m"))
    told.tell(RequestSent("m", 1, tokens={"person": 1000}))
    told.tell(Replied(usage=Usage(counted, 5)))
    ratio = told.talk.ratio("m")
    assert ratio == (pytest.approx(1 + 0.3 * (counted / 1000 - 1)) if counted else 1.0)
    told.tell(RequestSent("m", 2, tokens={"person": round(1000 * ratio)}))
    told.tell(Replied(usage=Usage(counted, 5)))
    assert told.talk.ratio("m") >= ratio and told.talk.ratio("other") == 1.0


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_was_said_what_matters_stays(data: st.DataObject) -> None:
    """L-B4: what a compaction names is what goes, and nothing else."""
    a_talk(data)


def _splitting(messages: Any, seq: int, done: ContextCompacted) -> Any:
    """Keeps a call without its result."""
    after, origins = compaction.compacted(messages, seq, done)
    kept = [place for place, message in enumerate(messages) if message.calls and place not in origins][:1]
    return [messages[place] for place in kept] + after, kept + origins


def _hoarding(messages: Any, seq: int, done: ContextCompacted) -> Any:
    """A summary beside the older one."""
    old = [place for place, message in enumerate(messages) if message.kind == compaction.SUMMARY]
    after, origins = compaction.compacted(messages, seq, done)
    add = [place for place in old if place not in origins and done.until]
    return after[:1] + [messages[place] for place in add] + after[1:], origins[:1] + add + origins[1:]


def _careless(messages: Any, seq: int, done: ContextCompacted) -> Any:
    """Everything but the tail gives way, the task too."""
    after, origins = compaction.compacted(messages, seq, done)
    return (after[1:], origins[1:]) if done.until else (after, origins)


def _forgetting(real: Callable[..., None]) -> Callable[..., None]:
    def compact(talk: Conversation, done: ContextCompacted) -> None:
        known = dict(talk.dropped)
        real(talk, done)
        talk.dropped = known

    return compact


def _unweighed(real: Callable[..., None]) -> Callable[..., None]:
    def follow(scales: Weights, messages: Any, origins: Any) -> None:
        each, filled = list(scales.each), dict(scales.filled)
        real(scales, messages, origins)
        if len(scales.each) == len(messages) and each:
            scales.filled = filled

    return follow


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "splits a call from its result": (module, "compacted", _splitting),
    "keeps every summary": (module, "compacted", _hoarding),
    "gives up the task": (module, "compacted", _careless),
    "forgets what it dropped": (Conversation, "_compact", _forgetting(Conversation._compact)),
    "weighs what is gone": (Weights, "follow", _unweighed(Weights.follow)),
}
BRIEF = settings(deadline=None, derandomize=True, database=None, phases=(Phase.generate,), max_examples=300)


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bugs_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        settings(BRIEF, suppress_health_check=list(HealthCheck))(given(st.data())(a_talk))()
