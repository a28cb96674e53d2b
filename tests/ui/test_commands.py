"""The table of commands is whole: ids and keys unique, icons there, words translated nowhere else."""

import re
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QListWidget, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from tests.ui.test_desktop import Person, live, until
from ui.actions import keys_of, states
from ui.commands import COMMANDS
from ui.help_dialog import HelpDialog, pages
from ui.icons import icon_names
from ui.keys_dialog import OF_PLACES, KeysDialog
from ui.theme import Look, load_fonts
from ui.widgets.own_keys import OwnKeys

PAGES = {"Skill", "Memory", "Proposal"}  # where no session is shown


def test_ids_and_keys_are_unique_and_icons_exist(qapp: QApplication) -> None:
    keys = [QKeySequence(key).toString() for command in COMMANDS for key in (command.keys, command.also) if key]
    assert [key for key, count in Counter(keys).items() if count > 1 or not key] == []
    assert [name for name, count in Counter(command.id for command in COMMANDS).items() if count > 1] == []
    assert {command.icon for command in COMMANDS if command.icon} <= icon_names()
    assert all(command.group and command.text for command in COMMANDS)


def test_no_key_means_two_things_in_one_place() -> None:
    of_pages = states(None, waiting=True, undo=True, tab=True, sides=True)
    for place, lines in OF_PLACES:
        known: dict[str, str] = {}
        for command in COMMANDS:
            if place not in PAGES or not command.when or command.when in of_pages:
                known |= {QKeySequence(key).toString(): command.text for key in (command.keys, command.also) if key}
        for key, text in lines:
            before = known.setdefault(QKeySequence(key).toString(), text)
            assert text in before, f"{place}: {key} is {text!r} and {before!r}"


def test_a_page_takes_no_key_of_the_window_and_the_sheet_names_its_own(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        person.window.deeds.actions.trigger("page.skills")
        person.window.deeds.actions.trigger("page.memory")
        parts = [part for part in person.window.findChildren(QWidget) if isinstance(part, OwnKeys)]
        assert {type(part).__name__ for part in parts} >= {"SkillsPanel", "SkillEditor", "FilesTab", "MemoryPanel"}
        own = {key for part in parts for key in part.own_keys}
        taken = {action.shortcut().toString() for action in person.window.deeds.actions.by_id.values()}
        assert own & taken == {"Ctrl+F"} and not person.window.deeds.actions.by_id["run.find"].isEnabled()
        named = {QKeySequence(key).toString() for _, lines in OF_PLACES for key, _ in lines}
        assert {key for key in own if not key.startswith("Alt+")} - {"Ctrl+H", "Shift+F3"} <= named

    live(qapp, home, act)


@pytest.mark.colours
def test_the_sheet_shows_every_key_at_every_size_of_letters(look: Look, qtbot: QtBot) -> None:
    for scale in (1.0, 2.0):
        sheet = KeysDialog(Look(look.theme, load_fonts(scale)))
        qtbot.addWidget(sheet)
        sheet.show()
        shown = " ".join(label.text() for label in sheet.findChildren(QLabel))
        assert all(keys_of(command) in shown for command in COMMANDS if command.keys and command.when != "hidden")


def test_every_page_of_help_is_shown_and_names_only_keys_there_are(look: Look, qtbot: QtBot) -> None:
    known = {QKeySequence(key).toString() for command in COMMANDS for key in (command.keys, command.also) if key}
    known |= {"Ctrl+Enter", "Ctrl+C", *(QKeySequence(key).toString() for _, lines in OF_PLACES for key, _ in lines)}
    for file in pages():
        if file.stem == "keys":  # it has a test of its own
            continue
        named = set(re.findall(r'Ctrl\+(?:Shift\+)?[^\s*),"]+', file.read_text("utf-8")))
        assert {QKeySequence(key.rstrip(".") if len(key) > 6 else key).toString() for key in named} <= known, file.name
    help_ = HelpDialog(look)
    qtbot.addWidget(help_)
    help_.show()
    listed, text = find(help_, QListWidget, "help.pages"), find(help_, QTextBrowser, "help.text")
    shown = []
    for number in range(listed.count()):
        listed.setCurrentRow(number)
        shown.append(text.toPlainText().splitlines()[0])
    assert shown == [listed.item(number).text() for number in range(listed.count())] and len(shown) >= 4
