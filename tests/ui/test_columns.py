"""The widths of the window's columns, tested without the rest of the window."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from ui.base.window_state import WindowState
from ui.shell.window_columns import STEP_PANE, WindowColumns
from ui.shell.window_frame import SIDEBAR
from ui.style.theme import Look, load_fonts


@pytest.fixture
def columns(look: Look, qtbot: QtBot, tmp_path: Path) -> WindowColumns:
    sidebar, middle, pane = QWidget(), QWidget(), QWidget()
    sidebar.setObjectName("sidebar")
    pane.setObjectName("pane")
    made = WindowColumns(look, WindowState(tmp_path), sidebar, middle, pane)
    qtbot.addWidget(made)
    made.resize(2400, 600)
    made.show()
    made.apply_widths()
    made.fit_pane(True)
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
    columns.setSizes([600, 400, 0])
    columns.save_widths()
    columns.apply_widths()
    assert widths(columns)[0] == 600, "the user may make it wider"


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
    columns.fit_pane(True, double=True)
    sidebar = find(columns, QWidget, "sidebar")
    assert sidebar.isHidden() and columns.folds_for_split
    columns.toggle_sidebar()
    assert not sidebar.isHidden() and not columns.folds_for_split
