"""Folding events into timeline rows: properties of every prefix of any journal, and the resulting rows."""

from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.domain.events import (
    CallRefused,
    CallStarted,
    EventRecord,
    QueueChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionEvent,
    ToolCall,
    ToolReturned,
    UserMessage,
)
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.problems import ErrorDetails
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow, fold_session
from core.domain.step_writer import StepWriter
from core.domain.steps import OBJECT_LIMIT, OPEN_STATUSES, Outline, Step, first_line, fold, verb
from core.domain.text import Text
from tests.core.domain.event_strategies import journals, used


def rows_of(entries: list[EventRecord]) -> tuple[dict[int, Step], Outline]:
    """Return the final state of each row, and the outline."""
    outline = Outline()
    rows: dict[int, Step] = {}
    for entry in entries:
        rows.update((step.row, step) for step in fold(entry, outline))
    return rows, outline


def check_every_prefix(entries: list[EventRecord]) -> None:
    """Check the invariants of the rows after each event."""
    outline = Outline()
    rows: dict[int, Step] = {}
    for entry in entries:
        before = len(rows)
        changed = fold(entry, outline)
        assert [step.row for step in changed] == sorted({step.row for step in changed})
        assert [step.row for step in changed if step.row >= before] == list(range(before, outline.rows))
        for step in changed:
            old = rows.get(step.row)
            if old:
                kept = ("row", "kind", "started_at", "number", "key", "run", "depth", "first_seq")
                assert all(getattr(old, name) == getattr(step, name) for name in kept)
            assert step.first_seq <= step.last_seq <= entry.seq
            assert (step.ended_at == 0) == (step.status in OPEN_STATUSES)
            assert step.ended_at == 0 or step.ended_at >= step.started_at
            assert "\n" not in step.object and len(step.object) <= OBJECT_LIMIT
        rows.update((step.row, step) for step in changed)
        numbers = [rows[row].number for row in sorted(rows) if rows[row].number]
        assert numbers == list(range(1, outline.last_number + 1))
        unfinished = {step.key: step for step in rows.values() if step.status in OPEN_STATUSES}
        assert unfinished == outline.open
        if isinstance(entry.event, RunEnded):
            assert {step.status for step in outline.open.values()} <= {"queued"}


@given(journals())
def test_every_prefix_of_every_event_log_folds(entries: list[EventRecord]) -> None:
    check_every_prefix(entries)


@given(journals(), st.data())
def test_folding_in_two_parts_equals_folding_at_once(entries: list[EventRecord], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    rows, outline = rows_of(entries[:cut])
    # The second half starts from an outline restored from the rows alone.
    numbers = max((step.number for step in rows.values()), default=0)
    unfinished = {rows[row].key: rows[row] for row in sorted(rows) if rows[row].status in OPEN_STATUSES}
    assert list(unfinished.items()) == list(outline.open.items())
    again = Outline(len(rows), numbers, unfinished)
    for entry in entries[cut:]:
        rows.update((step.row, step) for step in fold(entry, again))
    assert (rows, again) == rows_of(entries)


@given(journals())
def test_the_totals_of_a_run_are_the_sum_of_its_replies(entries: list[EventRecord]) -> None:
    rows, _ = rows_of(entries)
    for header in (step for step in rows.values() if step.kind == "run"):
        spent = 0
        for entry in entries:
            inside = header.first_seq <= entry.seq and (header.status in OPEN_STATUSES or entry.seq <= header.last_seq)
            if inside:
                spent += used(entry.event)
        assert header.tokens == spent


def _leaves_it_open(real: Callable[..., None]) -> Callable[..., None]:
    def put(pen: StepWriter, step: Step) -> None:
        kept = pen.outline.open.get(step.key)
        real(pen, step)
        if kept and step.status == "failed":
            pen.outline.open[step.key] = kept

    return put


def _counts_twice(real: Callable[..., None]) -> Callable[..., None]:
    def add(pen: StepWriter, kind: str, status: str, **more: object) -> None:
        pen.outline.last_number += kind == "refused"
        real(pen, kind, status, **more)

    return add


@pytest.mark.parametrize(
    ("name", "bug"), [("_put", _leaves_it_open), ("add", _counts_twice)], ids=["a row left open", "a number left out"]
)
def test_a_planted_bug_is_caught(
    monkeypatch: pytest.MonkeyPatch, name: str, bug: Callable[[Callable[..., object]], Callable[..., object]]
) -> None:
    monkeypatch.setattr(StepWriter, name, bug(getattr(StepWriter, name)))
    # Both bugs concern tool calls. With events of every kind, finding them would take thousands of journals.
    about_calls = journals(kinds=(RunStarted, CallStarted, CallRefused, ToolReturned))
    tried = settings(max_examples=300, derandomize=True, database=None, phases=[Phase.generate])(
        given(about_calls)(check_every_prefix)
    )
    with pytest.raises(AssertionError):
        tried()


def test_a_call_that_may_have_run_stays_open_until_it_is_resolved() -> None:
    called = CallStarted("c", "run", "command", "ls")
    events: list[SessionEvent] = [RunStarted("m"), called, RunInterrupted("power", ("c",)), RunResumed("skip")]
    entries = [EventRecord("s", seq, 1, seq, event) for seq, event in enumerate(events, 1)]
    rows, outline = rows_of(entries[:3])
    assert [(step.kind, step.status) for step in rows.values()] == [
        ("run", "interrupted"), ("command", "unknown"), ("interrupted", "waiting"),
    ]  # fmt: skip
    assert set(outline.open) == {"run", "c", "interrupted"}
    rows, outline = rows_of(entries)
    assert [step.status for step in rows.values()] == ["running", "skipped", "done"]
    assert set(outline.open) == {"run"}


QUESTION = QuestionAsked(Question("q", "Which?"), "c")
CONSENT = PermissionRequested(PermissionRequest("k", "c", "write", "a.py", "/tmp", "verified", "f"))


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((QUESTION,), "Asks you Which?"),
        ((QUESTION, QuestionAnswered("q", "c", Answer("This"))), "You answered This"),
        ((QUESTION, QuestionAnswered("q", "c", Answer(declined=True))), "Not answered The user declined to answer."),
        ((QUESTION, RunEnded("stopped")), "Not answered Which?"),
        ((CONSENT,), "Asks to write a.py"),
        ((CONSENT, PermissionDecided("k", True)), "Asked to write a.py"),
        ((CONSENT, RunEnded("stopped")), "Asked to write a.py"),
        ((CallStarted("c", "edit", "edit", "a.py"), ToolReturned("c", Text("no"), failed=True)), "Tried to edit a.py"),
        ((CallStarted("c", "edit", "edit", "a.py"), ToolReturned("c", Text("ok"))), "Edited a.py"),
        ((CallStarted("c", "write", "write", "a.py"), RunInterrupted("power", ("c",))), "Tried to write a.py"),
        ((CallStarted("c", "run", "command", "ls"), ToolReturned("c", Text(), failed=True, exit_code=1)), "Ran ls"),
    ],
)
def test_the_verb_of_a_row_claims_no_more_than_what_happened(events: tuple[SessionEvent, ...], said: str) -> None:
    rows, _ = rows_of([EventRecord("s", seq, 1, seq, event) for seq, event in enumerate([RunStarted("m"), *events], 1)])
    assert f"{verb(rows[1].kind, rows[1].status)} {rows[1].object}" == said


def test_messages_are_queued_until_a_request_sends_them() -> None:
    first, second, third = UserMessage(Text("one")), UserMessage(Text("two")), UserMessage(Text("three"))
    back, other = QueueChanged("removed", 5, (4, 6), Text("two")), QueueChanged("edited", 6, (4, 6), Text("THREE"))
    begun, sent = RunStarted("m"), RequestSent("m", 1)
    events: list[SessionEvent] = [UserMessage(Text("go")), begun, sent, first, second, third, back, other]
    again = RequestSent("m", 2, purpose="agent")
    events += [QueueChanged("restored", 5, (4, 5, 6), Text("two")), again, RunEnded("stopped"), begun, sent]
    entries = [EventRecord("s", seq, 1, seq, event) for seq, event in enumerate(events, 1)]

    def said(until: int) -> list[tuple[str, str, int]]:
        spoken = [step for step in rows_of(entries[:until])[0].values() if step.kind == "user"]
        return [(verb("user", step.status), step.object, step.last_seq) for step in spoken]

    asked, before = ("You said", "go", 1), [("Queued", "one", 4), ("Removed", "two", 7), ("Queued", "THREE", 8)]
    assert said(8) == [asked, *before]
    assert said(12) == [asked, *before, ("Queued", "two", 9)]
    one, three, two = ("You said", "one", 4), ("You said", "THREE", 8), ("You said", "two", 9)
    assert said(13) == [asked, one, ("Removed", "two", 7), three, two, one, two, three], "they follow in their order"
    assert [step.status for step in rows_of(entries)[0].values() if step.status == "moved"] == ["moved"] * 3
    rows = rows_of(entries)[0]
    assert [(rows[at].kind, rows[at].message_seq) for at in sorted(rows)[-4:]] == [
        ("user", 4), ("user", 5), ("user", 6), ("thinking", 13)
    ]  # fmt: skip


def test_rows_of_reordered_messages_follow_in_the_order_in_which_they_were_sent() -> None:
    words = [UserMessage(Text(word)) for word in ("one", "two", "three")]
    events: list[SessionEvent] = [UserMessage(Text("go")), RunStarted("m"), RequestSent("m", 1), *words]
    events += [QueueChanged("moved", 6, (6, 4, 5), Text("three")), UserMessage(Text("four")), RequestSent("m", 2)]
    rows, _ = rows_of([EventRecord("s", seq, 1, seq, event) for seq, event in enumerate(events, 1)])
    sent = [step for at, step in sorted(rows.items()) if step.kind == "user" and step.status == "done"]
    assert [step.object for step in sent] == ["go", "three", "one", "two", "four"]
    assert not any(step.metrics for step in sent)


def test_a_message_after_a_stop_follows_the_messages_that_are_still_queued() -> None:
    events: list[tuple[int, SessionEvent]] = [
        (1, UserMessage(Text("go"))), (1, RunStarted("m")), (1, RequestSent("m", 1)), (1, UserMessage(Text("one"))),
        (1, RunEnded("stopped")), (2, UserMessage(Text("two"))), (2, RunStarted("m")), (2, RequestSent("m", 1)),
    ]  # fmt: skip
    rows, _ = rows_of([EventRecord("s", seq, run, seq, event) for seq, (run, event) in enumerate(events, 1)])
    shown = [(step.run, step.kind, step.object) for _, step in sorted(rows.items()) if step.status != "moved"]
    assert shown[4:] == [(2, "user", "one"), (2, "user", "two"), (2, "run", ""), (2, "thinking", "")], shown


def test_an_invented_tool_name_stays_on_one_line() -> None:
    calls = (ToolCall("r1c1", "two\nlines" + "x" * 400),)
    rows, _ = rows_of([EventRecord("s", 1, 1, 1, RequestSent("m", 1)), EventRecord("s", 2, 1, 2, Replied(calls=calls))])
    assert "\n" not in rows[0].object and len(rows[0].object) <= OBJECT_LIMIT


def test_the_figures_of_a_call() -> None:
    events: list[SessionEvent] = [RunStarted("m"), RequestSent("m", 1), CallStarted("c", "run", "command", "ls"),
              ToolReturned("c", Text("12345"), exit_code=2)]  # fmt: skip
    rows, _ = rows_of([EventRecord("s", seq, 1, seq * 10, event) for seq, event in enumerate(events, 1)])
    assert rows[2].metrics == {"bytes": 5, "exit_code": 2} and (rows[2].started_at, rows[2].ended_at) == (30, 40)
    assert rows[0].metrics == {"turns": 1, "calls": 1}


@pytest.mark.parametrize(
    ("event", "status", "text"),
    [
        (RunEnded("failed", error=ErrorDetails("The server is down.")), "failed", "The server is down."),
        (RunPaused(error=ErrorDetails("The server is down.")), "failed", "The server is down."),
        (RunEnded("stopped"), "stopped", ""),
        (RunPaused("You paused it."), "stopped", ""),
    ],
)
def test_the_last_request_of_a_run_failed_if_an_error_ended_it(event: SessionEvent, status: str, text: str) -> None:
    events = (RunStarted("m"), RequestSent("m", 1), event)
    rows, _ = rows_of([EventRecord("s", seq, 1, seq, event) for seq, event in enumerate(events, 1)])
    assert (rows[1].status, rows[1].object) == (status, text)


def test_a_repeated_request_is_the_same_turn() -> None:
    failed = RequestRetried(ErrorDetails("The server is down.", "", ""), 1, 0.5)
    first, cut = RequestSent("m", 1), ReplyInterrupted(Text("a"), "stopped")
    events: list[SessionEvent] = [RunStarted("m"), first, cut, first, failed, first, Replied(Text("b"))]
    events.append(RequestSent("m", 2))
    counted, outline, listed = [], Outline(), SessionRow("s")
    for seq, event in enumerate(events, 1):
        changed = fold(entry := EventRecord("s", seq, 1, seq, event), outline)
        listed = fold_session(listed, entry, changed, outline)
        counted.append((outline.open["run"].metrics.get("turns", 0), listed.turns))
    assert counted == [(0, 0), *[(1, 1)] * 6, (2, 2)]


@pytest.mark.parametrize(
    ("text", "first"),
    [("", ""), ("\n \n a \nb", "a"), ("x" * 301, "x" * 299 + "…"), ("x" * 300, "x" * 300)],
)
def test_a_row_shows_the_first_meaningful_line(text: str, first: str) -> None:
    assert first_line(text) == first_line(Text(text)) == first
