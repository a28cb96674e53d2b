"""The toast: its message is announced, and so is that its action was undone."""

from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find
from ui.style.theme import Look
from ui.widgets.toast import Toast


def test_a_message_and_its_undo_are_announced(look: Look, qtbot: QtBot, announcements: list[str]) -> None:
    undone = list[str]()
    toast = Toast(look)
    qtbot.addWidget(toast)
    toast.show_message("Moved to the trash", lambda: undone.append("the session"))
    assert toast.can_undo and announcements == ["Moved to the trash"]
    click(find(toast, QPushButton, "toast.undo"))
    assert undone == ["the session"] and announcements == ["Moved to the trash", "Undone"]
    toast.undo()
    assert len(announcements) == 2


def test_a_message_with_undo_stays_longer(look: Look, qtbot: QtBot) -> None:
    toast = Toast(look)
    qtbot.addWidget(toast)
    toast.show_message("Exported the memories")
    plain_ms = toast.remaining_ms
    toast.show_message("Memory forgotten", lambda: None)
    assert 0 < plain_ms < toast.remaining_ms
