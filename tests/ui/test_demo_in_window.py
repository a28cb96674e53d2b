"""The demo in the real window: its letter follows the answer."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton

from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until


@pytest.mark.parametrize(
    ("key", "included", "excluded"),
    [
        (Qt.Key.Key_1, "I will\nreport the damp to the council", "Copy to"),
        (Qt.Key.Key_2, "Could you have a look soon", "notice"),
        (Qt.Key.Key_3, "Copy to: Housing Standards", "I will\nreport"),
    ],
)
def test_the_letter_of_the_demo_follows_the_answer(
    qapp: QApplication, home: Path, key: Qt.Key, included: str, excluded: str
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        click(find(window.start, QPushButton, "start.demo"))
        await until(person.card, "the question")
        card = window.view.asking.card
        assert card is not None
        press(card.form, key)
        press(card.form, Qt.Key.Key_Return)
        session = window.view.session
        await until(lambda: window.row(session).status == "done", "the end of the demo")
        letter = (Path(window.row(session).folder) / "complaint.md").read_text()
        assert included in letter and excluded not in letter

    live(qapp, home, act)
