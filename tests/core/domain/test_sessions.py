"""Folding facts to a session's line: its totals add up, its state says what is open."""

from collections.abc import Iterator

from hypothesis import given

from core.domain.consent import ConsentAsked, ConsentRequest
from core.domain.events import (
    Entry,
    PersonSpoke,
    QueueChanged,
    Replied,
    RequestSent,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionOpened,
    ToolReturned,
    Usage,
)
from core.domain.filing import Filing
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.sessions import ENDINGS, SessionRow, fold_session
from core.domain.steps import Outline, fold
from core.domain.text import Text
from tests.core.domain.facts import journals, used

STATES = {"waiting", "paused", "running", "interrupted", *ENDINGS.values()}


def lines(entries: list[Entry]) -> Iterator[tuple[Entry, SessionRow, Outline]]:
    """The line after each fact."""
    row, outline = SessionRow("s"), Outline()
    for entry in entries:
        changed = fold(entry, outline)
        row = fold_session(row, entry, changed, outline)
        yield entry, row, outline


@given(journals())
def test_every_prefix_has_a_line_whose_totals_add_up(entries: list[Entry]) -> None:
    """L-B6: the usage of every round is counted."""
    tokens = moved = 0
    for entry, row, outline in lines(entries):
        tokens += used(entry.event)
        assert row.status in STATES
        assert (row.seq, row.rows, row.tokens) == (entry.seq, outline.rows, tokens)
        asked = [step.began for step in outline.open.values() if step.kind in {"question", "consent"}]
        if not isinstance(entry.event, Filing):
            moved = asked[-1] if asked and row.status == "waiting" else entry.at
        assert row.updated == moved and row.runs == entry.run
        assert row.waiting >= 0 and (row.waiting or row.status != "waiting")


def status_after(*events: RunEvent) -> tuple[str, int]:
    *_, (_, row, _) = lines([Entry("s", n, 1, n, event) for n, event in enumerate(events, 1)])
    return row.status, row.waiting


OPENED = SessionOpened("s", "/tmp", "t")
ASKED = QuestionAsked(Question("q", "?"), "c")
ANSWERED = QuestionAnswered("q", "c", Answer(text="yes"))


def test_the_states_a_session_goes_through() -> None:
    assert status_after(OPENED) == ("done", 0)
    assert status_after(OPENED, PersonSpoke(Text("hi")), RunStarted("m")) == ("running", 0)
    assert status_after(OPENED, RunStarted("m"), ASKED) == ("waiting", 1)
    assert status_after(OPENED, RunStarted("m"), ASKED, ANSWERED) == ("running", 0)
    assert status_after(OPENED, RunStarted("m"), ASKED, RunEnded("stopped")) == ("stopped", 0)
    assert status_after(OPENED, RunStarted("m"), RunInterrupted("power", ("c",)), RunResumed()) == ("running", 0)
    assert status_after(OPENED, RunStarted("m"), ASKED, RunInterrupted("power"), RunResumed()) == ("waiting", 1)


def test_what_happens_beside_a_question_does_not_take_its_place_in_the_line() -> None:
    """What it asks is told, with its age, until the answer; then the one that is still open."""
    queued, back = PersonSpoke(Text("also")), QueueChanged("taken back", 5, (), Text("also"))
    wanted = ConsentRequest("k", "d", "write", "a.py", "/tmp", "verified", "f")
    events: list[RunEvent] = [OPENED, RunStarted("m"), ASKED, ToolReturned("x", Text("done")), queued, back]
    events += [ConsentAsked(wanted), ANSWERED, queued]
    rows = [row for _, row, _ in lines([Entry("s", n, 1, n, event) for n, event in enumerate(events, 1)])]
    told = [(row.doing_kind, row.doing, row.updated) for row in rows]
    assert told[2:6] == [("question", "?", 3)] * 4
    assert told[6:] == [("consent", "write a.py", 7)] * 3


def test_an_answer_that_comes_while_the_run_is_interrupted_counts() -> None:
    interrupted = RunInterrupted("power", ("c2",))
    assert status_after(OPENED, RunStarted("m"), ASKED, interrupted, ANSWERED, RunResumed()) == ("running", 0)


def test_the_line_shows_what_was_done_last() -> None:
    events: list[RunEvent] = [
        OPENED,
        RunStarted("m", 9),
        RequestSent("m", 2),
        Replied(Text("All is well"), usage=Usage(3, 4)),
    ]
    *_, (_, row, _) = lines([Entry("s", n, 1, n, event) for n, event in enumerate(events, 1)])
    assert (row.model, row.rounds, row.max_rounds, row.doing_kind, row.doing) == ("m", 2, 9, "reply", "All is well")
