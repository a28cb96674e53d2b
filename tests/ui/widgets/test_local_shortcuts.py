"""The shortcuts of a page also work in its text fields, which do not insert the digit of Alt+1."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QVBoxLayout
from pytestqt.qtbot import QtBot

from tests.ui.hands import press, write
from ui.widgets.local_shortcuts import LocalShortcuts


@pytest.mark.parametrize("kind", [QLineEdit, QPlainTextEdit])
def test_a_shortcut_with_a_digit_inserts_nothing(kind: type[QLineEdit | QPlainTextEdit], qtbot: QtBot) -> None:
    page, field, chosen = LocalShortcuts(), kind(), list[int]()
    qtbot.addWidget(page)
    page.local_shortcuts = {"Alt+3": lambda: chosen.append(3)}
    QVBoxLayout(page).addWidget(field)
    with qtbot.waitActive(page):
        page.show()
    field.setFocus()
    press(field, Qt.Key.Key_3, Qt.KeyboardModifier.AltModifier)
    write(field, "a3")
    press(field, Qt.Key.Key_3, Qt.KeyboardModifier.AltModifier)
    text = field.text() if isinstance(field, QLineEdit) else field.toPlainText()
    assert text == "a3" and chosen == [3, 3]
