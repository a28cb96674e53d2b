"""Around the steps: tabs, minimap, find bar, run end card, forking and pausing."""

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.problems import ErrorDetails
from core.domain.sessions import SessionRow
from core.timeline.session_activity import UserRating
from tests.ui.hands import click, find, press, write
from tests.ui.timeline.session_data import START, MemorySteps, letter_session
from ui.style.theme import Look, load_fonts, load_theme
from ui.timeline.minimap import Minimap
from ui.timeline.run_end_card import RunEnd, RunEndCard, RunFileChange
from ui.timeline.run_page import RunPage
from ui.widgets.tab_strip import TabCount

ROW = SessionRow("s", "Mould complaint", "~/letters", "qwen3-32b", "done", runs=2, turns=9, tokens=48_200)


@pytest.fixture
def rows() -> MemorySteps:
    made = letter_session()
    for number in range(60):
        made.add("read", object=f"photo-{number}.jpg", run=2, number=24 + number)
    return made


@pytest.fixture
def page(qtbot: QtBot, look: Look, rows: MemorySteps) -> RunPage:
    made = RunPage(look, rows, clock=lambda: START + 252 * SECOND)
    qtbot.addWidget(made)
    made.resize(900, 640)
    with qtbot.waitExposed(made):
        made.show()
    made.show_session(ROW._replace(rows=len(rows.rows)))
    made.view.update_layout()
    return made


def test_views_can_be_added_as_tabs(page: RunPage, qtbot: QtBot) -> None:
    other = QWidget()
    page.add_tab("other", "Other", other)
    page.show_counts("other", [TabCount("+84", "done"), TabCount("−3", "failed")])
    bar = find(page, QTabBar, "run.tabs")
    assert bar.accessibleTabName(1) == "Other +84 −3"
    width = bar.tabRect(1).width()
    page.show_counts("other", [])
    assert bar.tabRect(1).width() < width
    with qtbot.waitSignal(page.tab_chosen) as emitted:
        click(bar, bar.tabRect(1).center())
    assert emitted.args == ["other"] and other.isVisible() and not page.view.isVisible()
    page.show_tab("steps")
    assert page.current_tab == "steps" and page.view.isVisible()


def test_click_on_the_minimap_scrolls(page: RunPage, rows: MemorySteps) -> None:
    strip = find(page, Minimap, "run.strip")
    assert page.view.indexAt(QPoint(5, 5)).row() != 0
    click(strip, QPoint(17, 20))
    assert page.view.indexAt(QPoint(5, 5)).row() == 0 and not page.view.following
    assert strip.accessibleName().startswith("Minimap: rows 1 to ")
    press(strip, Qt.Key.Key_End)
    assert page.view.following


def test_the_minimap_is_a_slider_for_screen_readers(page: RunPage, rows: MemorySteps) -> None:
    strip = find(page, Minimap, "run.strip")
    told = QAccessible.queryAccessibleInterface(strip)
    values = told.valueInterface()
    assert told.role() == QAccessible.Role.Slider
    assert (values.minimumValue(), values.maximumValue()) == (0, len(rows.rows) - 1)
    assert values.currentValue() == page.view.indexAt(QPoint(5, 5)).row()
    values.setCurrentValue(0)
    assert page.view.indexAt(QPoint(5, 5)).row() == 0


def test_drag_on_the_minimap_scrolls(page: RunPage, qtbot: QtBot) -> None:
    strip = find(page, Minimap, "run.strip")
    seen = []
    page.view.visible_rows_changed.connect(lambda first, last: seen.append(first))
    for x in (20, 200, 500, 880):
        click(strip, QPoint(x, 20))
    assert seen == sorted(seen) and seen[0] < seen[-1]


def test_find_steps_through_matches(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
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
    qtbot.waitUntil(lambda: count.text() == "No matches")
    press(field, Qt.Key.Key_Escape)
    assert not field.isVisible() and find(page, QPushButton, "run.find.open").isVisible()


def test_match_deep_in_a_long_reply_is_highlighted_and_visible(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
    filler = "".join(f"Paragraph {number}\n\n" for number in range(60))
    said = f"The needle\n\n{filler}A **needle** case\n\n{filler}"
    reply = rows.add("reply", text=said, object="needle case", run=2)
    page.show_session(ROW._replace(id="t", rows=len(rows.rows)))
    page.view.update_layout()
    click(find(page, QPushButton, "run.find.open"))
    field, count = find(page, QLineEdit, "run.find.words"), find(page, QLabel, "run.find.count")
    write(field, "needle case")
    qtbot.waitUntil(lambda: count.text() == "1 of 1")
    shown = page.view.replies.shown[reply.row]
    marked = shown.extraSelections()
    assert [mark.cursor.selectedText() for mark in marked] == ["needle", "needle", "case"]
    assert page.view.viewport().rect().contains(shown.cursorRect(marked[-1].cursor).translated(shown.pos()))
    field.setText("paragraph 5")
    qtbot.waitUntil(lambda: count.text() == "No matches")
    assert shown.extraSelections() == []
    page.view.replies.highlight(reply.row, "paragraph 5")
    assert [mark.cursor.selectedText() for mark in shown.extraSelections()].count("5") == 2
    press(field, Qt.Key.Key_Escape)
    assert shown.extraSelections() == []


def test_highlighted_matches_follow_the_theme_and_the_text_size(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
    reply = rows.add("reply", text="A **needle** case", run=2)
    page.show_session(ROW._replace(id="t", rows=len(rows.rows)))
    page.view.update_layout()
    page.view.select_row(reply.row)
    page.view.replies.highlight(reply.row, "needle")
    colors = []
    for name, scale in (("light", 1.0), ("dark", 2.0)):
        page.restyle(Look(load_theme(name), load_fonts(scale)))
        page.view.update_layout()
        (mark,) = page.view.replies.shown[reply.row].extraSelections()
        assert mark.cursor.selectedText() == "needle"
        colors.append(mark.format.background().color().name())
    assert colors[0] != colors[1]


def test_a_run_forks_at_the_selected_step(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
    button = find(page, QToolButton, "run.fork")
    with qtbot.waitSignal(page.fork) as emitted:
        click(button)
    assert emitted.args == [0]
    page.select_row(4)
    with qtbot.waitSignal(page.fork) as emitted:
        click(button)
    assert emitted.args == [rows.rows[4].last_seq]


def test_pause_and_resume(page: RunPage, qtbot: QtBot) -> None:
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
def parent_widget(qtbot: QtBot, look: Look) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def card(qtbot: QtBot, look: Look, parent_widget: QWidget) -> RunEndCard:
    rows, parent = letter_session(), parent_widget
    made = RunEndCard(look, parent)
    files = (
        RunFileChange("complaint.md", 84, 3, True),
        *(RunFileChange(f"photos/{n}.jpg", 0, 0, False) for n in range(5)),
    )
    made.show_end(rows.rows[11], RunEnd(rows.rows[1], files))
    made.setGeometry(0, 0, 700, made.height_at())
    parent.resize(720, 200)
    with qtbot.waitExposed(parent):
        parent.show()
    return made


def test_a_click_on_a_row_selects_it(page: RunPage, qtbot: QtBot, rows: MemorySteps) -> None:
    page.view.go_to_row(4)
    place = page.view.visualRect(page.model.index(4, 0)).center()
    with qtbot.waitSignal(page.step_chosen) as emitted:
        click(page.view.viewport(), place)
    assert emitted.args == [rows.rows[4]]


def test_card_shows_the_result_of_the_run(card: RunEndCard, qtbot: QtBot) -> None:
    assert card.accessibleName() == "End of the run: Done, 12 turns · 6m 40s, 21.3k tok, Did it help?"
    files = find(card, QPushButton, "end.files")
    assert files.text() == "1 file created · 5 files changed"
    with qtbot.waitSignal(card.changes_requested) as emitted:
        click(files)
    assert emitted.args == [""]
    with qtbot.waitSignal(card.changes_requested) as emitted:
        click(find(card, QPushButton, "end.file"))
    assert emitted.args == ["complaint.md"]
    assert find(card, QPushButton, "end.more").text() == "+2"


def test_card_names_as_many_files_as_it_has_room_for(card: RunEndCard) -> None:
    rows = letter_session()
    files = tuple(RunFileChange(f"src/a_module_with_a_long_name_{n}.py", 80, 0, True) for n in range(8))
    card.show_end(rows.rows[11], RunEnd(rows.rows[1], files))
    more = card.findChildren(QPushButton, "end.more")[-1]  # the one of the files shown before is about to be deleted
    for width, shown in ((1600, 4), (700, 2), (330, 1)):
        card.resize(width, card.height_at())
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        links = [link for link in card.findChildren(QPushButton, "end.file") if not link.isHidden()]
        assert (len(links), more.text()) == (shown, f"+{8 - shown}"), width
        assert all(link.width() >= link.sizeHint().width() for link in (*links, more)), width


@pytest.mark.colors
def test_card_grows_with_the_text_size(card: RunEndCard, look: Look) -> None:
    before = find(card, QLabel, "end.status").font().pixelSize()
    card.restyle(Look(look.theme, load_fonts(2.0)))
    assert find(card, QLabel, "end.status").font().pixelSize() == 2 * before


def test_visible_card_keeps_its_height_when_files_change(card: RunEndCard) -> None:
    card.show_end(letter_session().rows[11], RunEnd(None, (RunFileChange("complaint.md", 85, 3, True),)))
    assert card.height_at() == card.height()


def test_card_of_a_failed_run_shows_cause_and_fix(card: RunEndCard, qtbot: QtBot) -> None:
    step = letter_session().rows[11]._replace(status="failed", object="It failed.")
    end = RunEnd(None, (), error=ErrorDetails("It failed.", "why " * 100, "Wait."), can_retry=True)
    card.show_end(step, end)
    assert find(card, QLabel, "end.cure").text().endswith("why \nWait.") and "Wait." in card.accessibleName()
    assert card.height_at(300) > card.height_at(700) > card.height_at(2_000)
    with qtbot.waitSignal(card.retry_requested):
        click(find(card, QPushButton, "end.again"))
    with qtbot.waitSignal(card.model_change_requested):
        click(find(card, QPushButton, "end.model"))
    card.show_end(step, end._replace(can_retry=False))
    assert not find(card, QPushButton, "end.again").isVisible()


def test_rating_is_given_annotated_and_removed(card: RunEndCard, qtbot: QtBot) -> None:
    step, end = letter_session().rows[11], RunEnd(None)
    note = find(card, QLineEdit, "end.note")
    assert not note.isVisible()
    with qtbot.waitSignal(card.rated) as emitted:
        click(find(card, QToolButton, "end.down"))
    assert emitted.args == [2, "down", ""]
    card.show_end(step, end._replace(rating=UserRating("down", "")))
    card.resize(700, card.height_at())
    assert note.isVisible() and find(card, QToolButton, "end.down").isChecked()
    write(note, "too long")
    with qtbot.waitSignal(card.rated) as emitted:
        press(note, Qt.Key.Key_Return)
    assert emitted.args == [2, "down", "too long"]
    card.show_end(step, end._replace(rating=UserRating("down", "too long")))
    with qtbot.waitSignal(card.rated) as emitted:
        click(find(card, QToolButton, "end.down"))
    assert emitted.args == [2, "", ""]


def test_assistive_technology_rates_a_run_without_a_click(card: RunEndCard, qtbot: QtBot) -> None:
    with qtbot.waitSignal(card.rated) as emitted:
        find(card, QToolButton, "end.up").toggle()
    assert emitted.args[1] == "up"


def test_card_is_placed_at_the_end_of_its_run(page: RunPage, rows: MemorySteps, look: Look) -> None:
    page.view.select_row(11)
    page.view.update_layout()
    (card,) = page.view.findChildren(RunEndCard)
    assert card.isVisible() and card.width() <= 760
    page.set_run_end_source(lambda step: RunEnd(None, (), UserRating("up", "")))
    page.view.update_layout()
    assert find(card, QToolButton, "end.up").isChecked()
    page.restyle(look)


def test_card_of_a_run_that_did_nothing_says_so(card: RunEndCard) -> None:
    step = letter_session().rows[11]
    card.show_end(step, RunEnd(None, idle=True))
    assert find(card, QLabel, "end.status").text() == "Ended without doing anything"
    assert "Ended without doing anything" in card.accessibleName()
    card.show_end(step, RunEnd(None))
    assert find(card, QLabel, "end.status").text() == "Done"
