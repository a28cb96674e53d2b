"""Folding events into session rows: the totals add up, and the status reflects what is open."""

from collections.abc import Iterator

from hypothesis import given

from core.domain.events import (
    EventRecord,
    QueueChanged,
    Replied,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionCreated,
    SessionEvent,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.permissions import PermissionRequest, PermissionRequested
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.session_metadata import SessionMetadataEvent
from core.domain.sessions import STATUS_AFTER_END, SessionRow, fold_session
from core.domain.steps import Outline, fold
from core.domain.text import Text
from tests.core.domain.event_strategies import journals, used

STATES = {"waiting", "paused", "running", "interrupted", *STATUS_AFTER_END.values()}


def lines(entries: list[EventRecord]) -> Iterator[tuple[EventRecord, SessionRow, Outline]]:
    """Return the row after each event."""
    row, outline = SessionRow("s"), Outline()
    for entry in entries:
        changed = fold(entry, outline)
        row = fold_session(row, entry, changed, outline)
        yield entry, row, outline


@given(journals())
def test_every_prefix_has_a_summary_whose_totals_add_up(entries: list[EventRecord]) -> None:
    """L-B6: the usage of every turn is counted."""
    tokens = moved = 0
    for entry, row, outline in lines(entries):
        tokens += used(entry.event)
        assert row.status in STATES
        assert (row.last_seq, row.rows, row.tokens) == (entry.seq, outline.rows, tokens)
        asked = [step.started_at for step in outline.open.values() if step.kind in {"question", "permission"}]
        if not isinstance(entry.event, SessionMetadataEvent):
            moved = min(asked) if asked and row.status == "waiting" else entry.at
        assert row.updated_at == moved and row.runs == entry.run
        assert row.pending_requests >= 0 and (row.pending_requests or row.status != "waiting")


def status_after(*events: SessionEvent) -> tuple[str, int]:
    *_, (_, row, _) = lines([EventRecord("s", n, 1, n, event) for n, event in enumerate(events, 1)])
    return row.status, row.pending_requests


OPENED = SessionCreated("s", "/tmp", "t")
ASKED = QuestionAsked(Question("q", "?"), "c")
ANSWERED = QuestionAnswered("q", "c", Answer(text="yes"))


def test_statuses_of_a_session() -> None:
    assert status_after(OPENED) == ("done", 0)
    assert status_after(OPENED, UserMessage(Text("hi")), RunStarted("m")) == ("running", 0)
    assert status_after(OPENED, RunStarted("m"), ASKED) == ("waiting", 1)
    assert status_after(OPENED, RunStarted("m"), ASKED, ANSWERED) == ("running", 0)
    assert status_after(OPENED, RunStarted("m"), ASKED, RunEnded("stopped")) == ("stopped", 0)
    assert status_after(OPENED, RunStarted("m"), RunInterrupted("power", ("c",)), RunResumed()) == ("running", 0)
    assert status_after(OPENED, RunStarted("m"), ASKED, RunInterrupted("power"), RunResumed()) == ("waiting", 1)


def test_events_beside_a_question_do_not_replace_it_in_the_summary() -> None:
    """The row shows a pending request and its age until it is answered, then the next pending one."""
    queued, back = UserMessage(Text("also")), QueueChanged("removed", 5, (), Text("also"))
    wanted = PermissionRequest("k", "d", "write", "a.py", "/tmp", "verified", "f")
    events: list[SessionEvent] = [OPENED, RunStarted("m"), ASKED, ToolReturned("x", Text("done")), queued, back]
    events += [PermissionRequested(wanted), queued, ANSWERED]
    rows = [row for _, row, _ in lines([EventRecord("s", n, 1, n, event) for n, event in enumerate(events, 1)])]
    told = [(row.activity_kind, row.activity, row.updated_at) for row in rows]
    assert told[2:8] == [("question", "?", 3)] * 6
    assert told[8:] == [("permission", "write a.py", 7)]


def test_an_answer_during_an_interruption_counts() -> None:
    interrupted = RunInterrupted("power", ("c2",))
    assert status_after(OPENED, RunStarted("m"), ASKED, interrupted, ANSWERED, RunResumed()) == ("running", 0)


def test_the_summary_shows_the_last_step() -> None:
    events: list[SessionEvent] = [
        OPENED,
        RunStarted("m", 9),
        RequestSent("m", 2),
        Replied(Text("All is well"), usage=Usage(3, 4)),
    ]
    *_, (_, row, _) = lines([EventRecord("s", n, 1, n, event) for n, event in enumerate(events, 1)])
    assert (row.model, row.turns, row.max_turns, row.activity_kind, row.activity) == ("m", 2, 9, "reply", "All is well")
