"""The sidebar by keyboard and mouse, with real widgets."""

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPushButton, QTableView, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find, press, write
from tests.ui.sessions.test_model import FakeClock
from tests.ui.sessions.test_rows import DAY, MINUTE, row
from ui.sessions.panel import SessionsPanel
from ui.sessions.session_rows import SessionHit, SessionLine
from ui.sessions.sessions_model import Role, SessionsModel
from ui.style.theme import Look, load_fonts, load_theme


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def panel(look: Look, clock: FakeClock, qtbot: QtBot) -> SessionsPanel:
    made = SessionsPanel(look, home="/home/me", clock=clock)
    qtbot.addWidget(made)
    made.resize(264, 600)
    made.show()
    return made


def view(panel: SessionsPanel) -> QTableView:
    return find(panel, QTableView, "sessions.list")


def current(panel: SessionsPanel) -> object:
    return view(panel).currentIndex().data(Role.SESSION)


def test_an_empty_list_says_what_to_do(panel: SessionsPanel) -> None:
    panel.show_sessions([])
    empty = find(panel, QLabel, "sessions.empty")
    assert empty.isVisible() and "New session" in empty.text()
    panel.show_sessions([row("a")])
    assert not empty.isVisible() and view(panel).isVisible()


def test_new_session_by_button(panel: SessionsPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.new_session_requested):
        click(find(panel, QPushButton, "sessions.new"))


def test_arrows_skip_headings_and_enter_opens(panel: SessionsPanel, qtbot: QtBot) -> None:
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


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_status_stays_visible_beside_a_long_folder(panel: SessionsPanel, look: Look, scale: float) -> None:
    panel.restyle(Look(look.theme, load_fonts(scale)))
    panel.resize(round(264 * scale), 600)
    pictures = []
    for steps in (12, 13):  # at the end of the line
        long_row = row("a", "interrupted", folder="/srv/" + "w" * 40, imported_from="Claude Code:7f", steps=steps)
        panel.show_sessions([long_row])
        pictures.append(view(panel).viewport().grab().toImage())
    assert pictures[0] != pictures[1]


def test_click_opens_a_row_and_no_heading(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    met: list[str] = []
    panel.chosen.connect(met.append)
    for number in (0, 2):
        place = view(panel).visualRect(view(panel).model().index(number, 0)).center()
        click(view(panel).viewport(), place)
    assert met == ["b"]


def test_headings_are_lower_than_rows(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a", "waiting"), row("b"), row("c", age=DAY)])
    panel.show_sessions([row("a"), row("b"), row("c", age=DAY)])
    heights = [view(panel).rowHeight(number) for number in range(5)]
    assert heights[0] == heights[3] < heights[1] == heights[2] == heights[4]


def test_heights_stay_right_when_a_session_moves(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.update_session(row("b", "waiting"))
    heights = [view(panel).rowHeight(number) for number in range(4)]
    assert heights[0] == heights[2] < heights[1] == heights[3]


def test_the_current_row_follows_a_moving_session(panel: SessionsPanel, qtbot: QtBot) -> None:
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
    with qtbot.waitSignal(panel.search_changed) as searched:
        write(field, "title b")
    assert searched.args == ["title b"]
    assert view(panel).model().rowCount() == 2
    panel.show_hits("title b", [SessionHit("a", "in its text")])
    assert view(panel).model().rowCount() == 4
    press(field, Qt.Key.Key_Escape)
    assert not field.isVisible() and view(panel).model().rowCount() == 3


def test_late_results_of_an_earlier_query_are_ignored(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.open_search()
    write(find(panel, QLineEdit, "sessions.search"), "kind:command")
    panel.show_hits("kind:command", [SessionHit("b", "make all", 7)])
    panel.show_hits("kind:comm", [SessionHit("a", "as text", 3)])
    assert hit_positions(panel) == [("b", 7)]


def test_search_results_start_at_the_top(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row(f"letter {n}", age=MINUTE) for n in range(60)])
    bar = view(panel).verticalScrollBar()
    bar.setValue(bar.maximum())
    click(find(panel, QToolButton, "sessions.search_button"))
    write(find(panel, QLineEdit, "sessions.search"), "letter")
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert bar.value() == 0


def test_a_hit_is_opened_at_its_position(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "inside")
    panel.show_hits("inside", [SessionHit("b", "what is inside", 12)])
    assert hit_positions(panel) == [("b", 12)]
    with qtbot.waitSignal(panel.hit_chosen) as chosen:
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
    assert field.hasFocus(), "there is no row to focus"


def test_the_shortcut_focuses_an_open_search_again(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "title")
    press(field, Qt.Key.Key_Down)
    assert not field.hasFocus()
    panel.open_search()
    assert field.hasFocus() and field.selectedText() == "title"


def test_enter_in_the_search_opens_the_first_hit(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "title a")
    with qtbot.waitSignal(panel.chosen) as chosen:
        press(field, Qt.Key.Key_Return)
    assert chosen.args == ["a"]


def test_ages_and_days_are_updated(panel: SessionsPanel, clock: FakeClock) -> None:
    panel.show_sessions([row("a")])
    clock.now += DAY
    panel.refresh_ages()
    assert view(panel).model().index(0, 0).data() == "Yesterday"


@pytest.mark.colors
def test_the_session_on_display_is_marked(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    panel.mark_current("b")
    place = view(panel).visualRect(view(panel).model().index(2, 0))
    at = view(panel).viewport().mapTo(panel, QPoint(20, place.bottom() - 3))
    marked = panel.grab().toImage()
    panel.mark_current("")
    plain = panel.grab().toImage()
    assert marked.pixelColor(at) != plain.pixelColor(at)
    edge, above = QPoint(2, at.y()), QPoint(2, at.y() - place.height())
    assert marked.pixelColor(edge) == marked.pixelColor(above), "the view does not paint its own selection below"


def test_moving_rows_keep_the_selection(panel: SessionsPanel) -> None:
    def selected() -> list[object]:
        return [index.data(Role.SESSION) for index in view(panel).selectedIndexes()]

    panel.show_sessions([row("a"), row("b"), row("c")])
    panel.mark_current("b")
    for state in ("waiting", "running", "done"):
        panel.update_session(row("b", state))
        assert (current(panel), selected()) == ("b", ["b"]), "no neighbor may be selected and deleted with it"
    panel.show_sessions([row("b"), row("a"), row("c")])
    assert selected() == ["b"]
    press(view(panel), Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    several = selected()
    panel.update_session(row("b", "waiting"))
    assert len(several) == 2 and set(selected()) == set(several)
    panel.remove_sessions([str(name) for name in several])
    assert selected() == ["c"] == [current(panel)]


def test_the_list_does_not_scroll_when_another_session_is_shown(panel: SessionsPanel) -> None:
    panel.show_sessions([row(f"s{number}", age=number * MINUTE) for number in range(60)])
    assert view(panel).verticalScrollBar().maximum() > 0
    panel.mark_current("s50")
    assert current(panel) == "s50" and view(panel).verticalScrollBar().value() == 0
    press(view(panel), Qt.Key.Key_Down)
    assert current(panel) == "s51" and view(panel).verticalScrollBar().value() > 0


def test_keys_apply_to_the_displayed_session_wherever_it_was_chosen(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    view(panel).setCurrentIndex(view(panel).model().index(1, 0))
    panel.mark_current("b")
    assert current(panel) == "b"
    press(view(panel), Qt.Key.Key_Up)
    panel.update_session(row("b", age=MINUTE))
    assert current(panel) == "a", "an update keeps the focus that the user moved"
    panel.mark_current("c")
    panel.update_session(row("c"))
    assert current(panel) == "c", "the session is listed after it was marked"
    press(view(panel), Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    several = view(panel).selectedIndexes()
    panel.mark_current("b")
    assert len(several) == 2 and view(panel).selectedIndexes() == several


def test_a_session_opened_with_a_ctrl_shortcut_is_the_only_one_selected(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b", age=2 * MINUTE)])
    panel.mark_current("a")
    jump = QShortcut(QKeySequence("Ctrl+J"), panel)
    jump.activated.connect(lambda: panel.mark_current("b"))
    press(view(panel), Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    assert current(panel) == "b"
    assert [index.data(Role.SESSION) for index in view(panel).selectedIndexes()] == ["b"], (
        "so that Delete affects no other session"
    )


@pytest.mark.colors
def test_theme_changes_at_run_time(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a")])
    before = view(panel).rowHeight(1)
    panel.restyle(Look(load_theme("light"), load_fonts(1.5)))
    assert view(panel).rowHeight(1) > before
    assert not panel.grab().isNull()


@pytest.mark.colors
def test_three_thousand_sessions_are_listed_at_once(panel: SessionsPanel) -> None:
    panel.show_sessions([row(f"s{number}", age=number * 20 * MINUTE) for number in range(3000)])
    assert not panel.grab().isNull()
    assert view(panel).model().rowCount() > 3000


def test_filters_are_typed_shown_as_chips_and_removed(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a", "failed", folder="/w/one"), row("b", folder="/w/two"), row("c", folder="/w/one")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "folder:one status:failed")
    assert listed(panel) == ["a"]
    chips = [find(panel, QPushButton, f"sessions.filter.{key}") for key in ("folder", "status")]
    assert [chip.text() for chip in chips] == ["folder: one", "status: failed"]
    assert chips[0].accessibleName() == "Remove the filter folder: one"
    click(chips[1])
    assert field.text() == "folder:one" and listed(panel) == ["a", "c"]
    press(field, Qt.Key.Key_Escape)
    assert listed(panel) == ["a", "b", "c"] and not find(panel, QWidget, "sessions.filters").isVisible()


def test_tab_goes_from_the_search_over_the_filters_to_the_list(panel: SessionsPanel, qtbot: QtBot) -> None:
    panel.show_sessions([row("a", "failed", folder="/w/one"), row("b", folder="/w/two")])
    panel.open_search()
    field = find(panel, QLineEdit, "sessions.search")
    write(field, "folder:one status:failed")
    chip = find(panel, QPushButton, "sessions.filter.status")
    qtbot.waitUntil(lambda: chip.isVisible() and panel.isActiveWindow())
    visited = []
    for _ in range(5):
        focused = panel.focusWidget()
        assert focused is not None
        visited.append(focused.objectName().removeprefix("sessions."))
        press(focused, Qt.Key.Key_Tab)
    assert visited == ["search", "add_filter", "filter.folder", "filter.status", "list"]
    press(chip, Qt.Key.Key_Space)
    assert field.text() == "folder:one"


def test_the_menu_adds_and_removes_a_filter(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a", "failed", folder="/w/one & more"), row("b", folder="/w/two")])
    panel.open_search()
    add, field = find(panel, QToolButton, "sessions.add_filter"), find(panel, QLineEdit, "sessions.search")

    def choose(part: str, text: str) -> None:
        click(add)
        menu = find(panel, QMenu, "sessions.filter_menu")
        submenu = next(action.menu() for action in menu.actions() if action.text() == part)
        assert isinstance(submenu, QMenu)
        next(action for action in submenu.actions() if action.text() == text).trigger()
        menu.close()
        QApplication.sendPostedEvents(menu, QEvent.Type.DeferredDelete)

    choose("Folder", "one && more")
    assert field.text() == 'folder:"/w/one & more"' and listed(panel) == ["a"]
    choose("Status", "Done")
    assert listed(panel) == [] and "matches" in find(panel, QLabel, "sessions.empty").text()
    choose("Folder", "one && more")
    assert field.text() == "status:done" and listed(panel) == ["b"]


def test_a_filter_for_a_kind_of_step_lists_steps_and_no_titles(panel: SessionsPanel) -> None:
    panel.show_sessions([row("a"), row("b")])
    panel.open_search()
    write(find(panel, QLineEdit, "sessions.search"), "title kind:command")
    assert listed(panel) == []
    panel.show_hits("title kind:command", [SessionHit("b", "make all", 7)])
    assert listed(panel) == ["b"] and hit_positions(panel) == [("b", 7)]


def listed(panel: SessionsPanel) -> list[str]:
    model = view(panel).model()
    names = [model.index(number, 0).data(Role.SESSION) for number in range(model.rowCount())]
    return sorted(name for name in names if name)


def hit_positions(panel: SessionsPanel) -> list[tuple[str, int]]:
    """Return the session and the event number of each full-text match."""
    model = view(panel).model()
    assert isinstance(model, SessionsModel)
    items = [model.item(index) for index in model.session_indexes()]
    return [(item.row.id, item.seq) for item in items if isinstance(item, SessionLine) and item.seq]
