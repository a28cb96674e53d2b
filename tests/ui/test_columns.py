"""The columns of the window, by themselves."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from ui.columns import STEP_PANE, Columns
from ui.shell import SIDEBAR
from ui.theme import Look, load_fonts
from ui.window_state import WindowState


@pytest.fixture
def columns(look: Look, qtbot: QtBot, tmp_path: Path) -> Columns:
    sidebar, middle, pane = QWidget(), QWidget(), QWidget()
    sidebar.setObjectName("sidebar")
    pane.setObjectName("pane")
    made = Columns(look, WindowState(tmp_path), sidebar, middle, pane)
    qtbot.addWidget(made)
    made.resize(2400, 600)
    made.show()
    made.share_out()
    made.fit_pane(True)
    return made


def widths(columns: Columns) -> tuple[int, int]:
    return find(columns, QWidget, "sidebar").width(), find(columns, QWidget, "pane").width()


def test_both_columns_grow_and_shrink_with_the_letters(look: Look, columns: Columns) -> None:
    assert widths(columns) == (SIDEBAR, STEP_PANE)
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    assert widths(columns) == (2 * SIDEBAR, 2 * STEP_PANE)
    columns.restyle(look)
    assert widths(columns) == (SIDEBAR, STEP_PANE)


def test_the_step_gives_way_where_large_letters_leave_the_middle_no_room(
    look: Look, columns: Columns, qtbot: QtBot
) -> None:
    pane = find(columns, QWidget, "pane")
    columns.resize(1440, 600)
    columns.restyle(Look(look.theme, load_fonts(1.5)))
    assert pane.isHidden()
    columns.turn_sidebar()
    assert pane.isVisible(), "without the sidebar there is room for it"
    columns.turn_sidebar()
    assert pane.isHidden()
    columns.restyle(look)
    qtbot.waitUntil(lambda: widths(columns) == (SIDEBAR, STEP_PANE))


def test_the_step_takes_no_room_before_there_is_one(look: Look, qtbot: QtBot, tmp_path: Path) -> None:
    pane = QWidget(minimumWidth=400)
    columns = Columns(look, WindowState(tmp_path), QWidget(), QWidget(), pane)
    qtbot.addWidget(columns)
    columns.show()
    assert pane.isHidden() and columns.minimumSizeHint().width() < 400
