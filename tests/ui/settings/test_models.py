"""Servers, their models and keys, by hand: what is unknown is said, and every button says what it means."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.problems import Trouble
from core.domain.rules import Rule
from core.engine.providers import ModelRow, Overview, ProviderRow
from core.models.trial import Trial
from core.settings.schema import MODELS, Settings
from tests.ui.hands import click, find, press, write
from ui.settings.add_server import AddServer, open_to_others
from ui.settings.dialog import SettingsDialog, Shown
from ui.settings.server_card import trial_words
from ui.theme import Look, load_fonts

NEAR = ProviderRow(
    "ollama", "Ollama", "http://127.0.0.1:11434", "ollama", "Journeyman", there=True,
    models=(
        ModelRow("ollama/qwen3", window=40_960, price_in=0, price_out=0),
        ModelRow("ollama/odd"),
        *(ModelRow(f"ollama/m{n}", window=8, price_in=1, price_out=2.5, price_from="its server") for n in range(9)),
    ),
)  # fmt: skip
KEYED = ProviderRow("anthropic", "Anthropic", "https://a.example", "anthropic", "Journeyman", "keyring", True)
LACKING = ProviderRow("openai", "OpenAI", "https://o.example", "responses", "Journeyman", "", True, "OPENAI_API_KEY")
OFF = ProviderRow("vllm", "vLLM", "http://127.0.0.1:8000/v1", "chat", "Journeyman", there=False)
MINE = ProviderRow("work", "work", "https://w.example", "chat", "you", trouble=Trouble("It refused.", "No.", "Ask."))
FOUND = Overview(
    (NEAR, KEYED, LACKING, OFF, MINE), "ollama/qwen3", "ring", None, "2026-11-01", "the makers", "", "http://p:1"
)
RULES = [Rule("r1", "allow", "run", "command", "pytest *"), Rule("f1", "allow", "folder", "none", "", "folder", "/w")]


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(look, Shown(Settings(), RULES))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    made.show_page(MODELS)
    return made


def text(dialog: SettingsDialog) -> str:
    return "\n".join(label.text() for label in dialog.models.findChildren(QLabel)).replace("\u200b", "")


def let_go() -> None:
    """Of what is not shown any more."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_servers_are_looked_for_when_their_page_is_opened(look: Look, qtbot: QtBot) -> None:
    made = SettingsDialog(look, Shown(Settings(), RULES))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    with qtbot.waitSignal(made.servers_wanted) as wanted:
        made.show_page(MODELS)
    assert wanted.args == ["first", ""] and "Looking for servers" in text(made)


def test_what_is_known_is_shown_and_what_is_not_is_said(dialog: SettingsDialog) -> None:
    dialog.models.show_servers(FOUND)
    said = text(dialog)
    for words in (
        "40,960 tokens · free", "window unknown · price unknown",
        "8 tokens · $1 in, $2.5 out for 1M tokens (its server)",
        "Key: in the keyring", "OpenAI: a key given here, or in the variable OPENAI_API_KEY", "used for new runs",
        "Not running on this computer: vLLM", "It refused. No. Ask.", "table of 2026-11-01", "The proxy http://p:1",
    ):  # fmt: skip
        assert words in said
    assert "No model is set up" not in said and "m8" not in said
    click(find(dialog, QPushButton, "settings.whole.ollama"))
    assert "m8" in text(dialog)
    dialog.models.show_servers(replace(FOUND, providers=(LACKING,), keyring_trouble=Trouble("No keyring.", "", "")))
    assert "No model is set up yet" in text(dialog) and "No keyring." in text(dialog)


@pytest.mark.parametrize(
    ("button", "wish"),
    [
        ("settings.models.look", ["look", ""]),
        ("settings.models.add", ["add", ""]),
        ("settings.models.proxy", ["proxy", "http://p:1"]),
        ("settings.give.openai", ["give", "openai"]),
        ("settings.give.anthropic", ["give", "anthropic"]),
        ("settings.forget.anthropic", ["forget", "anthropic"]),
        ("settings.remove.work", ["remove", "work"]),
        ("settings.use.ollama/odd", ["use", "ollama/odd"]),
        ("settings.test.ollama/qwen3", ["test", "ollama/qwen3"]),
    ],
)
def test_each_button_says_what_is_wanted(dialog: SettingsDialog, qtbot: QtBot, button: str, wish: list[str]) -> None:
    dialog.models.show_servers(FOUND)
    found = find(dialog, QPushButton, button)
    assert found.accessibleName()
    found.setFocus()
    with qtbot.waitSignal(dialog.servers_wanted) as wanted:
        press(found, Qt.Key.Key_Space)
    assert wanted.args == wish
    dialog.models.show_servers(FOUND)
    let_go()
    assert find(dialog, QPushButton, button).hasFocus(), "the keyboard stays where it was"


def test_a_test_stands_by_its_model_also_after_looking_again(dialog: SettingsDialog) -> None:
    dialog.models.show_servers(FOUND)
    dialog.models.show_trial("ollama/odd", trial_words(Trial("ollama/odd", 0.4, 1.25, True, False)))
    dialog.models.show_servers(FOUND)
    let_go()
    result = find(dialog, QLabel, "settings.model.ollama/odd.result")
    assert result.isVisible() and "first word after 0.40 s" in result.text() and "calls no tools" in result.text()
    assert trial_words(Trial("x", trouble=Trouble("Gone.", "Away.", "Wait."))) == ("Gone. Away. Wait.", "failed")
    assert trial_words(Trial("x", 1, 2, True, True))[1] == "done"


def test_folders_stand_apart_from_rules_and_are_forgotten(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page("Folders")
    assert find(dialog, QLabel, "settings.folder.f1").text() == "/w"
    assert dialog.findChild(QPushButton, "settings.revoke.f1") is None
    with qtbot.waitSignal(dialog.revoked) as revoked:
        click(find(dialog, QPushButton, "settings.forget_folder.f1"))
    assert revoked.args == ["f1"]
    dialog.refill(Shown(Settings(), RULES[:1]))
    let_go()
    assert dialog.findChild(QLabel, "settings.folders.none") is not None
    assert find(dialog, QLabel, "settings.folders.none").isVisible(), "the page that was open is open"


def test_what_was_done_and_what_could_not_be_stands_at_the_foot(dialog: SettingsDialog) -> None:
    foot = find(dialog, QLabel, "settings.said")
    dialog.tell(Trouble("Not set.", "It is no model.", ""))
    assert foot.text() == "Not set. It is no model." and foot.property("tone") == "failed"
    dialog.say("Set.")
    assert foot.text() == "Set." and foot.property("tone") == "third"


@pytest.mark.colours
def test_a_server_is_named_and_stays_open_until_it_is_taken(look: Look, qtbot: QtBot) -> None:
    made = AddServer(Look(look.theme, load_fonts(1.5)))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    add, plain = find(made, QPushButton, "add_server.add"), find(made, QCheckBox, "add_server.plain")
    assert not add.isEnabled() and not plain.isVisible()
    write(find(made, QLineEdit, "add_server.name"), "work")
    write(find(made, QLineEdit, "add_server.url"), "http://10.0.0.1/v1")
    find(made, QComboBox, "add_server.wire").setCurrentIndex(1)
    assert plain.isVisible()
    with qtbot.waitSignal(made.added) as added:
        press(find(made, QLineEdit, "add_server.url"), Qt.Key.Key_Return)
    assert added.args == ["work", "http://10.0.0.1/v1", "responses", False, ""] and made.isVisible()
    made.tell(Trouble("This address cannot be used.", "Everyone on the way can read it.", ""))
    assert "on the way" in find(made, QLabel, "add_server.why").text()
    plain.setChecked(True)
    with qtbot.waitSignal(made.added) as added:
        click(add)
    assert added.args is not None and added.args[3] is True
    assert [open_to_others(url) for url in ("http://127.0.0.1:1", "https://a.b", "http://[", "http://a.b")] == [
        False, False, False, True,
    ]  # fmt: skip
