"""The page of a session and the pane of a step, as a person uses them."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.events import ToolReturned
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.drafts import Draft
from tests.ui.hands import click, find, press
from tests.ui.timeline.journals import EXIF, START, ListedRows, letter
from ui.theme import Look, load_fonts
from ui.timeline.header import FactLine, Pill
from ui.timeline.layout import Columns
from ui.timeline.page import RunPage
from ui.timeline.step_pane import StepPane

ROW = SessionRow(
    "s", "Mould complaint", "~/letters", "qwen3-32b", "running", runs=2, rounds=9, max_rounds=60, tokens=48_200
)


def clock() -> int:
    return START + 252 * SECOND


@pytest.fixture
def rows() -> ListedRows:
    return letter()


@pytest.fixture
def page(qtbot: QtBot, look: Look, rows: ListedRows) -> RunPage:
    made = RunPage(look, rows, clock=clock)
    qtbot.addWidget(made)
    made.resize(800, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.show_session(ROW._replace(rows=len(rows.rows)))
    made.view.settle()
    return made


@pytest.fixture
def pane(qtbot: QtBot, look: Look, rows: ListedRows) -> StepPane:
    made = StepPane(look, rows)
    qtbot.addWidget(made)
    made.resize(384, 600)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_the_header_says_how_the_session_stands(page: RunPage) -> None:
    facts = find(page, FactLine, "run.facts")
    assert facts.accessibleName() == "~/letters, qwen3-32b, 1m 48s, round 9 of 60, 48.2k tok"
    assert find(page, Pill, "run.status").accessibleName() == "Running"
    page.show_session(ROW._replace(status="done", rounds=12, cost=0.08, rows=12))
    assert facts.accessibleName() == "~/letters, qwen3-32b, 1m 48s, 12 rounds, 48.2k tok · $0.08"
    assert find(page, Pill, "run.status").accessibleName() == "Done"


def test_a_run_can_be_stopped_only_while_it_goes(page: RunPage, qtbot: QtBot) -> None:
    button = find(page, QPushButton, "run.stop")
    assert button.isVisible()
    with qtbot.waitSignal(page.stop):
        click(button)
    for status in ("done", "failed", "stopped", "limit", "interrupted"):
        page.show_session(ROW._replace(status=status, rows=12))
        assert not button.isVisible()
    page.show_session(ROW._replace(status="waiting", rows=12))
    assert button.isVisible()


def test_a_chosen_row_is_told(page: RunPage, qtbot: QtBot, rows: ListedRows) -> None:
    with qtbot.waitSignal(page.step_chosen) as told:
        page.select_row(4)
    assert told.args == [rows.rows[4]]


def test_what_came_meanwhile_is_one_click_away(page: RunPage, rows: ListedRows) -> None:
    page.apply([rows.add("read", object="a.py", run=2) for _ in range(60)])
    page.view.settle()
    latest = find(page, QPushButton, "timeline.latest")
    assert not latest.isVisible()
    press(page.view, Qt.Key.Key_Home)
    page.apply([rows.add("read", object="a.py", run=2) for _ in range(12)])
    page.view.settle()
    assert latest.isVisible() and latest.text() == "12 new · Jump to latest"
    click(latest)
    assert page.view.following and not latest.isVisible()


@pytest.mark.parametrize("choice", ["again", "skip", "end"])
def test_an_interruption_asks_what_to_do(page: RunPage, rows: ListedRows, qtbot: QtBot, choice: str) -> None:
    bar = find(page, QWidget, "interrupted")
    assert not bar.isVisible()
    asked = rows.add("interrupted", "waiting", object="make deploy", run=2, marks={"calls": 1})
    page.apply([asked])
    assert bar.isVisible() and bar.accessibleName() == "Interrupted — “make deploy” may have run"
    with qtbot.waitSignal(page.settle) as told:
        click(find(bar, QPushButton, f"interrupted.{choice}"))
    assert told.args == [choice]
    page.apply([asked._replace(status="done", ended=clock())])
    assert not bar.isVisible()


def test_an_interruption_is_found_when_its_session_is_opened(page: RunPage, rows: ListedRows) -> None:
    rows.add("interrupted", "waiting", object="The program ended.", run=2, marks={"calls": 0})
    page.show_session(ROW._replace(id="other", status="interrupted", rows=len(rows.rows)))
    bar = find(page, QWidget, "interrupted")
    assert bar.isVisible() and not find(bar, QPushButton, "interrupted.skip").isVisible()
    assert find(bar, QPushButton, "interrupted.again").text() == "Go on"


def test_another_look(page: RunPage, pane: StepPane, look: Look, rows: ListedRows) -> None:
    page.restyle(look)
    pane.show_step("s", rows.rows[4])
    pane.restyle(look)
    assert find(pane, QPlainTextEdit, "step.block").toPlainText().startswith("exiftool")


@pytest.mark.colours
def test_icons_grow_with_the_letters(page: RunPage, pane: StepPane, look: Look) -> None:
    large = Look(look.theme, load_fonts(2.0))
    page.restyle(large)
    pane.restyle(large)
    for button in (find(page, QToolButton, "run.fork"), find(pane, QToolButton, "step.fold")):
        assert button.iconSize().width() == 32
    columns = Columns.of(800, large.fonts)
    assert columns.verb - columns.icon > 32 and columns.width - columns.glyph > 32


def summary(pane: StepPane) -> str:
    return "\n".join(part.toPlainText() for part in pane._summary.findChildren(QPlainTextEdit))


def tabs(pane: StepPane) -> list[str]:
    bar = find(pane, QTabBar, "step.tabs")
    return [bar.tabText(tab) for tab in range(bar.count()) if bar.isTabVisible(tab)]


def test_a_step_tells_what_it_did_and_why(pane: StepPane, rows: ListedRows) -> None:
    assert tabs(pane) == ["Summary"]
    pane.show_step("s", rows.rows[4])
    told = summary(pane)
    assert find(pane, QWidget, "step.title").accessibleName() == "Step 18 · Ran a command"
    assert told.startswith("exiftool -DateTimeOriginal photos/*.jpg\ndone · exit 0\n")
    assert "took 0.6s" in told and "Dates of the photos prove when the mould was first seen." in told
    assert told.endswith(EXIF)
    assert tabs(pane) == ["Summary", "Output", "Context", "Raw"]
    assert find(pane, QPlainTextEdit, "step.output").toPlainText() == EXIF
    raw = json.loads(find(pane, QPlainTextEdit, "step.raw").toPlainText())
    assert [entry["kind"] for entry in raw] == ["call_started", "tool_returned"]


def test_what_still_goes_is_not_said_to_have_taken_any_time(pane: StepPane, rows: ListedRows) -> None:
    pane.show_step("s", rows.rows[4]._replace(status="waiting", ended=0))
    assert "exiftool" in summary(pane) and "took" not in summary(pane)


def test_a_running_command_shows_its_last_lines(pane: StepPane, rows: ListedRows) -> None:
    """As it prints; only of its own call, and only until its result is there."""
    step = rows.rows[4]._replace(status="running", ended=0, key="r9c1", last=rows.rows[4].first)
    pane.show_step("s", step)
    pane.live.hear(Draft("s", call="r9c2", output=b"another\n"))
    pane.live.hear(Draft("s", call="r9c1", output=b"".join(b"line %d\n" % n for n in range(40))))
    pane.show_live()
    shown = find(pane, QPlainTextEdit, "step.head")
    assert shown.toPlainText().split("\n")[0] == "line 28" and shown.toPlainText().endswith("line 39")
    pane.live.hear(Draft("s", call="r9c1", output=b"more\x1b[2J"))
    pane.show_live()
    assert "more" in shown.toPlainText() and "\x1b" not in shown.toPlainText()
    pane.live.settle("s", ToolReturned("r9c1", Text("line 0")))
    pane.show_step("s", step)
    assert pane.findChild(QPlainTextEdit, "step.head") is None or "line" not in summary(pane)


def test_every_row_of_a_session_can_be_looked_at(pane: StepPane, rows: ListedRows) -> None:
    for step in rows.rows:
        pane.show_step("s", step)
        assert find(pane, QWidget, "step.title").accessibleName()
    pane.clear()
    assert tabs(pane) == ["Summary"]


def test_long_output_opens_in_pieces(pane: StepPane, rows: ListedRows, qtbot: QtBot) -> None:
    lines = [f"line {number} \x1b[32mgreen\x1b[0m" for number in range(30_000)]
    whole = "\n".join(lines)
    rows.entries[104]["output"] = {"head": whole[:4000], "size": len(whole), "blob": "b"}
    rows.texts[104, "output"] = whole
    pane.show_step("s", rows.rows[4])
    find(pane, QTabBar, "step.tabs").setCurrentIndex(1)
    text, button = find(pane, QPlainTextEdit, "step.output"), find(pane, QPushButton, "step.output.all")
    assert text.toPlainText().splitlines() == [f"line {number} green" for number in range(200)]
    assert button.isVisible() and button.text() == "Open all (751 KB)"
    click(button)
    assert not button.isEnabled() and len(text.toPlainText()) < len(whole) / 2
    qtbot.waitUntil(lambda: not button.isVisible())
    assert text.toPlainText().splitlines() == [f"line {number} green" for number in range(30_000)]


def test_another_step_ends_the_opening(pane: StepPane, rows: ListedRows, qtbot: QtBot) -> None:
    rows.texts[104, "output"] = "x\n" * 400_000
    pane.show_step("s", rows.rows[4])
    find(pane, QTabBar, "step.tabs").setCurrentIndex(1)
    click(find(pane, QPushButton, "step.output.all"))
    pane.show_step("s", rows.rows[3])
    assert not pane._output._next.isActive()


def test_the_pane_folds_by_button_and_key(pane: StepPane, qtbot: QtBot) -> None:
    with qtbot.waitSignal(pane.folded):
        click(find(pane, QToolButton, "step.fold"))
    with qtbot.waitSignal(pane.folded):
        press(pane, Qt.Key.Key_Q)
