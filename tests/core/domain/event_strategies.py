"""Hypothesis strategies for events and journals, used to test properties of the folds."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core.domain.events import (
    EVENT_CLASSES,
    CallRefused,
    CallStarted,
    ContextCompacted,
    EventRecord,
    FileChanged,
    LimitRaised,
    LimitThresholdReached,
    ModelChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SubagentEnded,
    ToolCall,
    ToolReturned,
    UntrustedContentRead,
    Usage,
    UserMessage,
)
from core.domain.import_events import TranscriptImported, UnrecognizedRecordsKept
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.problems import ErrorDetails
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionOption
from core.domain.skill import SkillUsed
from core.domain.text import Text

WORDS = st.sampled_from(["", "a", "two words", "lines\nof text", " \n\nafter spaces", "ä 日本 🙂", "x" * 400])
TEXTS = st.builds(Text, WORDS, st.sampled_from([0, 5000]))
CALLS = st.sampled_from(["r1c1", "r1c2", "r2c1"])
QUESTIONS = st.sampled_from(["s-r1c1", "s-r1c2"])
CONSENTS = st.sampled_from(["s-r1c1-ok", "s-r2c1-ok"])
SMALL = st.integers(0, 50)
TOOLS = st.sampled_from(["run", "read", "a tool there is not"])
KINDS_OF_STEPS = st.sampled_from(["read", "write", "command", "tool", "of a newer program"])

# JSON cannot represent NaN and infinity.
st.register_type_strategy(int, st.integers(-(2**63), 2**63 - 1))  # as SQLite stores them
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

EVENTS: dict[type[Any], SearchStrategy[SessionEvent]] = {
    SessionCreated: st.builds(SessionCreated, st.just("s"), WORDS, WORDS, WORDS, CALLS, WORDS, SMALL),
    RunStarted: st.builds(RunStarted, WORDS, SMALL),
    UserMessage: st.builds(UserMessage, TEXTS),
    RequestSent: st.builds(
        RequestSent,
        WORDS,
        SMALL,
        tokens=st.dictionaries(WORDS, SMALL, max_size=2),
        purpose=st.sampled_from(["", "summary"]),
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
    ModelChanged: st.builds(ModelChanged, WORDS, WORDS, SMALL, st.none() | st.floats(0, 2)),
    Replied: st.builds(
        Replied,
        TEXTS,
        TEXTS,
        st.tuples() | st.tuples(st.builds(ToolCall, CALLS, TOOLS)),
        st.builds(Usage, SMALL, SMALL),
        note=WORDS,
        cost=st.none() | st.sampled_from([0.0, 0.25, 1.5]),
    ),
    ReplyInterrupted: st.builds(ReplyInterrupted, TEXTS, WORDS),
    RequestRetried: st.builds(RequestRetried, st.builds(ErrorDetails, WORDS), SMALL, st.floats(0, 60)),
    SubagentEnded: st.builds(SubagentEnded, CALLS, WORDS, WORDS, SMALL, SMALL, st.floats(0, 9), st.floats(0, 9)),
    LimitThresholdReached: st.builds(LimitThresholdReached, WORDS, st.floats(0, 1e9), st.floats(0, 1e9), SMALL),
    LimitRaised: st.builds(LimitRaised, WORDS, st.floats(0, 1e9)),
    CallStarted: st.builds(CallStarted, CALLS, WORDS, KINDS_OF_STEPS, WORDS),
    CallRefused: st.builds(CallRefused, CALLS, WORDS, TEXTS),
    FileChanged: st.builds(FileChanged, CALLS, WORDS, added=SMALL, removed=SMALL),
    ToolReturned: st.builds(ToolReturned, CALLS, TEXTS, st.booleans(), st.none() | SMALL),
    QuestionAsked: st.builds(
        QuestionAsked,
        st.builds(Question, QUESTIONS, WORDS, options=st.just((QuestionOption("a"), QuestionOption("b")))),
        CALLS,
    ),
    QuestionAnswered: st.builds(QuestionAnswered, QUESTIONS, CALLS, st.builds(Answer, WORDS, WORDS, st.booleans())),
    PermissionRequested: st.builds(
        PermissionRequested,
        st.builds(PermissionRequest, CONSENTS, CALLS, WORDS, WORDS, WORDS, st.just("verified"), WORDS),
        TEXTS,
    ),
    PermissionDecided: st.builds(PermissionDecided, CONSENTS, st.booleans()),
    UntrustedContentRead: st.builds(UntrustedContentRead, CALLS, WORDS),
    SkillUsed: st.builds(SkillUsed, CALLS, WORDS, SMALL, st.just("library"), WORDS, WORDS),
    UnrecognizedRecordsKept: st.builds(UnrecognizedRecordsKept, WORDS, TEXTS, st.integers(1, 9)),
    TranscriptImported: st.builds(TranscriptImported, WORDS, SMALL, st.dictionaries(WORDS, SMALL, max_size=2), WORDS),
    RunInterrupted: st.builds(RunInterrupted, WORDS, st.lists(CALLS, max_size=3, unique=True).map(tuple)),
    RunResumed: st.builds(RunResumed, st.sampled_from(["", "retry", "skip", "abort"])),
    RunEnded: st.builds(RunEnded, st.sampled_from(["completed", "stopped", "limit", "failed"]), WORDS),
}


def used(event: SessionEvent) -> int:
    """Return the number of tokens that an event reports as used."""
    if isinstance(event, Replied | ContextCompacted):
        return event.usage.input + event.usage.output
    return event.tokens if isinstance(event, SubagentEnded) else 0


def any_event(kinds: Iterable[type[Any]] = EVENT_CLASSES.values()) -> SearchStrategy[SessionEvent]:
    """Return a strategy for events of these classes; classes without an entry in EVENTS are built from their types."""
    return st.one_of([EVENTS[event] if event in EVENTS else st.from_type(event) for event in kinds])


def journals(size: int = 40, kinds: Iterable[type[Any]] = EVENT_CLASSES.values()) -> SearchStrategy[list[EventRecord]]:
    """Return a strategy for the events of one session, numbered like in the journal; timestamps may repeat."""
    return st.lists(st.tuples(any_event(kinds), st.integers(0, 3)), max_size=size).map(_numbered)


def _numbered(events: list[tuple[SessionEvent, int]]) -> list[EventRecord]:
    entries: list[EventRecord] = []
    run, at = 0, 1
    for seq, (event, later) in enumerate(events, 1):
        run += isinstance(event, RunStarted)
        at += later
        entries.append(EventRecord("s", seq, run, at, event))
    return entries
