"""The first screen and the empty centre."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtWidgets import QComboBox, QFrame, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find, press, write
from ui.dropping import folder_in
from ui.start.begin import Offer
from ui.start.panel import StartPanel
from ui.theme import Look, load_fonts, load_theme


def test_the_demo_starts(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="/home/me/.local/share/journeyman")
    qtbot.addWidget(panel)
    panel.show()
    with qtbot.waitSignal(panel.demo_wanted):
        click(find(panel, QPushButton, "start.demo"))


def test_it_says_where_data_is_kept(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="/data/<b>x</b>")
    qtbot.addWidget(panel)
    assert "/data/<b>x</b>" in find(panel, QLabel, "start.place").text()


def test_what_a_low_window_has_no_room_for_is_scrolled_to(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.resize(700, 240)
    panel.show()
    qtbot.waitUntil(panel.isActiveWindow)
    assert panel.height() == 240, "it asks for no more"
    first, last = find(panel, QPushButton, "start.local"), find(panel, QPushButton, "start.others")
    assert last.visibleRegion().isEmpty() and last.height() >= last.sizeHint().height()
    first.setFocus()
    for button in (first, find(panel, QPushButton, "start.demo")):
        press(button, Qt.Key.Key_Tab)
    assert last.hasFocus() and not last.visibleRegion().isEmpty()


def test_every_button_on_it_is_connected(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    shown = [button.objectName() for button in panel.findChildren(QPushButton) if button.isVisible()]
    assert shown == ["start.local", "start.key", "start.demo", "start.others"]
    assert not find(panel, QPushButton, "start.key").isEnabled(), "nobody knows yet whose key it would be"
    with qtbot.waitSignal(panel.look_wanted):
        click(find(panel, QPushButton, "start.local"))
    with qtbot.waitSignal(panel.others_wanted):
        click(find(panel, QPushButton, "start.others"))


def test_without_a_model_it_says_so_and_what_to_do(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    none, demo = find(panel, QLabel, "start.none"), find(panel, QPushButton, "start.demo")
    assert none.text() == "Looking for models…"
    panel.show_offers([LOCKED], "")
    words = " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())
    assert "No model is set up yet" in words and "No model server runs on this computer" in words
    assert "Anthropic" in words and demo.property("tone") == "primary"
    panel.show_offers([Offer("ollama", "Ollama", here=True), LOCKED], "")
    words = " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())
    assert "Ollama runs on this computer and has no model" in words
    panel.show_offers([HERE, LOCKED], "")
    assert not none.isVisible() and demo.property("tone") == ""


def test_what_works_at_once_is_the_first_thing_to_press(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    demo = find(panel, QPushButton, "start.demo")
    panel.show_offers([LOCKED], "")
    assert demo.property("tone") == "primary"
    panel.show_offers([HERE, LOCKED], "")
    assert not demo.property("tone")


HERE = Offer("ollama", "Ollama", ("ollama/qwen3", "ollama/llama3"), here=True)
LOCKED = Offer("anthropic", "Anthropic", needs_key=True)


def test_a_run_begins_when_there_is_all_it_takes(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    panel.show_offers([HERE, LOCKED], "")
    go, task = find(panel, QPushButton, "start.go"), find(panel, QPlainTextEdit, "start.task")
    assert not go.isEnabled() and "folder" in find(panel, QLabel, "start.missing").text()
    panel.begin_in("/home/me/letters")
    write(task, "Write it")
    assert go.isEnabled()
    find(panel, QComboBox, "start.model").setCurrentIndex(1)
    panel.show_offers([HERE, LOCKED], "")
    with qtbot.waitSignal(panel.begun) as begun:
        press(task, Qt.Key.Key_Return)
    assert begun.args == ["Write it", "/home/me/letters", "ollama/llama3"]
    click(find(panel, QPushButton, "start.local"))
    assert find(panel, QComboBox, "start.model").currentText() == "ollama/qwen3"


def test_a_key_is_given_without_being_shown(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    panel.show_offers([LOCKED], "")
    click(find(panel, QPushButton, "start.key"))
    field = find(panel, QLineEdit, "key.value")
    assert field.echoMode() == QLineEdit.EchoMode.Password
    write(field, "sk-1")
    with qtbot.waitSignal(panel.key_given) as given:
        press(field, Qt.Key.Key_Return)
    assert given.args == ["anthropic", "sk-1"]


def test_a_folder_that_is_dropped_is_known_from_anything_else(tmp_path: Path) -> None:
    folder, file = QMimeData(), QMimeData()
    folder.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    file.setUrls([QUrl.fromLocalFile(__file__)])
    assert (folder_in(folder), folder_in(file), folder_in(QMimeData())) == (str(tmp_path), "", "")


def test_the_card_stays_in_the_middle(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.resize(1200, 800)
    panel.show()
    card = find(panel, QFrame, "start.card")
    assert abs(card.geometry().center().x() - 600) <= 1 and card.width() <= 680
    panel.resize(520, 600)
    assert card.width() < 520


@pytest.mark.colours
def test_themes_change_at_run_time(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    other = Look(load_theme("light"), load_fonts(2.0))
    qtbot.addWidget(panel)
    panel.restyle(other)
    assert not panel.grab().isNull()
    assert find(panel, QLabel, "start.title").font().pixelSize() == 40
    card = find(panel, QFrame, "start.card")
    large = card.maximumWidth()
    panel.restyle(look)
    assert large == 2 * card.maximumWidth()
