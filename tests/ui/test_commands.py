"""The command table is complete: ids and shortcuts are unique, icons exist, shortcut list and help match it."""

import re
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListWidget, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find, press, write
from tests.ui.test_desktop_app import Person, activate, live, until
from ui.dialogs.help_dialog import HelpDialog, help_files
from ui.settings.page_titles import SETTINGS_PAGES
from ui.settings.settings_dialog import SettingsDialog
from ui.shell.command_actions import shortcut_text, window_states
from ui.shell.commands import COMMANDS
from ui.shell.session_view import SESSION_TABS
from ui.shell.shortcuts_dialog import ShortcutsDialog
from ui.shell.widget_shortcuts import WIDGET_SHORTCUTS
from ui.style.icons import icon_names
from ui.style.theme import Look, load_fonts
from ui.widgets.local_shortcuts import LocalShortcuts

PAGES = {"Skill", "Memory", "Proposal"}  # areas in which no session is shown
DIALOGS = {"Settings"}  # modal, so that the shortcuts of the window do not act


def test_ids_and_shortcuts_are_unique_and_icons_exist(qapp: QApplication) -> None:
    keys = [QKeySequence(key).toString() for command in COMMANDS for key in (command.keys, command.also) if key]
    assert [key for key, count in Counter(keys).items() if count > 1 or not key] == []
    assert [name for name, count in Counter(command.id for command in COMMANDS).items() if count > 1] == []
    assert {command.icon for command in COMMANDS if command.icon} <= icon_names()
    assert all(command.group and command.text for command in COMMANDS)


def test_a_letter_alone_only_changes_what_is_shown(qapp: QApplication) -> None:
    """Text typed while no field has the focus must not export, send or stop anything."""
    letters = {command.id for command in COMMANDS for key in (command.keys, command.also) if len(key) == 1}
    assert letters == {"window.step", "window.keys"}


def test_no_shortcut_is_ambiguous() -> None:
    of_pages = window_states(None, waiting=True, undo=True, has_tab=True, is_split=True)
    for place, lines in WIDGET_SHORTCUTS.items():
        known: dict[str, str] = {}
        for command in COMMANDS if place not in DIALOGS else ():
            if place not in PAGES or not command.when or command.when in of_pages:
                known |= {QKeySequence(key).toString(): command.text for key in (command.keys, command.also) if key}
        for key, text in lines.items():
            before = known.setdefault(QKeySequence(key).toString(), text)
            assert text in before, f"{place}: {key} is {text!r} and {before!r}"


def test_a_page_takes_no_shortcut_of_the_window_and_the_sheet_lists_its_own(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        person.window.commands.actions.trigger("page.skills")
        person.window.commands.actions.trigger("page.memory")
        parts = [part for part in person.window.findChildren(QWidget) if isinstance(part, LocalShortcuts)]
        assert {type(part).__name__ for part in parts} >= {"SkillsPanel", "SkillEditor", "FilesTab", "MemoryPanel"}
        own = {key for part in parts for key in part.local_shortcuts}
        actions = person.window.commands.actions.by_id.values()
        taken = {action.shortcut().toString() for action in actions} - {""}
        both = {key: [action for action in actions if action.shortcut().toString() == key] for key in own & taken}
        assert both.keys() >= {"Ctrl+F", "Alt+1"}
        assert not any(action.isEnabled() for group in both.values() for action in group)
        named = {QKeySequence(key).toString() for keys in WIDGET_SHORTCUTS.values() for key in keys}
        assert {key for key in own if not key.startswith("Alt+")} - {"Ctrl+H", "Shift+F3"} <= named

    live(qapp, home, act)


@pytest.mark.colors
def test_the_sheet_shows_every_shortcut_at_every_text_size(look: Look, qtbot: QtBot) -> None:
    for scale in (1.0, 2.0):
        sheet = ShortcutsDialog(Look(look.theme, load_fonts(scale)))
        qtbot.addWidget(sheet)
        sheet.show()
        shown = " ".join(label.text() for label in sheet.findChildren(QLabel))
        assert all(shortcut_text(command) in shown for command in COMMANDS if command.keys and not command.hidden)


def test_every_help_page_is_shown_and_names_only_existing_shortcuts(look: Look, qtbot: QtBot) -> None:
    known = {QKeySequence(key).toString() for command in COMMANDS for key in (command.keys, command.also) if key}
    known |= {
        "Ctrl+Enter",
        "Ctrl+C",
        *(QKeySequence(key).toString() for keys in WIDGET_SHORTCUTS.values() for key in keys),
    }
    for file in help_files():
        if file.stem == "keys":  # tested in tests/test_help.py
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


def test_every_tab_of_a_session_and_every_settings_page_has_a_command(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, actions = person.window, person.window.actions_by_id
        await until(window.start.isVisible, "the start screen")
        assert not actions["view.changes"].isEnabled(), "there is no session"
        window.show_session(await person.start()())
        await until(actions["view.changes"].isEnabled, "the session")
        await activate(window)
        for number, name in enumerate(SESSION_TABS, 1):
            window.view.page.show_tab("context" if name != "context" else "steps")
            press(window.view.page, Qt.Key(Qt.Key.Key_0 + number), Qt.KeyboardModifier.AltModifier)
            assert window.view.page.current_tab == name
        for title in SETTINGS_PAGES:
            window.commands.open_commands()
            field = find(window, QLineEdit, "palette.field")
            write(field, f"Settings: {title}")
            press(field, Qt.Key.Key_Return)
            dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
            pages = find(dialog, QListWidget, "settings.pages")
            await until(lambda: pages.currentItem().text() == title, title)  # noqa: B023 - called at once
            dialog.close()
            await until(lambda: window.findChild(SettingsDialog) is None, "the end of it")

    live(qapp, home, act)


def test_the_palette_finds_the_providers() -> None:
    assert any("provider" in command.text for command in COMMANDS)


def test_the_pages_of_the_settings_are_reached_by_keys(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, alt, control = person.window, Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier
        await until(window.start.isVisible, "the start screen")
        window.actions_by_id["window.settings"].trigger()
        dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
        pages = find(dialog, QListWidget, "settings.pages")
        assert tuple(pages.item(row).text() for row in range(pages.count())) == SETTINGS_PAGES
        await until(dialog.isActiveWindow, "the focus")
        last = len(SETTINGS_PAGES) - 1
        for key, modifier, row in (
            (Qt.Key.Key_3, alt, 2),
            (Qt.Key.Key_PageDown, control, 3),
            (Qt.Key.Key_1, alt, 0),
            (Qt.Key.Key_PageUp, control, last),
        ):
            press(dialog, key, modifier)
            assert pages.currentRow() == row
        dialog.close()

    live(qapp, home, act)
