"""Facts fold to what a model sees: any prefix, one by one as at once, every call with its one result."""

from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    Entry,
    PersonSpoke,
    Replied,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunResumed,
    RunStarted,
    ToolReturned,
)
from core.domain.problems import Trouble
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.text import Text
from core.engine.conversation import Conversation, conversation
from core.engine.weights import weight

CALLS = st.integers(1, 9).map(lambda n: f"r{n % 3}c{n // 3}")
EVENTS = st.one_of(
    st.builds(RunStarted, st.just("scripted")),
    st.builds(PersonSpoke, st.builds(Text, st.text(max_size=3))),
    st.builds(RequestSent, st.just("scripted"), st.integers(1, 3)),
    st.builds(Replied, calls=st.lists(st.builds(Call, CALLS, st.just("read")), max_size=3).map(tuple)),
    st.builds(CallStarted, CALLS, st.just("read"), st.just("read")),
    st.builds(CallRefused, CALLS, st.just("read"), st.just(Text("no"))),
    st.builds(ToolReturned, CALLS, st.just(Text("out"))),
    st.builds(QuestionAsked, st.just(Question("q", "?")), CALLS),
    st.builds(QuestionAnswered, st.just("q"), CALLS, st.just(Answer("A"))),
    st.builds(Retried, st.just(Trouble("no")), st.just(1)),
    st.builds(RunInterrupted, st.just("closed")),
    st.builds(RunResumed),
    st.builds(RunEnded, st.just("completed")),
)


def entries(events: list[RunEvent]) -> list[Entry]:
    return [Entry("s", seq, 1, seq, event) for seq, event in enumerate(events, 1)]


@given(st.lists(EVENTS, max_size=40), st.integers(0, 40))
def test_any_prefix_folds_and_going_on_is_the_same(events: list[RunEvent], cut: int) -> None:
    journal = entries(events)
    before = conversation(journal[:cut])
    for entry in journal[cut:]:
        before.hear(entry)
        before.hear(entry)  # told again after it was read: heard once
    assert before == conversation(journal)


@settings(max_examples=200)
@given(st.data())
def test_every_call_has_its_one_result_before_the_next_request(data: st.DataObject) -> None:
    """Of any life a run can have, with crashes and ends at any place. (B8, L-B5)"""
    talk = Conversation()
    seq = 0

    def tell(event: RunEvent) -> None:
        nonlocal seq
        seq += 1
        talk.hear(Entry("s", seq, 1, seq, event))

    for number in range(data.draw(st.integers(1, 6))):
        tell(PersonSpoke(Text("go")))
        tell(RunStarted("scripted"))
        for turn in range(data.draw(st.integers(0, 4))):
            tell(RequestSent("scripted", turn))
            _paired(talk)
            calls = [Call(f"{number}.{turn}.{place}", "read") for place in range(data.draw(st.integers(0, 3)))]
            tell(Replied(calls=tuple(calls)))
            for call in data.draw(st.permutations(calls))[: data.draw(st.integers(0, 3))]:
                begun: list[RunEvent] = [CallStarted(call.id, "read", "read"), RunInterrupted("x")]
                ended: list[RunEvent] = [ToolReturned(call.id, Text()), CallRefused(call.id, "", Text())]
                tell(data.draw(st.sampled_from(begun)))
                tell(data.draw(st.sampled_from(ended)))
            if talk.pending:
                break
        assert set(talk.doubted()) <= set(talk.pending)
        tell(RunEnded("stopped"))
        assert not talk.pending and not talk.started
        _paired(talk)


def _paired(talk: Conversation) -> None:
    asked = [call.id for message in talk.messages for call in message.calls]
    results = [message.call_id for message in talk.messages if message.role == "tool"]
    assert asked == results


@given(st.permutations(range(5)), st.integers(0, 5))
def test_results_stand_in_the_order_of_their_calls(ended: list[int], counted: int) -> None:
    """Reads go together and end in any order; what was weighed before the last came is weighed right."""
    calls = tuple(Call(f"r1c{place}", "read") for place in range(5))
    events: list[RunEvent] = [PersonSpoke(Text("go")), RunStarted("scripted"), RequestSent("scripted", 1)]
    talk = conversation(entries([*events, Replied(calls=calls)]))
    for number, place in enumerate(ended):
        talk.hear(Entry("s", 5 + number, 1, 9, ToolReturned(f"r1c{place}", Text("out " * place))))
        if number == counted:
            talk.weights.count(talk.messages)
    _paired(talk)
    talk.weights.count(talk.messages)
    assert talk.weights.each == [weight(message) for message in talk.messages]
    assert sum(talk.weights.filled.values()) == sum(talk.weights.each)


def test_words_wait_for_the_request_that_carries_them() -> None:
    events: list[RunEvent] = [PersonSpoke(Text("a")), RunStarted("scripted"), RequestSent("scripted", 1)]
    talk = conversation(entries([*events, PersonSpoke(Text("b")), Replied(Text("c"))]))
    assert [message.text.head for message in talk.messages] == ["a", "c"]
    assert [message.text.head for message in talk.waiting] == ["b"] and talk.done
