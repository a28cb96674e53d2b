"""The settings by hand: every field of the schema is there, searched, told when changed."""

from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
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

from core.domain.rules import Rule
from core.domain.tiers import Tiers
from core.settings.schema import MEMORY, MODELS, WEB, Settings
from core.store.weights import Weight
from tests.ui.hands import click, find, press, write
from ui.settings.agents import AgentsPage
from ui.settings.dialog import UNMOVED, SettingsDialog, Shown
from ui.settings.fields import settable
from ui.settings.page import SettingsPage
from ui.settings.pages import DataState
from ui.settings.tool_servers import ToolServersPage
from ui.theme import Look, dress, load_fonts, load_theme
from ui.widgets.number import NumberField

RULE = Rule("r1", "allow", "run", "command", "pytest *")
DATA = DataState(
    "/home/me/data", 3_000_000, 1200, 3, 1, ("2026-11-20",),
    (Weight("s1", "A large one", 900, 40, 2_000_000, (("tool_returned", 1_900_000), ("replied", 100))),),
)  # fmt: skip
SHOWN = Shown(Settings(theme="dark", max_rounds=12), [RULE])


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(look, SHOWN)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def test_every_setting_has_a_control_with_a_name(dialog: SettingsDialog) -> None:
    for name, about in settable():
        if name not in UNMOVED:
            dialog.show_page(about.page)
            field = find(dialog, QWidget, f"settings.{name}")
            assert field.accessibleName() == about.label and field.accessibleDescription() == about.help


@pytest.mark.colours
def test_changes_are_told_when_they_are_finished(dialog: SettingsDialog) -> None:
    told: list[tuple[str, object]] = []
    dialog.changed.connect(lambda name, value: told.append((name, value)))
    theme = find(dialog, QComboBox, "settings.theme")
    assert theme.currentText() == "Dark"
    theme.setFocus()
    press(theme, Qt.Key.Key_Down)
    dialog.show_page("Limits")
    rounds = find(dialog, QDoubleSpinBox, "settings.max_rounds")
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
        ("theme", "contrast"), ("max_rounds", 30), ("model", "ollama/qwen3"), ("tiers", Tiers(small=("a/b", "c/d"))),
    ]  # fmt: skip
    assert not dialog.findChildren(QCheckBox, "settings.reduced_motion")


def test_a_folder_is_typed_or_chosen(dialog: SettingsDialog, tmp_path: Path) -> None:
    told: list[tuple[str, object]] = []
    dialog.changed.connect(lambda name, value: told.append((name, value)))
    dialog.show_page(MEMORY)
    field = find(dialog, QLineEdit, "settings.meaning.path")
    write(field, "/models/small")
    press(field, Qt.Key.Key_Return)
    click(find(dialog, QPushButton, "settings.meaning.choose"))
    asked = find(dialog, QFileDialog, "settings.meaning.folders")
    asked.fileSelected.emit(str(tmp_path))
    asked.close()
    assert field.text() == str(tmp_path)
    assert told == [("meaning", "/models/small"), ("meaning", str(tmp_path))]


def test_numbers_and_words_are_written_as_people_do(dialog: SettingsDialog) -> None:
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


def test_the_search_leaves_what_fits_and_says_when_nothing_does(dialog: SettingsDialog) -> None:
    search, pages = find(dialog, QLineEdit, "settings.search"), find(dialog, QListWidget, "settings.pages")
    QTest.keyClicks(search, "proxy")
    shown = [pages.item(n).text() for n in range(pages.count()) if not pages.item(n).isHidden()]
    assert shown == ["Network"] and pages.currentItem().text() == "Network"
    QTest.keyClicks(search, "zzz")
    assert find(dialog, QLabel, "settings.none").isVisible()
    search.clear()
    assert not find(dialog, QLabel, "settings.none").isVisible()


def test_a_page_is_built_when_it_is_looked_at_and_found_before(dialog: SettingsDialog) -> None:
    search, pages = find(dialog, QLineEdit, "settings.search"), find(dialog, QListWidget, "settings.pages")
    assert len(dialog.findChildren(SettingsPage)) == 1, "the one that is shown"
    QTest.keyClicks(search, "opencode")
    assert pages.currentItem().text() == "Other agents" and dialog.findChildren(AgentsPage)
    search.clear()
    QTest.keyClicks(search, "round")
    dialog.show_page("Limits")
    assert find(dialog, QWidget, "settings.max_rounds").isVisible(), "it is built as narrow as the search wants it"
    assert not find(dialog, QWidget, "settings.max_minutes").isVisible()
    assert not dialog.findChildren(ToolServersPage)


def test_what_changed_elsewhere_is_shown_and_the_keyboard_stays_where_it_was(dialog: SettingsDialog) -> None:
    dialog.show_page(WEB)
    engine = find(dialog, QComboBox, "settings.web_search")
    engine.setFocus()
    dialog.refill(Shown(Settings(web_search="brave", max_rounds=12), [RULE]))
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    again = find(dialog, QComboBox, "settings.web_search")
    assert again.currentText() == "Brave Search" and again.hasFocus()
    press(again, Qt.Key.Key_Down)
    assert "Tavily" in find(dialog, QLabel, "settings.web.needs").text()
    dialog.show_page("Limits")
    assert find(dialog, QDoubleSpinBox, "settings.max_rounds").value() == 12


def test_rules_are_taken_back_and_what_weighs_is_shown_with_its_reason(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_page("Rules")
    with qtbot.waitSignal(dialog.revoked) as revoked:
        click(find(dialog, QPushButton, "settings.revoke.r1"))
    assert revoked.args == ["r1"]
    dialog.show_page("Data")
    assert find(dialog, QLabel, "settings.data.counting").isVisible()
    dialog.show_data(DATA)
    words = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "A large one" in words and "mostly what tools returned" in words and "3 sessions" in words
    with qtbot.waitSignal(dialog.session_wanted) as wanted:
        click(find(dialog, QPushButton, "settings.weight.s1"))
    assert wanted.args == ["s1"]


@pytest.mark.colours
def test_it_holds_at_the_largest_letters_and_without_rules(look: Look, qtbot: QtBot) -> None:
    large = Look(look.theme, load_fonts(2.0))
    dialog = SettingsDialog(large, Shown(Settings(), None, "They cannot be read."))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_page("Rules")
    assert find(dialog, QLabel, "settings.rules.trouble").text() == "They cannot be read."


@pytest.mark.colours
def test_a_number_keeps_its_frame_in_another_theme(qapp: QApplication, look: Look, qtbot: QtBot) -> None:
    made = NumberField()
    qtbot.addWidget(made)
    made.show()
    dress(qapp, load_theme("contrast"), look.fonts)
    QCoreApplication.sendPostedEvents()
    assert made.rect().adjusted(1, 1, -1, -1).contains(made.lineEdit().geometry())


@pytest.mark.colours
def test_it_fits_the_screen_at_the_largest_letters(look: Look, qtbot: QtBot) -> None:
    dialog = SettingsDialog(Look(look.theme, load_fonts(2.0)), Shown(Settings(), ()), None)
    qtbot.addWidget(dialog)
    room = dialog.screen().availableGeometry().size()
    assert dialog.width() <= room.width() and dialog.height() <= room.height()
