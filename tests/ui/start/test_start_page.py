"""The start screen."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QAccessible, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QFrame,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
)
from pytestqt.qtbot import QtBot

from core.models.providers import LOCAL_PROVIDERS
from tests.ui.hands import click, find, press, write
from ui.base.drop_filter import dragged_folder
from ui.start.new_session import NewSession, ProviderOffer
from ui.start.panel import StartPanel
from ui.style.theme import Look, load_fonts, load_theme
from ui.widgets.accessible_roles import install_accessible_roles


def test_the_demo_starts(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="/home/me/.local/share/journeyman")
    qtbot.addWidget(panel)
    panel.show()
    with qtbot.waitSignal(panel.demo_requested):
        click(find(panel, QPushButton, "start.demo"))


def test_another_default_model_is_used_by_the_next_session(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    offers = (ProviderOffer("work", "Work", ("work/large", "work/small")),)
    models = find(panel, QComboBox, "start.model")
    panel.show_providers(offers, "work/large")
    panel.form.choose_model("work/small")
    panel.show_providers(offers, "work/large")
    assert models.currentData() == "work/small", "the choice for this session"
    panel.form.choose_default_model()
    assert models.currentData() == "work/large"
    panel.show_providers(offers, "work/small")
    assert models.currentData() == "work/small", "the settings were changed"


def test_after_the_default_model_was_removed_one_must_be_chosen(look: Look, qtbot: QtBot) -> None:
    install_accessible_roles()
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    panel.choose_folder("/home/me/letters")
    panel.form.fill("Write it")
    models, go = find(panel, QComboBox, "start.model"), find(panel, QPushButton, "start.go")
    panel.show_providers((ProviderOffer("box", "Box", ("box/small",)), HERE), "box/small")
    assert go.isEnabled()
    panel.show_providers((HERE,), "")
    assert models.currentData() is None and models.placeholderText() == "Choose a model"
    assert not go.isEnabled() and find(panel, QLabel, "start.missing").text() == "Choose a model."
    assert "Choose a model" in QAccessible.queryAccessibleInterface(models).text(QAccessible.Text.Description)
    panel.show_providers((HERE,), "")
    assert models.currentData() is None, "also when the models are listed again"
    models.setCurrentIndex(0)
    assert go.isEnabled()


@pytest.mark.parametrize(
    ("names", "last", "chosen"),
    [
        (("ollama/qwen3", "ollama/llama3"), "", None),
        (("ollama/qwen3", "ollama/llama3"), "ollama/llama3", "ollama/llama3"),
        (("ollama/qwen3", "ollama/llama3"), "ollama/removed", None),
        (("ollama/qwen3",), "", "ollama/qwen3"),
    ],
)
def test_without_a_default_model_the_one_of_the_last_session_is_chosen_or_none(
    look: Look, qtbot: QtBot, names: tuple[str, ...], last: str, chosen: str | None
) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.choose_folder("/home/me/letters")
    panel.form.fill("Write it")
    panel.show_providers([HERE._replace(models=names)], "", last)
    assert find(panel, QComboBox, "start.model").currentData() == chosen
    assert find(panel, QLabel, "start.missing").text() == ("" if chosen else "Choose a model.")
    assert find(panel, QPushButton, "start.go").isEnabled() == bool(chosen)


@pytest.mark.parametrize("typed", ["letters", "../work/letters", "~/letters"])
def test_enter_in_the_path_field_of_the_folder_picker_chooses_the_folder(
    look: Look, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "work"))
    letters = tmp_path / "work" / "letters"
    letters.mkdir(parents=True)
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show_providers([HERE], "ollama/qwen3")
    panel.form.set_folder(str(tmp_path / "work"))
    panel.show()
    click(find(panel, QPushButton, "start.folder"))
    field = find(find(panel, QFileDialog, "start.folders"), QLineEdit, "fileNameEdit")
    qtbot.waitUntil(field.hasFocus)
    write(field, typed)
    press(field, Qt.Key.Key_Return)
    assert panel.form.folder == str(letters)


def test_it_says_where_data_is_kept(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="/data/<b>x</b>")
    qtbot.addWidget(panel)
    assert "/data/<b>x</b>" in find(panel, QLabel, "start.place").text()


def test_what_is_typed_while_the_models_are_loaded_is_in_the_task(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    shortcut = QShortcut(QKeySequence("Q"), panel)
    pressed: list[bool] = []
    shortcut.activated.connect(lambda: pressed.append(True))
    panel.show()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.focus_content()
    write(panel, "Quicklyy")
    press(panel, Qt.Key.Key_Backspace)
    panel.show_providers((), "work/large")
    task = find(panel, QPlainTextEdit, "start.task")
    assert task.hasFocus() and task.toPlainText() == "Quickly" and not pressed
    write(task, " now")
    assert task.toPlainText() == "Quickly now"
    panel.form.restore_draft("Half a task")
    assert task.toPlainText() == "Half a task\nQuickly now" and task.textCursor().atEnd()


def test_a_low_window_scrolls(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.resize(700, 240)
    panel.show()
    qtbot.waitUntil(panel.isActiveWindow)
    assert panel.height() == 240, "it fits into this height"
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
    assert not find(panel, QPushButton, "start.key").isEnabled(), "no provider is known yet"
    with qtbot.waitSignal(panel.refresh_requested):
        click(find(panel, QPushButton, "start.local"))
    with qtbot.waitSignal(panel.import_requested):
        click(find(panel, QPushButton, "start.others"))


def test_without_a_model_the_page_says_what_to_do(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    none, demo = find(panel, QLabel, "start.none"), find(panel, QPushButton, "start.demo")
    assert none.text() == "Looking for models…"
    panel.show_providers([LOCKED], "")
    words = " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())
    assert "No model is set up yet" in words and "No local model provider is running" in words
    assert "Anthropic" in words and demo.property("tone") == "primary"
    panel.show_providers([ProviderOffer("ollama", "Ollama", is_local=True), LOCKED], "")
    words = " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())
    assert "Ollama is running on this computer but has no models" in words
    panel.show_providers([HERE, LOCKED], "")
    assert not none.isVisible() and demo.property("tone") == ""


def test_the_demo_is_the_primary_button_until_a_provider_is_ready(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    demo = find(panel, QPushButton, "start.demo")
    panel.show_providers([LOCKED], "")
    assert demo.property("tone") == "primary"
    panel.show_providers([HERE, LOCKED], "")
    assert not demo.property("tone")


HERE = ProviderOffer("ollama", "Ollama", ("ollama/qwen3", "ollama/llama3"), is_local=True)
LOCKED = ProviderOffer("anthropic", "Anthropic", needs_key=True)


def test_a_run_starts_when_everything_is_filled_in(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    panel.show_providers([HERE, LOCKED], "", "ollama/qwen3")
    go, task = find(panel, QPushButton, "start.go"), find(panel, QPlainTextEdit, "start.task")
    assert not go.isEnabled() and "folder" in find(panel, QLabel, "start.missing").text()
    panel.form.set_recent_folders(["/home/me/other"])
    panel.resize(1180, 800)
    QApplication.sendPostedEvents()
    models, top = find(panel, QComboBox, "start.model"), QPoint()
    assert abs(go.mapTo(panel, top).y() - models.mapTo(panel, top).y()) < 8, "the reason does not move the button down"
    panel.choose_folder("/home/me/letters")
    write(task, "Write it")
    assert go.isEnabled()
    find(panel, QComboBox, "start.model").setCurrentIndex(1)
    panel.show_providers([HERE, LOCKED], "")
    with qtbot.waitSignal(panel.start_requested) as begun:
        press(task, Qt.Key.Key_Return)
    assert begun.args == [NewSession("Write it", "/home/me/letters", "ollama/llama3")]
    click(find(panel, QPushButton, "start.local"))
    assert find(panel, QComboBox, "start.model").currentText() == "ollama/qwen3"


def test_a_key_is_entered_without_being_shown(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.show()
    panel.show_providers([LOCKED], "")
    click(find(panel, QPushButton, "start.key"))
    field = find(panel, QLineEdit, "key.value")
    assert field.echoMode() == QLineEdit.EchoMode.Password
    write(field, "sk-1")
    with qtbot.waitSignal(panel.api_key_entered) as given:
        press(field, Qt.Key.Key_Return)
    assert given.args == ["anthropic", "sk-1"]


def test_a_dropped_folder_is_distinguished_from_other_data(tmp_path: Path) -> None:
    folder, file = QMimeData(), QMimeData()
    folder.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    file.setUrls([QUrl.fromLocalFile(__file__)])
    assert (dragged_folder(folder), dragged_folder(file), dragged_folder(QMimeData())) == (str(tmp_path), "", "")


def test_the_card_stays_centered(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    panel.resize(1200, 800)
    panel.show()
    card = find(panel, QFrame, "start.card")
    assert abs(card.geometry().center().x() - 600) <= 1 and card.width() <= 680
    panel.resize(520, 600)
    assert card.width() < 520


@pytest.mark.colors
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


def test_it_names_every_provider_that_is_detected_on_this_computer(look: Look, qtbot: QtBot) -> None:
    panel = StartPanel(look, data_folder="x")
    qtbot.addWidget(panel)
    for offers in ((), (ProviderOffer("openai", "OpenAI"),)):
        panel.show_providers(offers, "")
        labels = find(panel, QFrame, "start.local.entry").findChildren(QLabel)
        text = "".join(label.text() for label in labels)
        assert [provider.title for provider in LOCAL_PROVIDERS if provider.title not in text] == []
