"""Parts of a window never appear as windows of their own while they are built."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.ask.permissions import command
from tests.ui.ask.questions import CLOSED, OPEN, TONE
from tests.ui.window_watch import WindowWatch
from ui.ask.cards import PermissionCard, QuestionCard
from ui.ask.dialogs import PermissionDialog, QuestionDialog
from ui.start.new_session_form import NewSessionForm
from ui.style.theme import Look

REQUESTS = (command("ls -l", "s1-r1c1", patterns=("ls *",)), command("ls -a", "s1-r1c2", patterns=("ls *",)))
PARTS: dict[str, Callable[[Look], QWidget]] = {
    "question": lambda look: QuestionCard(look, TONE),
    "question without options": lambda look: QuestionCard(look, OPEN),
    "question without a field": lambda look: QuestionCard(look, CLOSED),
    "question in a dialog": lambda look: QuestionDialog(look, TONE),
    "permission": lambda look: PermissionCard(look, REQUESTS[:1]),
    "several permissions": lambda look: PermissionCard(look, REQUESTS),
    "permission in a dialog": lambda look: PermissionDialog(look, REQUESTS),
    "new session": NewSessionForm,
}


@pytest.mark.parametrize("name", PARTS)
def test_no_part_appears_as_a_window_of_its_own(name: str, look: Look, qapp: QApplication, qtbot: QtBot) -> None:
    with WindowWatch(qapp) as watch:
        qtbot.addWidget(PARTS[name](look))
    assert watch.found == []


def test_the_watch_notices_a_part_that_is_shown_too_early(qapp: QApplication, qtbot: QtBot) -> None:
    whole, part = QWidget(), QLabel()
    qtbot.addWidget(whole)
    with WindowWatch(qapp) as watch:
        part.setVisible(True)
        QVBoxLayout(whole).addWidget(part)
    assert watch.found == ["QLabel"]
