"""The columns of the window, by themselves."""

from pathlib import Path

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from ui.columns import Columns
from ui.shell import SIDEBAR
from ui.theme import Look, load_fonts
from ui.window_state import WindowState


def test_the_sidebar_grows_and_shrinks_with_the_letters(look: Look, qtbot: QtBot, tmp_path: Path) -> None:
    sidebar = QWidget()
    columns = Columns(look, WindowState(tmp_path), sidebar, QWidget(), QWidget())
    qtbot.addWidget(columns)
    columns.resize(1600, 600)
    columns.show()
    columns.share_out()
    assert sidebar.width() == SIDEBAR
    columns.restyle(Look(look.theme, load_fonts(2.0)))
    assert sidebar.width() == 2 * SIDEBAR
    columns.restyle(look)
    assert sidebar.width() == SIDEBAR
