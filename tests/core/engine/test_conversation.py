"""Folding events into a conversation: any prefix, one by one or all at once, with one result for every call."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.clock import SECOND
from core.domain.events import (
    CallRefused,
    CallStarted,
    EventRecord,
    Replied,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionEvent,
    ToolCall,
    ToolReturned,
    UserMessage,
)
from core.domain.problems import ErrorDetails
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.text import Text
from core.engine.state.conversation import Conversation, fold_events
from core.engine.state.token_counts import message_tokens

CALLS = st.integers(1, 9).map(lambda n: f"r{n % 3}c{n // 3}")
EVENTS = st.one_of(
    st.builds(RunStarted, st.just("scripted")),
    st.builds(UserMessage, st.builds(Text, st.text(max_size=3))),
    st.builds(RequestSent, st.just("scripted"), st.integers(1, 3)),
    st.builds(Replied, calls=st.lists(st.builds(ToolCall, CALLS, st.just("read")), max_size=3).map(tuple)),
    st.builds(CallStarted, CALLS, st.just("read"), st.just("read")),
    st.builds(CallRefused, CALLS, st.just("read"), st.just(Text("no"))),
    st.builds(ToolReturned, CALLS, st.just(Text("out"))),
    st.builds(QuestionAsked, st.just(Question("q", "?")), CALLS),
    st.builds(QuestionAnswered, st.just("q"), CALLS, st.just(Answer("A"))),
    st.builds(RequestRetried, st.just(ErrorDetails("no")), st.just(1)),
    st.builds(RunInterrupted, st.just("closed")),
    st.builds(RunResumed),
    st.builds(RunEnded, st.just("completed")),
)


def entries(events: list[SessionEvent]) -> list[EventRecord]:
    return [EventRecord("s", seq, 1, seq, event) for seq, event in enumerate(events, 1)]


@given(st.lists(EVENTS, max_size=40), st.integers(0, 40))
def test_any_prefix_folds_and_continuing_gives_the_same(events: list[SessionEvent], cut: int) -> None:
    journal = entries(events)
    before = fold_events(journal[:cut])
    for entry in journal[cut:]:
        before.apply(entry)
        before.apply(entry)  # published again after it was read: applied once
    assert before == fold_events(journal)


@settings(max_examples=200)
@given(st.data())
def test_every_call_has_its_one_result_before_the_next_request(data: st.DataObject) -> None:
    """Random runs with crashes and ends at any point. (B8, L-B5)"""
    talk = Conversation()
    seq = 0

    def tell(event: SessionEvent) -> None:
        nonlocal seq
        seq += 1
        talk.apply(EventRecord("s", seq, 1, seq, event))

    for number in range(data.draw(st.integers(1, 6))):
        tell(UserMessage(Text("go")))
        tell(RunStarted("scripted"))
        for turn in range(data.draw(st.integers(0, 4))):
            tell(RequestSent("scripted", turn))
            _paired(talk)
            calls = [ToolCall(f"{number}.{turn}.{place}", "read") for place in range(data.draw(st.integers(0, 3)))]
            tell(Replied(calls=tuple(calls)))
            for call in data.draw(st.permutations(calls))[: data.draw(st.integers(0, 3))]:
                begun: list[SessionEvent] = [CallStarted(call.id, "read", "read"), RunInterrupted("x")]
                ended: list[SessionEvent] = [ToolReturned(call.id, Text()), CallRefused(call.id, "", Text())]
                tell(data.draw(st.sampled_from(begun)))
                tell(data.draw(st.sampled_from(ended)))
            if talk.pending:
                break
        assert set(talk.unresolved_calls()) <= set(talk.pending)
        tell(RunEnded("stopped"))
        assert not talk.pending and not talk.started
        _paired(talk)


def _paired(talk: Conversation) -> None:
    asked = [call.id for message in talk.messages for call in message.calls]
    results = [message.call_id for message in talk.messages if message.role == "tool"]
    assert asked == results


@given(st.permutations(range(5)), st.integers(0, 5))
def test_results_are_in_the_order_of_their_calls(ended: list[int], counted: int) -> None:
    """Concurrent reads end in any order, and the token counts stay correct when a late result is inserted."""
    calls = tuple(ToolCall(f"r1c{place}", "read") for place in range(5))
    events: list[SessionEvent] = [UserMessage(Text("go")), RunStarted("scripted"), RequestSent("scripted", 1)]
    talk = fold_events(entries([*events, Replied(calls=calls)]))
    for number, place in enumerate(ended):
        talk.apply(EventRecord("s", 5 + number, 1, 9, ToolReturned(f"r1c{place}", Text("out " * place))))
        if number == counted:
            talk.token_counts.count_messages(talk.messages)
    _paired(talk)
    talk.token_counts.count_messages(talk.messages)
    assert talk.token_counts.counts == [message_tokens(message) for message in talk.messages]
    assert sum(talk.token_counts.totals.values()) == sum(talk.token_counts.counts)


def test_messages_wait_for_the_request_that_sends_them() -> None:
    events: list[SessionEvent] = [UserMessage(Text("a")), RunStarted("scripted"), RequestSent("scripted", 1)]
    talk = fold_events(entries([*events, UserMessage(Text("b")), Replied(Text("c"))]))
    assert [message.text.head for message in talk.messages] == ["a", "c"]
    assert [message.text.head for message in talk.queued] == ["b"] and talk.done


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_is_set_uses_up_no_time_limit(years: int) -> None:
    jump = years * 365 * 24 * 60 * 60 * SECOND
    start = RunStarted("scripted", 9, Text(""), max_minutes=60)
    events: list[tuple[SessionEvent, int]] = [
        (start, 0),
        (RequestSent("scripted", 1), 60),
        (Replied(Text("a")), 120),
        (Replied(Text("b")), 180),
    ]
    talk = Conversation()
    for seq, (event, second) in enumerate(events, 1):
        at = 1_800_000_000 * SECOND + second * SECOND + (jump if seq > 2 else 0)
        talk.apply(EventRecord("s", seq, 1, at, event))
    assert talk.spent["minutes"] == 2.0
