"""Any facts, in any order: what the properties of the folds are tried on."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core.domain.consent import ConsentAsked, ConsentGiven, ConsentRequest
from core.domain.events import (
    KINDS,
    Call,
    CallRefused,
    CallStarted,
    ContextCompacted,
    DelegateEnded,
    Entry,
    FileChanged,
    LimitMet,
    LimitRaised,
    ModelChosen,
    PersonSpoke,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionOpened,
    Tainted,
    ToolReturned,
    Usage,
)
from core.domain.exchanged import RecordKept, TranscriptRead
from core.domain.problems import Trouble
from core.domain.question import Answer, Option, Question, QuestionAnswered, QuestionAsked
from core.domain.skill import SkillUsed
from core.domain.text import Text

WORDS = st.sampled_from(["", "a", "two words", "lines\nof text", " \n\nafter blanks", "ä 日本 🙂", "x" * 400])
TEXTS = st.builds(Text, WORDS, st.sampled_from([0, 5000]))
CALLS = st.sampled_from(["r1c1", "r1c2", "r2c1"])
QUESTIONS = st.sampled_from(["s-r1c1", "s-r1c2"])
CONSENTS = st.sampled_from(["s-r1c1-ok", "s-r2c1-ok"])
SMALL = st.integers(0, 50)
TOOLS = st.sampled_from(["run", "read", "a tool there is not"])
KINDS_OF_STEPS = st.sampled_from(["read", "write", "command", "tool", "of a newer program"])

# What is measured is a number that JSON can write.
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

EVENTS: dict[type[Any], SearchStrategy[RunEvent]] = {
    SessionOpened: st.builds(SessionOpened, st.just("s"), WORDS, WORDS, WORDS, CALLS, WORDS, SMALL),
    RunStarted: st.builds(RunStarted, WORDS, SMALL),
    PersonSpoke: st.builds(PersonSpoke, TEXTS),
    RequestSent: st.builds(
        RequestSent,
        WORDS,
        SMALL,
        tokens=st.dictionaries(WORDS, SMALL, max_size=2),
        role=st.sampled_from(["", "summary"]),
    ),
    ContextCompacted: st.builds(
        ContextCompacted,
        WORDS,
        SMALL,
        SMALL,
        st.lists(CALLS, max_size=2).map(tuple),
        SMALL,
        SMALL,
        summary=TEXTS,
        cost=st.none() | st.sampled_from([0.0, 0.25]),
    ),
    ModelChosen: st.builds(ModelChosen, WORDS, WORDS, SMALL, st.none() | st.floats(0, 2)),
    Replied: st.builds(
        Replied,
        TEXTS,
        TEXTS,
        st.tuples() | st.tuples(st.builds(Call, CALLS, TOOLS)),
        st.builds(Usage, SMALL, SMALL),
        note=WORDS,
        cost=st.none() | st.sampled_from([0.0, 0.25, 1.5]),
    ),
    ReplyCut: st.builds(ReplyCut, TEXTS, WORDS),
    Retried: st.builds(Retried, st.builds(Trouble, WORDS), SMALL, st.floats(0, 60)),
    DelegateEnded: st.builds(DelegateEnded, CALLS, WORDS, WORDS, SMALL, SMALL, st.floats(0, 9), st.floats(0, 9)),
    LimitMet: st.builds(LimitMet, WORDS, st.floats(0, 1e9), st.floats(0, 1e9), SMALL),
    LimitRaised: st.builds(LimitRaised, WORDS, st.floats(0, 1e9)),
    CallStarted: st.builds(CallStarted, CALLS, WORDS, KINDS_OF_STEPS, WORDS),
    CallRefused: st.builds(CallRefused, CALLS, WORDS, TEXTS),
    FileChanged: st.builds(FileChanged, CALLS, WORDS, added=SMALL, removed=SMALL),
    ToolReturned: st.builds(ToolReturned, CALLS, TEXTS, st.booleans(), st.none() | SMALL),
    QuestionAsked: st.builds(
        QuestionAsked, st.builds(Question, QUESTIONS, WORDS, options=st.just((Option("a"), Option("b")))), CALLS
    ),
    QuestionAnswered: st.builds(QuestionAnswered, QUESTIONS, CALLS, st.builds(Answer, WORDS, WORDS, st.booleans())),
    ConsentAsked: st.builds(
        ConsentAsked,
        st.builds(ConsentRequest, CONSENTS, CALLS, WORDS, WORDS, WORDS, st.just("verified"), WORDS),
        TEXTS,
    ),
    ConsentGiven: st.builds(ConsentGiven, CONSENTS, st.booleans()),
    Tainted: st.builds(Tainted, CALLS, WORDS),
    SkillUsed: st.builds(SkillUsed, CALLS, WORDS, SMALL, st.just("library"), WORDS, WORDS),
    RecordKept: st.builds(RecordKept, WORDS, TEXTS),
    TranscriptRead: st.builds(TranscriptRead, WORDS, SMALL, st.dictionaries(WORDS, SMALL, max_size=2), WORDS),
    RunInterrupted: st.builds(RunInterrupted, WORDS, st.lists(CALLS, max_size=3, unique=True).map(tuple)),
    RunResumed: st.builds(RunResumed, st.sampled_from(["", "again", "skip", "end"])),
    RunEnded: st.builds(RunEnded, st.sampled_from(["completed", "stopped", "limit", "failed"]), WORDS),
}


def used(event: RunEvent) -> int:
    """The tokens that a fact says were used."""
    if isinstance(event, Replied | ContextCompacted):
        return event.usage.input + event.usage.output
    return event.tokens if isinstance(event, DelegateEnded) else 0


def any_event(kinds: Iterable[type[Any]] = KINDS.values()) -> SearchStrategy[RunEvent]:
    """Of every kind there is, or of these; a kind without a line above is made from its types."""
    return st.one_of([EVENTS[event] if event in EVENTS else st.from_type(event) for event in kinds])


def journals(size: int = 40, kinds: Iterable[type[Any]] = KINDS.values()) -> SearchStrategy[list[Entry]]:
    """Facts of a session, as the journal numbers them; clocks stand still as often as they tick."""
    return st.lists(st.tuples(any_event(kinds), st.integers(0, 3)), max_size=size).map(_numbered)


def _numbered(events: list[tuple[RunEvent, int]]) -> list[Entry]:
    entries: list[Entry] = []
    run, at = 0, 1
    for seq, (event, later) in enumerate(events, 1):
        run += isinstance(event, RunStarted)
        at += later
        entries.append(Entry("s", seq, run, at, event))
    return entries
