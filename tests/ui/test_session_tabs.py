"""The session tab bar on its own; `test_split_view` tests it in the window."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.ui.sessions.test_rows import row
from ui.shell.session_tabs import SessionTabs
from ui.style.theme import Look, load_fonts


@pytest.mark.colors
def test_titles_keep_their_text_size_when_another_session_is_current(look: Look, qtbot: QtBot) -> None:
    around, tabs = QWidget(), SessionTabs(look, row)
    tabs.setParent(around)
    qtbot.addWidget(around)
    tabs.open(["a", "b"])
    tabs.set_current("a")
    tabs.restyle(Look(look.theme, load_fonts(2.0)))
    tabs.set_current("b")
    assert tabs.font().pixelSize() == 2 * look.fonts.text.pixelSize()
