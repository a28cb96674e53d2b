"""The widths of the window's columns, tested without the rest of the window."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from ui.base.window_state import WindowState
from ui.shell.window_columns import STEP_PANE, CentralView, WindowColumns
from ui.shell.window_frame import SIDEBAR
from ui.style.theme import Look, load_fonts


@pytest.fixture
def columns(look: Look, qtbot: QtBot, tmp_path: Path) -> WindowColumns:
    sidebar, middle, pane = QWidget(), QWidget(), QWidget()
    sidebar.setObjectName("sidebar")
    middle.setObjectName("middle")
    pane.setObjectName("pane")
    made = WindowColumns(look, WindowState(tmp_path), sidebar, middle, pane)
    qtbot.addWidget(made)
    made.resize(2400, 600)
    made.show()
    made.apply_widths()
    made.fit(CentralView(shows_steps=True))
    return made


def widths(columns: WindowColumns) -> tuple[int, int]:
    return find(columns, QWidget, "sidebar").width(), find(columns, QWidget, "pane").width()


def test_both_columns_follow_the_text_size(look: Look, columns: WindowColumns) -> None:
    assert widths(columns) == (SIDEBAR, STEP_PANE)
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    assert widths(columns) == (2 * SIDEBAR, 2 * STEP_PANE)
    columns.restyle(look)
    assert widths(columns) == (SIDEBAR, STEP_PANE)


def test_the_step_pane_gives_way_if_large_text_leaves_the_middle_no_room(
    look: Look, columns: WindowColumns, qtbot: QtBot
) -> None:
    pane = find(columns, QWidget, "pane")
    columns.resize(1440, 600)
    columns.restyle(Look(look.theme, load_fonts(1.5)))
    assert pane.isHidden()
    columns.toggle_sidebar()
    assert pane.isVisible(), "without the sidebar there is room for it"
    columns.toggle_sidebar()
    assert pane.isHidden()
    columns.restyle(look)
    qtbot.waitUntil(lambda: widths(columns) == (SIDEBAR, STEP_PANE))


def test_the_step_pane_takes_no_room_without_a_step(look: Look, qtbot: QtBot, tmp_path: Path) -> None:
    pane = QWidget(minimumWidth=400)
    columns = WindowColumns(look, WindowState(tmp_path), QWidget(), QWidget(), pane)
    qtbot.addWidget(columns)
    columns.show()
    assert pane.isHidden() and columns.minimumSizeHint().width() < 400


def test_large_text_does_not_give_the_sidebar_too_much_of_a_small_window(look: Look, columns: WindowColumns) -> None:
    columns.resize(1280, 600)
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    assert widths(columns)[0] == round(0.3 * 1280)
    columns.save_widths()
    columns.restyle(look)
    assert widths(columns)[0] == SIDEBAR, "the usual width comes back"
    columns.moveSplitter(600, 1)
    columns.save_widths()
    columns.apply_widths()
    assert widths(columns)[0] == 600, "the user may make it wider"


def test_the_sidebar_follows_the_width_of_the_window_at_large_text(look: Look, columns: WindowColumns) -> None:
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    for width, sidebar in ((1280, round(0.3 * 1280)), (1600, round(0.3 * 1600)), (2400, 2 * SIDEBAR)):
        columns.resize(width, 600)
        columns.fit(CentralView(shows_steps=True))
        assert widths(columns)[0] == sidebar
    columns.moveSplitter(600, 1)
    columns.resize(1600, 600)
    columns.fit(CentralView(shows_steps=True))
    assert widths(columns)[0] == 600, "the user has chosen this width"


def test_the_sidebar_that_made_room_for_the_step_pane_comes_back_with_its_end(
    look: Look, columns: WindowColumns
) -> None:
    sidebar, pane = find(columns, QWidget, "sidebar"), find(columns, QWidget, "pane")
    columns.resize(1280, 600)
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    assert sidebar.isVisible() and pane.isHidden()
    columns.toggle_pane()
    assert sidebar.isHidden() and pane.isVisible()
    columns.toggle_pane()
    assert sidebar.isVisible() and pane.isHidden()
    columns.toggle_sidebar()
    columns.toggle_pane()
    columns.toggle_pane()
    assert sidebar.isHidden(), "the user has hidden it"


def test_another_session_in_a_cramped_split_view_keeps_the_sidebar_hidden_until_the_user_shows_it(
    columns: WindowColumns,
) -> None:
    columns.resize(700, 600)
    columns.fit(CentralView(shows_steps=True, is_split=True))
    sidebar = find(columns, QWidget, "sidebar")
    assert sidebar.isHidden()
    columns.toggle_sidebar()
    assert not sidebar.isHidden()


def test_the_step_pane_is_opened_and_closed_again_and_again_where_there_is_little_room(
    look: Look, columns: WindowColumns
) -> None:
    pane, middle = find(columns, QWidget, "pane"), find(columns, QWidget, "middle")
    columns.resize(1280, 600)
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    for _ in range(3):
        columns.open_pane()
        assert pane.isVisible() and middle.isVisible() and middle.width() > pane.width()
        columns.close_pane()
        assert pane.isHidden() and find(columns, QWidget, "sidebar").isVisible()
    columns.restyle(look)
    assert pane.isVisible(), "it was closed only for lack of room"


def test_a_step_pane_without_room_beside_the_steps_takes_their_place(
    look: Look, columns: WindowColumns, qtbot: QtBot
) -> None:
    pane, middle = find(columns, QWidget, "pane"), find(columns, QWidget, "middle")
    columns.resize(900, 600)
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    assert pane.isHidden()
    with qtbot.waitSignal(columns.center_covered) as covered:
        columns.open_pane()
    assert covered.args == [True] and pane.width() > 0.99 * columns.width() and middle.isHidden()
    columns.uncover_center()
    assert pane.isHidden() and middle.isVisible()
    columns.open_pane()
    columns.fit(CentralView(shows_steps=True, session="another"))
    assert pane.isHidden() and middle.isVisible(), "the user went to another session"
    columns.open_pane()
    columns.fit(CentralView())
    assert pane.isHidden() and middle.isVisible(), "the user went to a page"
