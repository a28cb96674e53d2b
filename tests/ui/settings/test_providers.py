"""The providers page and the Add provider dialog, by mouse and keyboard."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.problems import ErrorDetails
from core.domain.rules import PermissionRule
from core.engine.services.providers import ModelRow, ProviderRow, ProvidersOverview
from core.models.model_check import ModelCheck
from core.settings.schema import LOCAL_MODELS, MODELS, Provider, Settings
from tests.ui.hands import click, find, press, write
from ui.settings.add_provider import AddProviderDialog, is_unencrypted
from ui.settings.provider_card import ProviderAction, outcome_text
from ui.settings.settings_dialog import FOLDERS, SettingsDialog, SettingsSnapshot
from ui.style.theme import Look, apply_theme, load_fonts
from ui.widgets import dialog_parts
from ui.widgets.button import Button
from ui.widgets.fitting_scroll_area import FittingScrollArea

NEAR = ProviderRow(
    "ollama",
    "Ollama",
    "http://127.0.0.1:11434",
    "ollama",
    "Journeyman",
    reachable=True,
    models=(
        ModelRow("ollama/qwen3", context_window=40_960, price_in=0, price_out=0),
        ModelRow("ollama/odd", tools=True),
        *(
            ModelRow(f"ollama/m{n}", context_window=8, price_in=1, price_out=2.5, price_from="its server")
            for n in range(9)
        ),
    ),
)
KEYED = ProviderRow("anthropic", "Anthropic", "https://a.example", "anthropic", "Journeyman", "keyring", True)
LACKING = ProviderRow("openai", "OpenAI", "https://o.example", "responses", "Journeyman", "", True, "OPENAI_API_KEY")
OFF = ProviderRow("vllm", "vLLM", "http://127.0.0.1:8000/v1", "chat", "Journeyman", reachable=False)
MINE = ProviderRow("work", "work", "https://w.example", "chat", "you", error=ErrorDetails("It refused.", "No.", "Ask."))
FOUND = ProvidersOverview(
    (NEAR, KEYED, LACKING, OFF, MINE), "ollama/qwen3", "ring", None, "2026-11-01", "the developer", "", "http://p:1"
)
RULES = [
    PermissionRule("r1", "allow", "run", "command", "pytest *"),
    PermissionRule("f1", "allow", "folder", "none", "", "folder", "/w"),
]


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(look, SettingsSnapshot(Settings(), RULES))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    made.show_page(MODELS)
    return made


def text(dialog: SettingsDialog) -> str:
    return "\n".join(label.text() for label in dialog.providers.findChildren(QLabel)).replace("\u200b", "")


def let_go() -> None:
    """Delete widgets that are no longer shown."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_providers_are_loaded_when_their_page_is_opened(look: Look, qtbot: QtBot) -> None:
    made = SettingsDialog(look, SettingsSnapshot(Settings(), RULES))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    with qtbot.waitSignal(made.provider_action_requested) as wanted:
        made.show_page(MODELS)
    assert wanted.args == [ProviderAction.LIST, ""] and "Looking for providers" in text(made)


def test_the_focus_stays_in_the_row_of_a_button_that_disappears(dialog: SettingsDialog) -> None:
    dialog.providers.show_providers(FOUND)
    find(dialog, QPushButton, "settings.set_default.ollama/odd").setFocus()
    dialog.providers.show_providers(replace(FOUND, model="ollama/odd"))
    let_go()
    assert dialog.focusWidget() is find(dialog, QPushButton, "settings.test_model.ollama/odd")
    find(dialog, QPushButton, "settings.remove_key.anthropic").setFocus()
    without_key = replace(KEYED, key_from="", key_variable="ANTHROPIC_API_KEY")
    dialog.providers.show_providers(replace(FOUND, providers=(NEAR, without_key, LACKING, OFF, MINE)))
    let_go()
    assert dialog.focusWidget() is find(dialog, QPushButton, "settings.set_key.anthropic")


def test_the_focus_goes_to_the_first_control_of_the_local_models(dialog: SettingsDialog) -> None:
    dialog.providers.show_providers(FOUND)
    find(dialog, QPushButton, "settings.models.reload").setFocus()
    dialog.show_page(LOCAL_MODELS)
    focused: QWidget | None = dialog.focusWidget()
    assert focused is find(dialog, QPushButton, "settings.local.add")


def test_known_values_are_shown_and_unknown_ones_are_named(dialog: SettingsDialog) -> None:
    dialog.providers.show_providers(FOUND)
    said = text(dialog)
    for words in (
        "40,960 tokens of context · free", "context window unknown · price unknown",
        "8 tokens of context · $1 in, $2.5 out per 1M tokens (its server)",
        "API key: in the system keyring", "OpenAI: set its API key here, or in the environment variable OPENAI_API_KEY",
        "default for new sessions",
        "Not running on this computer: vLLM", "It refused. No. Ask.", "table of 2026-11-01", "The proxy http://p:1",
    ):  # fmt: skip
        assert words in said
    assert "No model is set up" not in said and "m8" not in said
    click(find(dialog, QPushButton, "settings.show_all.ollama"))
    assert "m8" in text(dialog)
    dialog.providers.show_providers(
        replace(FOUND, providers=(LACKING,), keyring_error=ErrorDetails("No keyring.", "", ""))
    )
    assert "No model is set up yet" in text(dialog) and "No keyring." in text(dialog)


@pytest.mark.parametrize(
    ("button", "wish"),
    [
        ("settings.models.reload", [ProviderAction.RELOAD, ""]),
        ("settings.models.add", [ProviderAction.ADD, ""]),
        ("settings.models.use_proxy", [ProviderAction.USE_PROXY, "http://p:1"]),
        ("settings.set_key.openai", [ProviderAction.SET_KEY, "openai"]),
        ("settings.set_key.anthropic", [ProviderAction.SET_KEY, "anthropic"]),
        ("settings.remove_key.anthropic", [ProviderAction.REMOVE_KEY, "anthropic"]),
        ("settings.remove.work", [ProviderAction.REMOVE, "work"]),
        ("settings.set_default.ollama/odd", [ProviderAction.SET_DEFAULT, "ollama/odd"]),
        ("settings.test_model.ollama/qwen3", [ProviderAction.TEST_MODEL, "ollama/qwen3"]),
    ],
)
def test_each_button_emits_its_action(dialog: SettingsDialog, qtbot: QtBot, button: str, wish: list[str]) -> None:
    dialog.providers.show_providers(FOUND)
    found = find(dialog, QPushButton, button)
    assert found.accessibleName()
    found.setFocus()
    with qtbot.waitSignal(dialog.provider_action_requested) as wanted:
        press(found, Qt.Key.Key_Space)
    assert wanted.args == wish
    dialog.providers.show_providers(FOUND)
    let_go()
    assert find(dialog, QPushButton, button).hasFocus(), "the focus stays where it was"


def test_a_check_result_stays_with_its_model_after_a_refresh(dialog: SettingsDialog) -> None:
    dialog.providers.show_providers(FOUND)
    dialog.providers.show_test("ollama/odd", outcome_text(ModelCheck("ollama/odd", 0.4, 1.25, True, False)))
    dialog.providers.show_providers(FOUND)
    let_go()
    result, figures = (find(dialog, QLabel, f"settings.model.ollama/odd.{part}") for part in ("result", "figures"))
    assert "tool calls" not in figures.text(), "the result of the test says it"
    assert result.isVisible() and "first token after 0.40 s" in result.text() and "no tool calls" in result.text()
    dialog.providers.forget_tests()
    dialog.providers.show_providers(FOUND)
    let_go()
    assert not find(dialog, QLabel, "settings.model.ollama/odd.result").text()
    assert "supports tool calls" in find(dialog, QLabel, "settings.model.ollama/odd.figures").text()
    assert outcome_text(ModelCheck("x", error=ErrorDetails("Gone.", "Away.", "Wait."))) == (
        "Gone. Away. Wait.",
        "failed",
    )
    assert outcome_text(ModelCheck("x", 1, 2, True, True))[1] == "done"


def test_folders_are_listed_apart_from_rules_and_removed(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(FOLDERS)
    assert find(dialog, QLabel, "settings.folder.f1").text() == "/w"
    assert dialog.findChild(QPushButton, "settings.revoke.f1") is None
    with qtbot.waitSignal(dialog.revoke_requested) as revoked:
        click(find(dialog, QPushButton, "settings.forget_folder.f1"))
    assert revoked.args == ["f1"]
    dialog.refresh(SettingsSnapshot(Settings(), RULES[:1]))
    let_go()
    assert dialog.findChild(QLabel, "settings.folders.none") is not None
    assert find(dialog, QLabel, "settings.folders.none").isVisible(), "the current page stays open"


def test_results_and_errors_are_shown_in_the_footer(dialog: SettingsDialog) -> None:
    foot = find(dialog, QLabel, "settings.said")
    dialog.show_error(ErrorDetails("Not set.", "It is no model.", ""))
    assert foot.text() == "Not set. It is no model." and foot.property("tone") == "failed"
    dialog.show_message("Set.")
    assert foot.text() == "Set." and foot.property("tone") == "third"


@pytest.mark.colors
def test_the_form_of_a_provider_stays_open_until_it_is_accepted(
    look: Look, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = list[str]()
    monkeypatch.setattr(dialog_parts, "announce", lambda _, text: heard.append(text))
    made = AddProviderDialog(Look(look.theme, load_fonts(1.5)))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    add, plain = find(made, QPushButton, "add_provider.add"), find(made, QCheckBox, "add_provider.allow_http")
    assert not add.isEnabled() and not plain.isVisible()
    assert find(made, QComboBox, "add_provider.api").width() == find(made, QLineEdit, "add_provider.url").width()
    write(find(made, QLineEdit, "add_provider.name"), "work")
    write(find(made, QLineEdit, "add_provider.url"), "http://10.0.0.1/v1")
    find(made, QComboBox, "add_provider.api").setCurrentIndex(1)
    assert plain.isVisible()
    with qtbot.waitSignal(made.added) as added:
        press(find(made, QLineEdit, "add_provider.url"), Qt.Key.Key_Return)
    entered = Provider(name="work", url="http://10.0.0.1/v1", api="responses")
    assert added.args == [entered] and made.isVisible()
    made.show_error(ErrorDetails("This address cannot be used.", "Everyone on the way can read it.", ""))
    why = find(made, QLabel, "add_provider.error")
    assert "on the way" in why.text() and "on the way" in heard[-1]
    write(find(made, QLineEdit, "add_provider.url"), "x")
    assert not why.isVisible(), "it was about the former address"
    plain.setChecked(True)
    with qtbot.waitSignal(made.added) as added:
        click(add)
    assert added.args == [replace(entered, url="http://10.0.0.1/v1x", allow_http=True)]
    assert [is_unencrypted(url) for url in ("http://127.0.0.1:1", "https://a.b", "http://[", "http://a.b")] == [
        False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1_000, 1_180])
def test_the_buttons_of_the_providers_wrap(qapp: QApplication, look: Look, qtbot: QtBot, width: int) -> None:
    large = Look(look.theme, load_fonts(2.0))
    apply_theme(qapp, large.theme, large.fonts)
    dialog = SettingsDialog(large, SettingsSnapshot(Settings(), []))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_page(MODELS)
    dialog.providers.show_providers(FOUND)
    dialog.resize(width, 740)
    area = dialog.findChildren(FittingScrollArea)[-1]
    assert area.isAncestorOf(dialog.providers)
    buttons = dialog.providers.findChildren(Button)
    assert len(buttons) > 15

    def are_whole() -> bool:
        rights = [button.mapTo(area.viewport(), button.rect().topRight()).x() for button in buttons]
        widths = all(button.width() == button.sizeHint().width() for button in buttons)
        return widths and max(rights) < area.viewport().width()

    qtbot.waitUntil(are_whole)
    assert area.horizontalScrollBar().maximum() == 0
