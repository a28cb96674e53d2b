"""Around the steps: tabs with figures, the journey strip, finding words, the card at the end, forking and pausing."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.problems import Trouble
from core.domain.sessions import SessionRow
from tests.ui.hands import click, find, press, write
from tests.ui.timeline.journals import START, ListedRows, letter
from ui.theme import Look, load_fonts
from ui.timeline.endings import EndCard, Made, RunEnd, Verdict
from ui.timeline.page import RunPage
from ui.timeline.strip import JourneyStrip

ROW = SessionRow("s", "Mould complaint", "~/letters", "qwen3-32b", "done", runs=2, rounds=9, tokens=48_200)


@pytest.fixture
def rows() -> ListedRows:
    made = letter()
    for number in range(60):
        made.add("read", object=f"photo-{number}.jpg", run=2, number=24 + number)
    return made


@pytest.fixture
def page(qtbot: QtBot, look: Look, rows: ListedRows) -> RunPage:
    made = RunPage(look, rows, clock=lambda: START + 252 * SECOND)
    qtbot.addWidget(made)
    made.resize(900, 640)
    with qtbot.waitExposed(made):
        made.show()
    made.show_session(ROW._replace(rows=len(rows.rows)))
    made.view.settle()
    return made


def test_another_view_stands_in_a_tab(page: RunPage, qtbot: QtBot) -> None:
    other = QWidget()
    page.add_tab("other", "Other", other)
    page.show_figures("other", [("+84", "done"), ("−3", "failed")])
    bar = find(page, QTabBar, "run.tabs")
    assert bar.accessibleTabName(1) == "Other +84 −3"
    width = bar.tabRect(1).width()
    page.show_figures("other", [])
    assert bar.tabRect(1).width() < width
    with qtbot.waitSignal(page.tab_chosen) as told:
        click(bar, bar.tabRect(1).center())
    assert told.args == ["other"] and other.isVisible() and not page.view.isVisible()
    page.show_tab("steps")
    assert page.tab == "steps" and page.view.isVisible()


def test_the_strip_goes_where_it_is_clicked(page: RunPage, rows: ListedRows) -> None:
    strip = find(page, JourneyStrip, "run.strip")
    assert page.view.indexAt(QPoint(5, 5)).row() != 0
    click(strip, QPoint(17, 20))
    assert page.view.indexAt(QPoint(5, 5)).row() == 0 and not page.view.following
    assert strip.accessibleName().startswith("Journey: rows 1 to ")
    press(strip, Qt.Key.Key_End)
    assert page.view.following


def test_a_drag_along_the_strip_scrolls(page: RunPage, qtbot: QtBot) -> None:
    strip = find(page, JourneyStrip, "run.strip")
    seen = []
    page.view.seen.connect(lambda first, last: seen.append(first))
    for x in (20, 200, 500, 880):
        click(strip, QPoint(x, 20))
    assert seen == sorted(seen) and seen[0] < seen[-1]


def test_words_are_found_and_gone_through(page: RunPage, qtbot: QtBot, rows: ListedRows) -> None:
    click(find(page, QPushButton, "run.find.open"))
    field, count = find(page, QLineEdit, "run.find.words"), find(page, QLabel, "run.find.count")
    chosen: list[int] = []
    page.step_chosen.connect(lambda step: chosen.append(step.row))
    write(field, "photo-")
    qtbot.waitUntil(lambda: count.text() == "1 of 60")
    press(field, Qt.Key.Key_Return)
    assert count.text() == "2 of 60"
    press(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    press(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert count.text() == "60 of 60"
    assert chosen == [len(rows.rows) - 60, len(rows.rows) - 59, len(rows.rows) - 60, len(rows.rows) - 1]
    field.setText("no such word")
    qtbot.waitUntil(lambda: count.text() == "Nothing found")
    press(field, Qt.Key.Key_Escape)
    assert not field.isVisible() and find(page, QPushButton, "run.find.open").isVisible()


def test_words_deep_in_a_long_reply_are_marked_and_seen(page: RunPage, qtbot: QtBot, rows: ListedRows) -> None:
    around = "".join(f"Paragraph {number}\n\n" for number in range(60))
    said = f"The needle\n\n{around}A **needle** case\n\n{around}"
    reply = rows.add("reply", said=said, object="needle case", run=2)
    page.show_session(ROW._replace(id="t", rows=len(rows.rows)))
    page.view.settle()
    click(find(page, QPushButton, "run.find.open"))
    field, count = find(page, QLineEdit, "run.find.words"), find(page, QLabel, "run.find.count")
    write(field, "needle case")
    qtbot.waitUntil(lambda: count.text() == "1 of 1")
    shown = page.view.replies.shown[reply.row]
    marked = shown.extraSelections()
    assert [mark.cursor.selectedText() for mark in marked] == ["needle", "needle", "case"]
    assert page.view.viewport().rect().contains(shown.cursorRect(marked[-1].cursor).translated(shown.pos()))
    field.setText("paragraph 5")
    qtbot.waitUntil(lambda: count.text() == "Nothing found")
    assert shown.extraSelections() == []
    page.view.replies.mark(reply.row, "paragraph 5")
    assert [mark.cursor.selectedText() for mark in shown.extraSelections()].count("5") == 2
    press(field, Qt.Key.Key_Escape)
    assert shown.extraSelections() == []


def test_a_run_forks_where_a_step_is_chosen(page: RunPage, qtbot: QtBot, rows: ListedRows) -> None:
    button = find(page, QToolButton, "run.fork")
    with qtbot.waitSignal(page.fork) as told:
        click(button)
    assert told.args == [0]
    page.select_row(4)
    with qtbot.waitSignal(page.fork) as told:
        click(button)
    assert told.args == [rows.rows[4].last]


def test_a_run_pauses_and_goes_on(page: RunPage, qtbot: QtBot) -> None:
    pause, resume = find(page, QPushButton, "run.pause"), find(page, QPushButton, "run.resume")
    page.show_session(ROW._replace(status="running", rows=12))
    assert pause.isVisible() and not resume.isVisible()
    with qtbot.waitSignal(page.pause):
        click(pause)
    page.show_session(ROW._replace(status="paused", rows=12))
    assert resume.isVisible() and not pause.isVisible() and find(page, QPushButton, "run.stop").isVisible()
    with qtbot.waitSignal(page.resume):
        click(resume)


@pytest.fixture
def around(qtbot: QtBot, look: Look) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def card(qtbot: QtBot, look: Look, around: QWidget) -> EndCard:
    rows, parent = letter(), around
    made = EndCard(look, parent)
    files = (Made("complaint.md", 84, 3, True), *(Made(f"photos/{n}.jpg", 0, 0, False) for n in range(5)))
    made.show_end(rows.rows[11], RunEnd(rows.rows[1], files))
    made.setGeometry(0, 0, 700, made.tall())
    parent.resize(720, 200)
    with qtbot.waitExposed(parent):
        parent.show()
    return made


def test_a_click_on_a_row_chooses_it(page: RunPage, qtbot: QtBot, rows: ListedRows) -> None:
    page.view.go_to_row(4)
    place = page.view.visualRect(page.model.index(4, 0)).center()
    with qtbot.waitSignal(page.step_chosen) as told:
        click(page.view.viewport(), place)
    assert told.args == [rows.rows[4]]


def test_a_card_tells_what_the_run_came_to(card: EndCard, qtbot: QtBot) -> None:
    assert card.accessibleName() == "End of the run: Done, 12 rounds · 6m 40s, 21.3k tok, Did it help?"
    files = find(card, QPushButton, "end.files")
    assert files.text() == "1 file made · 5 files changed"
    with qtbot.waitSignal(card.changes_wanted) as told:
        click(files)
    assert told.args == [""]
    with qtbot.waitSignal(card.changes_wanted) as told:
        click(find(card, QPushButton, "end.file"))
    assert told.args == ["complaint.md"]
    assert find(card, QPushButton, "end.more").text() == "+2"


@pytest.mark.colours
def test_a_card_grows_with_the_letters(card: EndCard, look: Look) -> None:
    before = find(card, QLabel, "end.status").font().pixelSize()
    card.restyle(Look(look.theme, load_fonts(2.0)))
    assert find(card, QLabel, "end.status").font().pixelSize() == 2 * before


def test_a_card_that_is_seen_stays_as_high_when_its_files_change(card: EndCard) -> None:
    card.show_end(letter().rows[11], RunEnd(None, (Made("complaint.md", 85, 3, True),)))
    assert card.tall() == card.height()


def test_a_card_of_a_run_that_failed_says_why_and_what_to_do(card: EndCard, qtbot: QtBot) -> None:
    step = letter().rows[11]._replace(status="failed", object="It failed.")
    end = RunEnd(None, (), trouble=Trouble("It failed.", "why " * 100, "Wait."), again=True)
    card.show_end(step, end)
    assert find(card, QLabel, "end.cure").text().endswith("why \nWait.") and "Wait." in card.accessibleName()
    assert card.tall(300) > card.tall(700) > card.tall(2_000)
    with qtbot.waitSignal(card.again_wanted):
        click(find(card, QPushButton, "end.again"))
    card.show_end(step, end._replace(again=False))
    assert not find(card, QPushButton, "end.again").isVisible()


def test_a_verdict_is_given_noted_and_taken_back(card: EndCard, qtbot: QtBot) -> None:
    step, end = letter().rows[11], RunEnd(None)
    note = find(card, QLineEdit, "end.note")
    assert not note.isVisible()
    with qtbot.waitSignal(card.judged) as told:
        click(find(card, QToolButton, "end.down"))
    assert told.args == [2, "down", ""]
    card.show_end(step, end._replace(verdict=Verdict("down", "")))
    card.resize(700, card.tall())
    assert note.isVisible() and find(card, QToolButton, "end.down").isChecked()
    write(note, "too long")
    with qtbot.waitSignal(card.judged) as told:
        press(note, Qt.Key.Key_Return)
    assert told.args == [2, "down", "too long"]
    card.show_end(step, end._replace(verdict=Verdict("down", "too long")))
    with qtbot.waitSignal(card.judged) as told:
        click(find(card, QToolButton, "end.down"))
    assert told.args == [2, "", ""]


def test_a_card_stands_at_the_end_of_its_run(page: RunPage, rows: ListedRows, look: Look) -> None:
    page.view.select_row(11)
    page.view.settle()
    (card,) = page.view.findChildren(EndCard)
    assert card.isVisible() and card.width() <= 760
    page.tell_ends(lambda step: RunEnd(None, (), Verdict("up", "")))
    page.view.settle()
    assert find(card, QToolButton, "end.up").isChecked()
    page.restyle(look)
