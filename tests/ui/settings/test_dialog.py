"""The Settings window: every setting has a control, can be searched, and reports its changes."""

from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.agents.known_agents import known_agents
from core.domain.rules import PermissionRule
from core.domain.tiers import DEFAULT_RULES, TierRule, Tiers
from core.settings.schema import MCP_SERVERS, MEMORY, MODELS, WEB, ExternalAgentSettings, Settings
from core.store.session_sizes import SessionSize
from tests.screens.sample_mcp_servers import SERVERS
from tests.screens.sample_packages import PACKAGES as SAMPLE_PACKAGES
from tests.ui.hands import click, find, press, write
from ui.settings.external_agents_page import ExternalAgentAction, ExternalAgentsPage
from ui.settings.mcp_servers_page import McpServersPage
from ui.settings.permission_rules_page import PermissionRuleAction
from ui.settings.rules_and_data_pages import DataState
from ui.settings.setting_controls import settings_with_control
from ui.settings.settings_dialog import (
    AGENTS,
    FOLDERS,
    PACKAGES,
    RULES,
    SettingsDialog,
    SettingsSnapshot,
)
from ui.settings.settings_page import SYNONYMS, SettingsPage
from ui.style.theme import Look, apply_theme, load_fonts, load_theme
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.number_field import NumberField
from ui.widgets.toned_text import TonedText

RULE = PermissionRule("r1", "allow", "run", "command", "pytest *")
DATA = DataState(
    "/home/me/data", 3_000_000, 1200, 3, 1, ("2026-11-20",),
    (SessionSize("s1", "A large one", 900, 40, 2_000_000, (("tool_returned", 1_900_000), ("replied", 100))),),
)  # fmt: skip
SHOWN = SettingsSnapshot(Settings(theme="dark", max_turns=12), [RULE])


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(look, SHOWN)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def test_every_setting_has_a_control_with_a_name(dialog: SettingsDialog) -> None:
    for name, about in settings_with_control():
        dialog.show_page(about.page)
        field = find(dialog, QWidget, f"settings.{name}")
        assert field.accessibleName() == about.label and field.accessibleDescription() == about.help


def test_a_page_that_a_shortcut_opens_is_announced(dialog: SettingsDialog, announcements: list[str]) -> None:
    announcements.clear()
    dialog._go_to_page(1)
    assert announcements == [MODELS]


@pytest.mark.colors
def test_changes_are_emitted_when_editing_ends(dialog: SettingsDialog) -> None:
    told: list[tuple[str, object]] = []
    dialog.changed.connect(lambda name, value: told.append((name, value)))
    theme = find(dialog, QComboBox, "settings.theme")
    assert theme.currentText() == "Dark"
    theme.setFocus()
    press(theme, Qt.Key.Key_Down)
    dialog.show_page("Limits")
    rounds = find(dialog, QDoubleSpinBox, "settings.max_turns")
    rounds.setFocus()
    rounds.selectAll()
    write(rounds, "30")
    press(rounds, Qt.Key.Key_Return)
    dialog.show_page(MODELS)
    model = find(dialog, QLineEdit, "settings.model")
    write(model, "ollama/qwen3")
    assert len(told) == 2
    press(model, Qt.Key.Key_Return)
    small = find(dialog, QLineEdit, "settings.tiers.small")
    write(small, "a/b, c/d")
    press(small, Qt.Key.Key_Return)
    assert told == [
        ("theme", "contrast"), ("max_turns", 30), ("model", "ollama/qwen3"), ("tiers", Tiers(small=("a/b", "c/d"))),
    ]  # fmt: skip


def test_the_command_that_installs_an_agent_is_copied(dialog: SettingsDialog) -> None:
    dialog.show_page(AGENTS)
    page = dialog.findChildren(ExternalAgentsPage)[0]
    known = {agent.settings.name: agent for agent in known_agents()}
    page.show_agents((), (known["opencode"],), (known["qwen"],))
    told: list[tuple[str, str, str]] = []
    page.action_requested.connect(lambda *action: told.append(action))
    click(find(page, QPushButton, "settings.agent.opencode.add"))
    assert told == [(ExternalAgentAction.ADD, "opencode", "opencode acp")]
    button = find(page, QPushButton, "settings.agent.qwen.copy")
    click(button)
    assert button.text() == "Copied"
    assert QGuiApplication.clipboard().text() == "npm install -g @qwen-code/qwen-code"


def test_an_added_agent_whose_program_is_missing_is_marked(dialog: SettingsDialog) -> None:
    dialog.show_page(AGENTS)
    page = dialog.findChildren(ExternalAgentsPage)[0]
    mine, other = (ExternalAgentSettings(name=name, command="opencode", args=("acp",)) for name in ("mine", "other"))
    page.show_agents((mine, other), (), (), (mine,))
    note = find(page, QLabel, "settings.agent.mine.result")
    assert not note.isHidden()
    text = note.text().replace("\u200b", "")
    assert text == "The program opencode was not found on this computer. Install it: npm install -g opencode-ai"
    assert find(page, QLabel, "settings.agent.other.result").isHidden()
    page.show_result("mine", TonedText("Starting the agent…", "second"))
    assert note.text().startswith("Starting")


def test_a_folder_is_typed_or_chosen(dialog: SettingsDialog, tmp_path: Path) -> None:
    told: list[tuple[str, object]] = []
    dialog.changed.connect(lambda name, value: told.append((name, value)))
    dialog.show_page(MEMORY)
    field = find(dialog, QLineEdit, "settings.embedding_model.path")
    write(field, "/models/small")
    press(field, Qt.Key.Key_Return)
    click(find(dialog, QPushButton, "settings.embedding_model.choose"))
    asked = find(dialog, QFileDialog, "settings.embedding_model.folders")
    asked.filesSelected.emit([str(tmp_path)])
    asked.close()
    assert field.text() == str(tmp_path)
    assert told == [("embedding_model", "/models/small"), ("embedding_model", str(tmp_path))]


def test_numbers_and_texts_are_formatted_for_people(dialog: SettingsDialog) -> None:
    dialog.show_page("Limits")
    money = find(dialog, QDoubleSpinBox, "settings.max_cost")
    shown = []
    for value in (0, 2.5, 300, 1_200.25):
        money.setValue(value)
        shown.append(money.text())
    assert shown == ["0 $", "2.5 $", "300 $", "1,200.25 $"]
    dialog.show_page("Memory and learning")
    learning = find(dialog, QComboBox, "settings.learning")
    assert [learning.itemText(at) for at in range(3)] == ["Ask", "Add", "Off"]


def test_the_search_filters_and_says_when_nothing_matches(dialog: SettingsDialog) -> None:
    search, pages = find(dialog, QLineEdit, "settings.search"), find(dialog, QListWidget, "settings.pages")
    QTest.keyClicks(search, "proxy")
    shown = [pages.item(n).text() for n in range(pages.count()) if not pages.item(n).isHidden()]
    assert shown == ["Network"] and pages.currentItem().text() == "Network"
    press(search, Qt.Key.Key_Return)
    assert dialog.focusWidget().objectName() == "settings.proxy"
    QTest.keyClicks(search, "zzz")
    assert find(dialog, QLabel, "settings.none").isVisible()
    search.clear()
    assert not find(dialog, QLabel, "settings.none").isVisible()


@pytest.mark.parametrize(
    ("typed", "fields", "pages"),
    [
        ("API key", [], [MODELS, WEB, MCP_SERVERS]),
        ("timeout", ["connect_timeout_s", "first_token_timeout_s", "idle_timeout_s"], []),
        ("permission", [], [RULES, FOLDERS]),
        ("sandbox", [], [RULES]),
        ("MCP", [], [MCP_SERVERS]),
        ("base url", [], [MODELS]),
        ("embedding", ["embedding_model"], []),
        ("budget", ["max_cost", "max_tokens"], []),
        ("proxy", ["proxy"], []),
    ],
)
def test_the_search_finds_synonyms(dialog: SettingsDialog, typed: str, fields: list[str], pages: list[str]) -> None:
    known = dict(settings_with_control())
    listed = find(dialog, QListWidget, "settings.pages")
    QTest.keyClicks(find(dialog, QLineEdit, "settings.search"), typed)
    shown = [listed.item(n).text() for n in range(listed.count()) if not listed.item(n).isHidden()]
    assert {*pages, *(known[name].page for name in fields)} <= set(shown)
    for name in fields:
        dialog.show_page(known[name].page)
        assert find(dialog, QWidget, f"settings.{name}").isVisible()


def test_synonyms_belong_to_settings_that_exist() -> None:
    assert SYNONYMS.keys() <= dict(settings_with_control()).keys()


def test_a_page_is_built_when_shown_and_searchable_before(dialog: SettingsDialog) -> None:
    search, pages = find(dialog, QLineEdit, "settings.search"), find(dialog, QListWidget, "settings.pages")
    assert len(dialog.findChildren(SettingsPage)) == 1, "only the current page"
    QTest.keyClicks(search, "opencode")
    assert pages.currentItem().text() == AGENTS and dialog.findChildren(ExternalAgentsPage)
    search.clear()
    QTest.keyClicks(search, "turn")
    dialog.show_page("Limits")
    assert find(dialog, QWidget, "settings.max_turns").isVisible(), "a new page is filtered like the others"
    assert not find(dialog, QWidget, "settings.max_minutes").isVisible()
    assert not dialog.findChildren(McpServersPage)


def test_external_changes_are_shown_and_the_focus_stays(dialog: SettingsDialog) -> None:
    dialog.show_page(WEB)
    engine = find(dialog, QComboBox, "settings.search_engine")
    engine.setFocus()
    dialog.refresh(SettingsSnapshot(Settings(search_engine="brave", max_turns=12), [RULE]))
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    again = find(dialog, QComboBox, "settings.search_engine")
    assert again.currentText() == "Brave Search" and again.hasFocus()
    press(again, Qt.Key.Key_Down)
    assert "Tavily" in find(dialog, QLabel, "settings.web.needs").text()
    dialog.show_page("Limits")
    assert find(dialog, QDoubleSpinBox, "settings.max_turns").value() == 12


def test_the_keyboard_can_undo_the_revocation_of_the_last_rule_at_once(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(RULES)
    find(dialog, QPushButton, "settings.revoke.r1").setFocus()
    dialog.rules.show_rules(())
    dialog.rules.show_revoked("r1", RULE.description)
    undo = find(dialog, QPushButton, "settings.rules.undo")
    assert dialog.focusWidget() is undo
    with qtbot.waitSignal(dialog.rule_action_requested) as restored:
        press(undo, Qt.Key.Key_Space)
    assert restored.args == [PermissionRuleAction.RESTORE, "r1"]
    dialog.rules.show_rules([RULE])
    assert dialog.focusWidget().objectName() == "settings.revoke.r1"


def test_rules_are_revoked_and_risky_ones_are_shown_with_their_reason(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page(RULES)
    with qtbot.waitSignal(dialog.rule_action_requested) as revoked:
        click(find(dialog, QPushButton, "settings.revoke.r1"))
    assert revoked.args == [PermissionRuleAction.REVOKE, "r1"]
    dialog.show_page("Data")
    assert find(dialog, QLabel, "settings.data.counting").isVisible()
    dialog.show_data(DATA)
    words = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "A large one" in words and "mostly tool results" in words and "3 sessions" in words
    with qtbot.waitSignal(dialog.session_requested) as wanted:
        click(find(dialog, QPushButton, "settings.weight.s1"))
    assert wanted.args == ["s1"]


@pytest.mark.colors
def test_the_dialog_works_at_the_largest_text_size_and_without_rules(look: Look, qtbot: QtBot) -> None:
    large = Look(look.theme, load_fonts(2.0))
    dialog = SettingsDialog(large, SettingsSnapshot(Settings(), None, "They cannot be read."))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_page(RULES)
    assert find(dialog, QLabel, "settings.rules.trouble").text() == "They cannot be read."


@pytest.mark.colors
def test_a_number_field_keeps_its_frame_in_another_theme(qapp: QApplication, look: Look, qtbot: QtBot) -> None:
    made = NumberField()
    qtbot.addWidget(made)
    made.show()
    apply_theme(qapp, load_theme("contrast"), look.fonts)
    QCoreApplication.sendPostedEvents()
    assert made.rect().adjusted(1, 1, -1, -1).contains(made.lineEdit().geometry())


@pytest.mark.colors
def test_the_dialog_fits_the_screen_at_the_largest_text_size(look: Look, qtbot: QtBot) -> None:
    dialog = SettingsDialog(Look(look.theme, load_fonts(2.0)), SettingsSnapshot(Settings(), ()), None)
    qtbot.addWidget(dialog)
    room = dialog.screen().availableGeometry().size()
    assert dialog.width() <= room.width() and dialog.height() <= room.height()


def test_another_text_size_applies_to_the_open_dialog(dialog: SettingsDialog) -> None:
    dialog.resize(500, 400)
    dialog.show()
    dialog.show_page("Limits")
    find(dialog, QDoubleSpinBox, "settings.max_turns").setFocus()
    large = Look(load_theme("light"), load_fonts(1.25))
    width, center = dialog.width(), dialog.geometry().center()
    dialog.restyle(large)
    field = find(dialog, QDoubleSpinBox, "settings.max_turns")
    assert dialog.focusWidget() is field and field.font() == large.fonts.text and field.value() == 12
    sizes = {font.pixelSize() for font in (large.fonts.title, large.fonts.strong, large.fonts.second)}
    assert {label.font().pixelSize() for label in dialog.findChildren(QLabel) if label.isVisible()} <= sizes
    assert dialog.width() > width and (dialog.geometry().center() - center).manhattanLength() <= 2
    find(dialog, QListWidget, "settings.pages").setFocus()
    dialog.show_page(RULES)
    assert dialog.focusWidget().objectName() == "settings.pages"


@pytest.mark.parametrize("title", [PACKAGES, RULES, MCP_SERVERS])
def test_tab_reaches_the_controls_of_a_page_before_the_close_button(look: Look, qtbot: QtBot, title: str) -> None:
    made = SettingsDialog(look, SettingsSnapshot(Settings(), [RULE]))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show_page(title)
    made.show()
    qtbot.waitActive(made)
    made.packages.show_packages(SAMPLE_PACKAGES)  # loaded after the page was opened
    made.mcp_servers.show_servers(SERVERS)
    reached: list[str] = []
    while "settings.close" not in reached and len(reached) < 60:
        QTest.keyClick(made, Qt.Key.Key_Tab)
        reached.append(made.focusWidget().objectName())
    page = {PACKAGES: "settings.package.minutes.remove", RULES: f"settings.revoke.{RULE.id}"}
    assert page.get(title, "settings.tool.letters.remove") in reached
    assert reached[-1] == "settings.close"


def test_the_rules_of_the_tiers_are_changed_moved_removed_and_reset(look: Look, qtbot: QtBot) -> None:
    made = SettingsDialog(look, SettingsSnapshot(Settings(tiers=Tiers(mid=("a/b",))), []))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show_page(MODELS)
    made.show()
    saved: list[Tiers] = []
    made.changed.connect(lambda name, value: saved.append(value) if name == "tiers" else None)

    def part(name: str) -> QPushButton:
        return find(made, QPushButton, f"settings.tiers.{name}")

    reset = part("rules.reset")
    assert not reset.isEnabled() and not part("rules.add").isEnabled()
    tier = find(made, QComboBox, "settings.tiers.rule.0.tier")
    tier.setFocus()
    press(tier, Qt.Key.Key_Down)
    assert saved[-1].rules[0] == TierRule("summary", "mid") and reset.isEnabled()
    click(part("rule.2.up"))
    assert [rule.when for rule in saved[-1].rules][:3] == ["summary", "vision", "review"]
    click(part("rule.1.remove"))
    assert "vision" not in [rule.when for rule in saved[-1].rules]
    click(part("rules.add"))
    assert saved[-1].rules[-2:] == (TierRule("vision", "frontier"), TierRule("any", "mid"))
    otherwise = find(made, QComboBox, "settings.tiers.rule.any.tier")
    otherwise.setFocus()
    press(otherwise, Qt.Key.Key_Up)
    assert saved[-1].rules[-1] == TierRule("any", "small")
    small = find(made, QLineEdit, "settings.tiers.small")
    small.setText("c/d")
    small.editingFinished.emit()
    assert saved[-1].small == ("c/d",) and saved[-1].rules[-1] == TierRule("any", "small")  # the rules stay
    click(reset)
    assert saved[-1].rules == DEFAULT_RULES


@pytest.mark.parametrize("tiers", [Tiers(), Tiers(mid=("a/b",))])
def test_the_tiers_are_folded_until_one_is_set(look: Look, qtbot: QtBot, tiers: Tiers) -> None:
    made = SettingsDialog(look, SettingsSnapshot(Settings(tiers=tiers), []))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    made.show_page(MODELS)
    small, toggle = find(made, QLineEdit, "settings.tiers.small"), find(made, QPushButton, "settings.tiers.toggle")
    is_set = bool(tiers.mid)
    assert small.isVisible() == is_set and toggle.text() == ("Hide tiers" if is_set else "Set tiers…")
    toggle.setFocus()
    press(toggle, Qt.Key.Key_Return)
    assert small.isVisible() != is_set and toggle.accessibleName() == toggle.text()


@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_Backtab])
def test_tab_scrolls_to_the_focused_control_of_a_settings_page(look: Look, qtbot: QtBot, key: Qt.Key) -> None:
    dialog = SettingsDialog(look, SettingsSnapshot(Settings(), []))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_page(MEMORY)
    dialog.resize(dialog.width(), 300)
    area = dialog.findChildren(FittingScrollArea)[-1]
    bar = area.verticalScrollBar()
    qtbot.waitUntil(lambda: area.isVisible() and bar.maximum() > 0)
    forward = key == Qt.Key.Key_Tab
    bar.setValue(bar.maximum() if forward else 0)
    find(dialog, QWidget, "settings.pages" if forward else "settings.close").setFocus()
    for _ in range(3):
        press(dialog.focusWidget(), key)
        part = dialog.focusWidget()
        assert area.isAncestorOf(part), part
        assert part.visibleRegion().boundingRect() == part.rect(), part.objectName()
    assert (bar.value() < bar.maximum() // 2) == forward
