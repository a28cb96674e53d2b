"""The run page on a real event log: live updates and reading it again show the same rows."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPlainTextEdit, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from core.domain.events import (
    CallStarted,
    FileChanged,
    Replied,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionCreated,
    SessionEvent,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.problems import ErrorDetails
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionOption
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.store.database import Database
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader
from tests.ui.hands import find
from tests.ui.timeline.session_data import ANSWER
from ui.style.theme import Look
from ui.timeline.run_page import RunPage
from ui.timeline.step_pane import StepPane

LOG = "\n".join(f"test {number} ok" for number in range(3_000))
WHY = "The tests tell whether the change holds."
ASKED = Question("q1", "Which tone?", "The draft is ready.", (QuestionOption("Firm"), QuestionOption("Friendly")))
STORY: tuple[SessionEvent, ...] = (
    SessionCreated("s1", "/tmp/letters", "Mould complaint"),
    UserMessage(Text("Write a complaint about the mould")),
    RunStarted("demo", max_turns=60),
    RequestSent("demo", 1),
    Replied(reasoning=Text(WHY), calls=(ToolCall("c1", "run"), ToolCall("c2", "write")), usage=Usage(900, 120)),
    CallStarted("c1", "run", "command", "pytest -q"),
    ToolReturned("c1", Text(LOG), exit_code=0),
    CallStarted("c2", "write", "write", "complaint.md"),
    FileChanged("c2", "complaint.md", after="b", added=84, removed=3),
    ToolReturned("c2", Text("Wrote complaint.md.")),
    QuestionAsked(ASKED, "c3"),
    QuestionAnswered("q1", "c3", Answer("Firm")),
    CallStarted("c4", "run", "command", "make deploy"),
    RunInterrupted("The program ended.", ("c4",)),
    RunResumed("skip"),
    RequestSent("demo", 2),
    Replied(Text(ANSWER), usage=Usage(1_000, 300)),
    RunEnded("failed", "Out of luck.", ErrorDetails("It broke.", "Nobody knows.", "Try again.")),
)


async def write_session(database: Database, reader: Reader, tell: list[JournalUpdate]) -> None:
    ticks = iter(range(1_790_000_000_000_000, 1_790_000_900_000_000, 700_000))
    journal = Journal(database, reader, clock=lambda: next(ticks))
    journal.listen(tell.append)
    for event in STORY:
        await journal.append("s1", event)


@pytest.fixture
def updates(tmp_path: Path) -> list[JournalUpdate]:
    path = tmp_path / "journeyman.db"
    database = Database(path)
    reader = Reader(path)
    heard: list[JournalUpdate] = []
    try:
        asyncio.run(write_session(database, reader, heard))
    finally:
        reader.close()
        database.close()
    return heard


def accessible_texts(page: RunPage) -> list[str]:
    model = page.model
    return [model.index(place, 0).data() for place in range(model.rowCount())]


SPOKEN = [
    "You said Write a complaint about the mould",
    "Run 1: 2 thoughts, 2 tool calls, 10s, 2.3k tok, Failed, expanded",
    f"Step 1: Thought {WHY}, 120 tok, 0.7s, done",
    "Step 2: Ran pytest -q, exit 0, 0.7s, done",
    "Step 3: Wrote complaint.md, +84, −3, 1.4s, done",
    "Step 4: You answered Firm, 0.7s, done",
    "Step 5: Ran make deploy, 1.4s, skipped",
    "Interrupted — “make deploy” may have run",
]


@pytest.mark.colors
def test_live_updates_equal_reading_again(
    updates: list[JournalUpdate], tmp_path: Path, qtbot: QtBot, look: Look
) -> None:
    reader = Reader(tmp_path / "journeyman.db")
    live, later = RunPage(look, reader), RunPage(look, reader)
    for page in (live, later):
        qtbot.addWidget(page)
        page.resize(800, 600)
        page.show()
    live.show_session(SessionRow("s1", rows=0))
    bar = find(live, QWidget, "interrupted")
    asked = []
    for each in updates:
        live.apply(each.steps)
        live.show_session(each.session)
        live.view.update_layout()
        asked.append(bar.isVisible())
    later.show_session(updates[-1].session)
    later.view.update_layout()
    assert accessible_texts(live)[:8] == SPOKEN
    assert accessible_texts(live) == accessible_texts(later)
    assert [index for index, open_ in enumerate(asked) if open_] == [13]
    for page in (live, later):
        (reply,) = page.view.replies.shown.values()
        assert reply.toPlainText().startswith("The letter is ready.")
    assert live.view.grab().toImage() == later.view.grab().toImage()
    reader.close()


def test_pane_reads_texts_stored_as_blobs(
    updates: list[JournalUpdate], tmp_path: Path, qtbot: QtBot, look: Look
) -> None:
    reader = Reader(tmp_path / "journeyman.db")
    pane = StepPane(look, reader)
    qtbot.addWidget(pane)
    pane.show()
    steps = reader.steps("s1", 0, 100)

    def facts(row: int) -> str:
        pane.show_step("s1", steps[row])
        return "\n".join(part.toPlainText() for part in pane._summary.findChildren(QPlainTextEdit))

    assert facts(3).startswith("pytest -q\ndone · exit 0 · 37 KB\n")
    assert WHY in facts(3) and "test 0 ok" in facts(3)
    assert pane._output._all.text() == "Show all (37 KB)"
    pane._output.show_all()
    qtbot.waitUntil(lambda: pane._output.text.toPlainText() == LOG)
    assert facts(5).startswith("Which tone?\ndone\n") and "Firm\nFriendly" in facts(5)
    assert "It broke." in facts(len(steps) - 1) and "Try again." in facts(len(steps) - 1)
    assert WHY in facts(2) and find(pane, QTabBar, "step.tabs").isTabVisible(1)
    reader.close()
