"""The run page and the step pane, operated as by a user."""

import json

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.events import ToolReturned
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.state.live_updates import LiveUpdate
from tests.ui.hands import click, find, press
from tests.ui.timeline.session_data import EXIF, START, MemorySteps, letter_session
from ui.shell.central_area import CentralArea
from ui.style.theme import Look, load_fonts
from ui.timeline.header_facts import FactLine
from ui.timeline.row_layout import RowColumns
from ui.timeline.run_page import RunPage
from ui.timeline.status_pill import StatusPill
from ui.timeline.step_pane import StepPane
from ui.widgets.toast import Toast

ROW = SessionRow(
    "s", "Mould complaint", "~/letters", "qwen3-32b", "running", runs=2, turns=9, max_turns=60, tokens=48_200
)


def clock() -> int:
    return START + 252 * SECOND


@pytest.fixture
def rows() -> MemorySteps:
    return letter_session()


@pytest.fixture
def page(qtbot: QtBot, look: Look, rows: MemorySteps) -> RunPage:
    made = RunPage(look, rows, clock=clock)
    qtbot.addWidget(made)
    made.resize(800, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.show_session(ROW._replace(rows=len(rows.rows)))
    made.view.update_layout()
    return made


@pytest.fixture
def pane(qtbot: QtBot, look: Look, rows: MemorySteps) -> StepPane:
    made = StepPane(look, rows)
    qtbot.addWidget(made)
    made.resize(384, 600)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_header_shows_status_and_facts(page: RunPage) -> None:
    facts = find(page, FactLine, "run.facts")
    assert facts.accessibleName() == "~/letters, qwen3-32b, 1m 48s, turn 9 of 60, 48.2k tok"
    assert find(page, StatusPill, "run.status").accessibleName() == "Running"
    page.show_session(ROW._replace(status="done", turns=12, cost=0.08, rows=12))
    assert facts.accessibleName() == "~/letters, qwen3-32b, 1m 48s, 12 turns, 48.2k tok · $0.08"
    assert find(page, StatusPill, "run.status").accessibleName() == "Done"


def test_a_run_can_be_stopped_only_while_it_is_active(page: RunPage, qtbot: QtBot) -> None:
    button = find(page, QPushButton, "run.stop")
    assert button.isVisible()
    with qtbot.waitSignal(page.stop):
        click(button)
    for status in ("done", "failed", "stopped", "limit", "interrupted"):
        page.show_session(ROW._replace(status=status, rows=12))
        assert not button.isVisible()
    page.show_session(ROW._replace(status="waiting", rows=12))
    assert button.isVisible()


def test_selecting_a_row_emits_step_chosen(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
    with qtbot.waitSignal(page.step_chosen) as emitted:
        page.select_row(4)
    assert emitted.args == [rows.rows[4]]


def test_the_reply_being_streamed_replaces_the_selected_step(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
    page.select_row(4)
    page.show_draft("The letter is")
    with qtbot.waitSignal(page.step_chosen) as emitted:
        press(page.view, Qt.Key.Key_End)
    assert emitted.args == [None] and not page.selected, "the details are those of the latest step"
    reply = rows.add("reply", object="The letter is ready.", run=2)
    with qtbot.waitSignal(page.step_chosen) as emitted:
        page.apply([reply])
    assert emitted.args == [reply]


def test_jump_to_latest_counts_new_rows(page: RunPage, rows: MemorySteps) -> None:
    page.apply([rows.add("read", object="a.py", run=2) for _ in range(60)])
    page.view.update_layout()
    latest = find(page, QPushButton, "timeline.latest")
    assert not latest.isVisible()
    press(page.view, Qt.Key.Key_Home)
    page.apply([rows.add("read", object="a.py", run=2) for _ in range(12)])
    page.view.update_layout()
    assert latest.isVisible() and latest.text() == "12 new · Jump to latest"
    click(latest)
    assert page.view.following and not latest.isVisible()


@pytest.mark.parametrize("choice", ["retry", "skip", "abort"])
def test_an_interruption_asks_what_to_do(page: RunPage, rows: MemorySteps, qtbot: QtBot, choice: str) -> None:
    bar = find(page, QWidget, "interrupted")
    assert not bar.isVisible()
    asked = rows.add("interrupted", "waiting", object="make deploy", run=2, metrics={"calls": 1})
    page.apply([asked])
    assert bar.isVisible() and bar.accessibleName() == "Interrupted — “make deploy” may have run"
    with qtbot.waitSignal(page.interruption_resolved) as emitted:
        click(find(bar, QPushButton, f"interrupted.{choice}"))
    assert emitted.args == [choice]
    page.apply([asked._replace(status="done", ended_at=clock())])
    assert not bar.isVisible()


def test_an_interruption_is_found_when_its_session_is_opened(page: RunPage, rows: MemorySteps) -> None:
    rows.add("interrupted", "waiting", object="The program ended.", run=2, metrics={"calls": 0})
    page.show_session(ROW._replace(id="other", status="interrupted", rows=len(rows.rows)))
    bar = find(page, QWidget, "interrupted")
    assert bar.isVisible() and not find(bar, QPushButton, "interrupted.skip").isVisible()
    assert find(bar, QPushButton, "interrupted.retry").text() == "Continue"


@pytest.mark.colors
def test_an_interruption_reached_by_keyboard_shows_the_focus_and_repeats_nothing_on_enter(
    page: RunPage, rows: MemorySteps, qtbot: QtBot, look: Look
) -> None:
    page.apply([rows.add("interrupted", "waiting", object="make deploy", run=2, metrics={"calls": 1})])
    bar = find(page, QWidget, "interrupted")
    with qtbot.waitActive(page):
        page.activateWindow()
    page.view.setFocus()
    unfocused = bar.grab().toImage()
    assert page.focus_interruption() and page.window().focusWidget() is bar
    top = bar.width() // 2, 0
    assert bar.grab().toImage().pixelColor(*top) == look.theme.accent != unfocused.pixelColor(*top)
    with qtbot.assertNotEmitted(page.interruption_resolved):
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            press(bar, key)
    press(bar, Qt.Key.Key_Tab)
    retry = find(bar, QPushButton, "interrupted.retry")
    assert page.window().focusWidget() is retry
    middle = retry.width() // 2, 0
    assert retry.grab().toImage().pixelColor(*middle) == look.theme.accent
    with qtbot.waitSignal(page.interruption_resolved) as emitted:
        press(retry, Qt.Key.Key_Return)
    assert emitted.args == ["retry"]


def test_a_focused_bar_of_an_interruption_that_is_resolved_elsewhere_returns_the_focus(
    page: RunPage, rows: MemorySteps
) -> None:
    asked = rows.add("interrupted", "waiting", object="make deploy", run=2, metrics={"calls": 1})
    page.apply([asked])
    page.focus_interruption()
    page.apply([asked._replace(status="done", ended_at=clock())])
    assert page.window().focusWidget() is page.view


def test_theme_change(page: RunPage, pane: StepPane, look: Look, rows: MemorySteps) -> None:
    page.restyle(look)
    pane.show_step("s", rows.rows[4])
    pane.restyle(look)
    assert find(pane, QPlainTextEdit, "step.block").toPlainText().startswith("exiftool")


@pytest.mark.colors
def test_icons_grow_with_the_text_size(page: RunPage, pane: StepPane, look: Look) -> None:
    large = Look(look.theme, load_fonts(2.0))
    page.restyle(large)
    pane.restyle(large)
    for button in (find(page, QToolButton, "run.fork"), find(pane, QToolButton, "step.fold")):
        assert button.iconSize().width() == 32
    columns = RowColumns.of(800, large.fonts)
    assert columns.verb - columns.icon > 32 and columns.width - columns.status_icon > 32


def summary(pane: StepPane) -> str:
    return "\n".join(part.toPlainText() for part in pane._summary.findChildren(QPlainTextEdit))


def tabs(pane: StepPane) -> list[str]:
    bar = find(pane, QTabBar, "step.tabs")
    return [bar.tabText(tab) for tab in range(bar.count()) if bar.isTabVisible(tab)]


def test_step_shows_what_it_did_and_why(pane: StepPane, rows: MemorySteps) -> None:
    assert tabs(pane) == ["Summary"]
    pane.show_step("s", rows.rows[4])
    text = summary(pane)
    assert find(pane, QWidget, "step.title").accessibleName() == "Step 18 · Ran a command"
    assert text.startswith("exiftool -DateTimeOriginal photos/*.jpg\ndone · exit 0\n")
    assert "took 0.6s" in text and "Dates of the photos prove when the mould was first seen." in text
    assert text.endswith(EXIF)
    assert tabs(pane) == ["Summary", "Output", "Context", "Raw"]
    assert find(pane, QPlainTextEdit, "step.output").toPlainText() == EXIF
    raw = json.loads(find(pane, QPlainTextEdit, "step.raw").toPlainText())
    assert [entry["kind"] for entry in raw] == ["call_started", "tool_returned"]


def test_running_step_shows_no_duration(pane: StepPane, rows: MemorySteps) -> None:
    pane.show_step("s", rows.rows[4]._replace(status="waiting", ended_at=0))
    assert "exiftool" in summary(pane) and "took" not in summary(pane)


def test_a_running_command_shows_its_last_lines(pane: StepPane, rows: MemorySteps) -> None:
    """The live output of the step's own call is shown until the result arrives."""
    step = rows.rows[4]._replace(status="running", ended_at=0, key="r9c1", last_seq=rows.rows[4].first_seq)
    pane.show_step("s", step)
    pane.live_output.apply_live_update(LiveUpdate("s", call="r9c2", output=b"another\n"))
    pane.live_output.apply_live_update(
        LiveUpdate("s", call="r9c1", output=b"".join(b"line %d\n" % n for n in range(40)))
    )
    pane.show_live()
    shown = find(pane, QPlainTextEdit, "step.head")
    assert shown.toPlainText().split("\n")[0] == "line 28" and shown.toPlainText().endswith("line 39")
    pane.live_output.apply_live_update(LiveUpdate("s", call="r9c1", output=b"more\x1b[2J"))
    pane.show_live()
    assert "more" in shown.toPlainText() and "\x1b" not in shown.toPlainText()
    pane.live_output.apply_event("s", ToolReturned("r9c1", Text("line 0")))
    pane.show_step("s", step)
    assert pane.findChild(QPlainTextEdit, "step.head") is None or "line" not in summary(pane)


def test_every_row_can_be_shown(pane: StepPane, rows: MemorySteps) -> None:
    for step in rows.rows:
        pane.show_step("s", step)
        assert find(pane, QWidget, "step.title").accessibleName()
    pane.clear()
    assert tabs(pane) == ["Summary"]


def test_long_output_opens_in_pieces(pane: StepPane, rows: MemorySteps, qtbot: QtBot) -> None:
    lines = [f"line {number} \x1b[32mgreen\x1b[0m" for number in range(30_000)]
    whole = "\n".join(lines)
    rows.events[104]["output"] = {"head": whole[:4000], "size": len(whole), "blob": "b"}
    rows.texts[104, "output"] = whole
    pane.show_step("s", rows.rows[4])
    find(pane, QTabBar, "step.tabs").setCurrentIndex(1)
    text, button = find(pane, QPlainTextEdit, "step.output"), find(pane, QPushButton, "step.output.all")
    assert text.toPlainText().splitlines() == [f"line {number} green" for number in range(200)]
    assert button.isVisible() and button.text() == "Show all (751 KB)"
    click(button)
    assert not button.isEnabled() and len(text.toPlainText()) < len(whole) / 2
    qtbot.waitUntil(lambda: not button.isVisible())
    assert text.toPlainText().splitlines() == [f"line {number} green" for number in range(30_000)]


def test_selecting_another_step_stops_loading(pane: StepPane, rows: MemorySteps, qtbot: QtBot) -> None:
    rows.texts[104, "output"] = "x\n" * 400_000
    pane.show_step("s", rows.rows[4])
    find(pane, QTabBar, "step.tabs").setCurrentIndex(1)
    click(find(pane, QPushButton, "step.output.all"))
    pane.show_step("s", rows.rows[3])
    assert not pane._output._next.isActive()


def test_the_pane_collapses_by_button_and_key(pane: StepPane, qtbot: QtBot) -> None:
    with qtbot.waitSignal(pane.hide_requested):
        click(find(pane, QToolButton, "step.fold"))
    with qtbot.waitSignal(pane.hide_requested):
        press(pane, Qt.Key.Key_Q)


def test_tab_goes_from_the_steps_to_the_choice_for_an_interruption_before_the_composer(
    look: Look, rows: MemorySteps, qtbot: QtBot
) -> None:
    window, composer = QWidget(), QLineEdit()
    composer.setObjectName("composer")
    qtbot.addWidget(window)
    page = RunPage(look, rows, clock=clock)
    column = QVBoxLayout(window)
    column.addWidget(page)
    column.addWidget(composer)
    page.add_tab(
        "later", "Later", QListView()
    )  # as in the program, where the other tabs are created after the composer
    rows.add("interrupted", "waiting", object="The program ended.", run=2, metrics={"calls": 0})
    page.show_session(ROW._replace(status="interrupted", rows=len(rows.rows)))
    window.show()
    page.view.setFocus()
    reached = [""]
    while "composer" not in reached and len(reached) < 40:
        press(window.focusWidget(), Qt.Key.Key_Tab)
        reached.append(window.focusWidget().objectName())
    assert reached[-3:] == ["interrupted.retry", "interrupted.abort", "composer"]


def test_a_toast_covers_neither_the_choice_for_an_interruption_nor_a_page(
    look: Look, rows: MemorySteps, qtbot: QtBot
) -> None:
    toast, other, page = Toast(look), QWidget(), RunPage(look, rows, clock=clock)
    area = CentralArea(QWidget(), toast, page, other)
    qtbot.addWidget(area)
    area.resize(800, 600)
    area.show()
    page.show_session(ROW._replace(rows=len(rows.rows)))
    area.show_part(page, page)
    toast.show_message("Archived.")
    asked = rows.add("interrupted", "waiting", object="make deploy", run=2, metrics={"calls": 1})
    page.apply([asked])
    bar = find(page, QWidget, "interrupted")
    qtbot.waitUntil(lambda: bar.isVisible() and toast.geometry().bottom() < bar.mapTo(area, QPoint(0, 0)).y())
    assert toast.geometry().bottom() > area.height() - 120, "it stays close to the bar"
    page.apply([asked._replace(status="done", ended_at=clock())])
    qtbot.waitUntil(lambda: toast.geometry().bottom() > area.height() - 40)
    area.show_part(other)
    qtbot.waitUntil(lambda: other.mapTo(area, other.rect().bottomLeft()).y() < toast.geometry().top())
