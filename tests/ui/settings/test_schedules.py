"""The Schedules page: the form, and the rows of existing schedules."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.schedule import Schedule
from tests.ui.hands import click, find, press, write
from ui.settings.schedules_page import ScheduleDraft, SchedulesPage
from ui.style.theme import Look

ONE = Schedule("k3f9", "Look after it.", "/home/me/x", "", 0, 1_700_000_000_000_000, "1d")


@pytest.fixture
def page(look: Look, qtbot: QtBot) -> SchedulesPage:
    made = SchedulesPage(look)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_form_can_be_saved_only_when_complete(page: SchedulesPage) -> None:
    told: list[ScheduleDraft] = []
    page.added.connect(told.append)
    add = find(page, QPushButton, "settings.schedules.add")
    task = find(page, QLineEdit, "settings.schedules.task")
    write(task, "Look")
    press(task, Qt.Key.Key_Return)
    write(find(page, QLineEdit, "settings.schedules.folder"), "/tmp")
    assert not add.isEnabled() and told == []  # neither a time nor an interval
    write(at := find(page, QLineEdit, "settings.schedules.at"), "18:30")
    press(at, Qt.Key.Key_Return)
    find(page, QComboBox, "settings.schedules.often").setCurrentIndex(3)
    find(page, QComboBox, "settings.schedules.missed").setCurrentIndex(1)
    at.clear()
    click(add)
    assert told == [ScheduleDraft("Look", "/tmp", "18:30", "", "run"), ScheduleDraft("Look", "/tmp", "", "1d", "skip")]
    page.clear()
    assert not add.isEnabled() and task.text() == ""


def test_rows_show_schedules_and_errors(page: SchedulesPage) -> None:
    assert find(page, QLabel, "settings.schedules.none").isVisible()
    told: list[str] = []
    page.removed.connect(told.append)
    page.session_requested.connect(told.append)
    page.show_schedules([replace(ONE, last_session="abcdefgh", missed_count=2, error="No model is set up.")])
    words = " ".join(label.text() for label in page.findChildren(QLabel))
    assert "every day, next" in words and "without a session: 2" in words and "No model is set up." in words
    click(find(page, QPushButton, "settings.schedule.k3f9.session"))
    click(find(page, QPushButton, "settings.schedule.k3f9.remove"))
    assert told == ["abcdefgh", "k3f9"]
