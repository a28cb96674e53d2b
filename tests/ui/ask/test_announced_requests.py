"""What is announced of a request: its card once, and each scope of an approval with its consequence."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.ask.permissions import EDIT
from tests.ui.ask.questions import TONE, noon
from tests.ui.hands import find, press
from ui.ask.ask_area import AskArea
from ui.ask.dialogs import PermissionDialog
from ui.style.theme import Look


@pytest.fixture
def show(look: Look, qtbot: QtBot) -> Callable[[bool], AskArea]:
    windows = list[QWidget]()  # keeps the windows alive for the duration of the test

    def showing(announces_requests: bool) -> AskArea:
        window = QWidget()
        windows.append(window)
        window.resize(780, 800)
        column = QVBoxLayout(window)
        area = AskArea(look, announces_requests=announces_requests)
        field = QLineEdit()
        column.addWidget(area)
        column.addWidget(field)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitExposed(window)
        field.setFocus()
        area.fit(800)
        return area

    return showing


def test_a_card_that_gets_the_focus_at_once_is_not_announced_too(
    show: Callable[[bool], AskArea], qtbot: QtBot, announcements: list[str]
) -> None:
    area = show(True)
    area.show_requests("s", "Letter", [TONE])
    qtbot.waitUntil(lambda: bool(announcements))
    assert announcements == [f"Question: {TONE.text}"]
    area.show_requests("s", "Letter", [])
    area.show_requests("s", "Letter", [EDIT])
    area.focus_card()
    assert area.card is not None
    qtbot.waitUntil(lambda: area.card is not None and not area.card._announcement_timer.isActive())
    assert announcements == [f"Question: {TONE.text}"]


def test_a_card_in_a_row_that_is_announced_is_not_announced_too(
    show: Callable[[bool], AskArea], announcements: list[str]
) -> None:
    area = show(False)
    area.show_requests("s", "Letter", [TONE])
    assert area.card is not None and area.card.isVisible()
    assert not area.card._announcement_timer.isActive() and announcements == []


def test_a_scope_chosen_by_its_number_is_announced_with_its_consequence(
    look: Look, qtbot: QtBot, announcements: list[str]
) -> None:
    dialog = PermissionDialog(look, [EDIT], context="Letter", clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    announcements.clear()
    press(dialog.form, Qt.Key.Key_2)
    assert announcements == ["Until this run ends. Matching files are changed without asking until this run ends."]
    always = find(dialog, QPushButton, "consent.scope.always")
    assert always.accessibleDescription().startswith(
        "4 of 4. Matching files are changed without asking in every folder"
    )
