"""The panel by keyboard and mouse, with real widgets."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QTableView, QToolButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find, press, write
from tests.ui.sessions.test_model import Wall
from tests.ui.sessions.test_rows import DAY, MINUTE, row
from ui.sessions.model import Role
from ui.sessions.panel import SessionsPanel
from ui.sessions.rows import Hit
from ui.theme import Look, load_fonts, load_theme


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def panel(look: Look, wall: Wall, qtbot: QtBot) -> SessionsPanel:
    made = SessionsPanel(look, home="/home/me", clock=wall)
    qtbot.addWidget(made)
    made.resize(264, 600)
    made.show()
    return made


def view(panel: SessionsPanel) -> QTableView:
    return find(panel, QTableView, "sessions.list")


def current(panel: SessionsPanel) -> object:
    return view(panel).currentIndex().data(Role.SESSION)


def test_empty_list_says_what_to_do(panel: SessionsPanel) -> None:
    panel.show_sessions([])
    empty = find(panel, QLabel, "sessions.empty")
    assert empty.isVisible() and "New run" in empty.text()
    panel.show_sessions([row("a")])
    assert not empty.isVisible() and view(panel).isVisible()


def test_new_run_by_button(panel: SessionsPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.new_run):
        click(find(panel, QPushButton, "sessions.new"))


def test_arrows_pass_over_headings_and_enter_chooses(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a", "waiting"), row("b"), row("c", age=DAY)])
    view(panel).setFocus()
    met = []
    for _ in range(3):
        press(view(panel), Qt.Key.Key_Down)
        met.append(current(panel))
    assert met == ["a", "b", "c"]
    press(view(panel), Qt.Key.Key_Up)
    with qtbot.waitSignal(panel.chosen) as chosen:
        press(view(panel), Qt.Key.Key_Return)
    assert chosen.args == ["b"]
    for _ in range(5):
        press(view(panel), Qt.Key.Key_Up)
    assert current(panel) == "a"


def test_click_chooses_a_line_and_no_heading(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    met: list[str] = []
    panel.chosen.connect(met.append)
    for number in (0, 2):
        place = view(panel).visualRect(view(panel).model().index(number, 0)).center()
        click(view(panel).viewport(), place)
    assert met == ["b"]


def test_headings_are_lower_than_lines(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a", "waiting"), row("b"), row("c", age=DAY)])
    panel.show_sessions([row("a"), row("b"), row("c", age=DAY)])
    heights = [view(panel).rowHeight(number) for number in range(5)]
    assert heights[0] == heights[3] < heights[1] == heights[2] == heights[4]


def test_heights_stay_right_when_a_session_moves(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.update_session(row("b", "waiting"))
    heights = [view(panel).rowHeight(number) for number in range(4)]
    assert heights[0] == heights[2] < heights[1] == heights[3]


def test_keyboard_place_follows_a_moving_session(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b")])
    view(panel).setFocus()
    press(view(panel), Qt.Key.Key_Down)
    assert current(panel) == "b"
    panel.update_session(row("b", "waiting"))
    assert current(panel) == "b"
    panel.show_sessions([row("a"), row("b"), row("c", "running")])
    assert current(panel) == "b"


def test_search_opens_filters_and_closes(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b")])
    field = find(panel, QLineEdit, "sessions.search")
    assert not field.isVisible()
    click(find(panel, QToolButton, "sessions.search_button"))
    assert field.isVisible() and field.hasFocus()
    with qtbot.waitSignal(panel.searched) as searched:
        write(field, "title b")
    assert searched.args == ["title b"]
    assert view(panel).model().rowCount() == 2
    panel.show_hits([Hit("a", "in its text")])
    assert view(panel).model().rowCount() == 4
    press(field, Qt.Key.Key_Escape)
    assert not field.isVisible() and view(panel).model().rowCount() == 3


def test_what_is_searched_begins_at_the_top(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row(f"letter {n}", age=MINUTE) for n in range(60)])
    bar = view(panel).verticalScrollBar()
    bar.setValue(bar.maximum())
    click(find(panel, QToolButton, "sessions.search_button"))
    write(find(panel, QLineEdit, "sessions.search"), "letter")
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert bar.value() == 0


def test_a_hit_is_chosen_with_its_place(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "inside")
    panel.show_hits([Hit("b", "what is inside", 12)])
    assert panel.places() == [("b", 12)]
    with qtbot.waitSignal(panel.place_chosen) as chosen:
        press(field, Qt.Key.Key_Return)
    assert chosen.args == ["b", 12]


def test_search_without_a_match_says_so(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "nowhere")
    empty = find(panel, QLabel, "sessions.empty")
    assert empty.isVisible() and "nowhere" in empty.text()
    press(field, Qt.Key.Key_Down)
    assert field.hasFocus(), "there is no line to go to"


def test_search_that_is_open_takes_the_keyboard_again(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "title")
    press(field, Qt.Key.Key_Down)
    assert not field.hasFocus()
    panel.open_search()
    assert field.hasFocus() and field.selectedText() == "title"


def test_enter_in_the_search_chooses_the_first(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "title a")
    with qtbot.waitSignal(panel.chosen) as chosen:
        press(field, Qt.Key.Key_Return)
    assert chosen.args == ["a"]


def test_ages_and_days_go_on(panel: SessionsPanel, wall: Wall) -> None:
    panel.show_sessions([row("a")])
    wall.now += DAY
    panel.refresh_ages()
    assert view(panel).model().index(0, 0).data() == "Yesterday"


@pytest.mark.colours
def test_the_session_on_display_is_marked(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    panel.mark("b")
    place = view(panel).visualRect(view(panel).model().index(2, 0))
    at = view(panel).viewport().mapTo(panel, QPoint(20, place.bottom() - 3))
    marked = panel.grab().toImage()
    panel.mark("")
    plain = panel.grab().toImage()
    assert marked.pixelColor(at) != plain.pixelColor(at)
    edge, above = QPoint(2, at.y()), QPoint(2, at.y() - place.height())
    assert marked.pixelColor(edge) == marked.pixelColor(above), "the fill of the view itself is not under it"


def test_lines_that_move_take_the_selection_along(panel: SessionsPanel) -> None:
    def selected() -> list[object]:
        return [index.data(Role.SESSION) for index in view(panel).selectedIndexes()]

    panel.show_sessions([row("a"), row("b"), row("c")])
    panel.mark("b")
    for state in ("waiting", "running", "done"):
        panel.update_session(row("b", state))
        assert (current(panel), selected()) == ("b", ["b"]), "and no neighbour is thrown away with it"
    panel.show_sessions([row("b"), row("a"), row("c")])
    assert selected() == ["b"]
    press(view(panel), Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    several = selected()
    panel.update_session(row("b", "waiting"))
    assert len(several) == 2 and set(selected()) == set(several)
    panel.drop_sessions([str(name) for name in several])
    assert selected() == ["c"] == [current(panel)]


def test_the_list_stays_where_it_is_when_another_session_is_shown(panel: SessionsPanel) -> None:
    panel.show_sessions([row(f"s{number}", age=number * MINUTE) for number in range(60)])
    assert view(panel).verticalScrollBar().maximum() > 0
    panel.mark("s50")
    assert current(panel) == "s50" and view(panel).verticalScrollBar().value() == 0
    press(view(panel), Qt.Key.Key_Down)
    assert current(panel) == "s51" and view(panel).verticalScrollBar().value() > 0


def test_keys_are_meant_for_the_session_on_display_wherever_it_was_chosen(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    view(panel).setCurrentIndex(view(panel).model().index(1, 0))
    panel.mark("b")
    assert current(panel) == "b"
    press(view(panel), Qt.Key.Key_Up)
    panel.update_session(row("b", age=MINUTE))
    assert current(panel) == "a", "who moves in the list is left there"
    panel.mark("c")
    panel.update_session(row("c"))
    assert current(panel) == "c", "it comes after it was shown"
    press(view(panel), Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    several = view(panel).selectedIndexes()
    panel.mark("b")
    assert len(several) == 2 and view(panel).selectedIndexes() == several


def test_a_session_shown_by_a_key_with_ctrl_is_the_only_one_selected(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    panel.mark("a")
    jump = QShortcut(QKeySequence("Ctrl+J"), panel)
    jump.activated.connect(lambda: panel.mark("b"))
    press(view(panel), Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    assert current(panel) == "b"
    assert [index.data(Role.SESSION) for index in view(panel).selectedIndexes()] == ["b"], "Delete is for no other"


@pytest.mark.colours
def test_theme_changes_at_run_time(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a")])
    before = view(panel).rowHeight(1)
    panel.restyle(Look(load_theme("light"), load_fonts(1.5)))
    assert view(panel).rowHeight(1) > before
    assert not panel.grab().isNull()


@pytest.mark.colours
def test_three_thousand_sessions_are_listed_at_once(panel: SessionsPanel) -> None:
    panel.show_sessions([row(f"s{number}", age=number * 20 * MINUTE) for number in range(3000)])
    assert not panel.grab().isNull()
    assert view(panel).model().rowCount() > 3000
