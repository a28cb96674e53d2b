"""Trash and undo, settings that take effect immediately, and drafts, in the real window."""

import sqlite3
from contextlib import closing
from pathlib import Path

from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.exceptions import capture_exceptions

from tests.core.store.made import fill
from tests.ui.hands import click, find, write
from tests.ui.test_desktop_app import LOCK_BOUND_S, Person, live, until
from ui.base.window_state import WindowState
from ui.sessions.session_menu import SessionAction
from ui.widgets.confirm_dialog import ConfirmDialog


def test_a_session_is_trashed_restored_and_deleted_permanently(qapp: QApplication, home: Path) -> None:
    names = fill(home / "journeyman.db", sessions=2)

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "a session")
        shown = window.selection.session
        other = next(name for name in names if name != shown)
        window.actions_by_id["session.trash"].trigger()
        await until(window.toast.isVisible, "the toast")
        assert find(window.toast, QLabel, "toast.text").accessibleName() == "Moved to the trash"
        assert window.selection.session == other
        await until(lambda: window.row(shown).trashed, "it is in the trash")
        click(find(window.toast, QPushButton, "toast.undo"))
        await until(lambda: not window.row(shown).trashed, "it is back")
        window.sessions.action_requested.emit(SessionAction.TRASH, [shown])
        await until(lambda: window.row(shown).trashed, "it is in the trash again")
        window.sessions.action_requested.emit(SessionAction.DELETE, [shown])
        click(find(window, QPushButton, "confirm.yes"))
        await until(lambda: not window.row(shown).title, "the dialog is closed")
        window.sessions.renamed.emit(other, "A name")
        await until(lambda: window.row(other).title == "A name", "the name")
        assert person.notice() == ""

    live(qapp, home, act)


def test_undo_is_offered_again_if_it_fails(qapp: QApplication, home: Path, announcements: list[str]) -> None:
    fill(home / "journeyman.db", sessions=2)

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "a session")
        session = window.selection.session
        window.actions_by_id["session.trash"].trigger()
        await until(window.toast.isVisible, "the toast")
        undo = find(window.toast, QPushButton, "toast.undo")
        await person.program.engine.ask(lambda engine: engine.search("status:done"))  # has the rows brought up to date
        with closing(sqlite3.connect(home / "journeyman.db", isolation_level=None)) as other_program:
            other_program.execute("BEGIN IMMEDIATE")
            click(undo)
            await until(undo.isVisible, "the offer", LOCK_BOUND_S)
            assert "Another program is using the data file." in person.notice()
        assert window.row(session).trashed and "Undone" not in announcements
        assert find(window.toast, QLabel, "toast.text").accessibleName() == "Moved to the trash"
        click(undo)
        await until(lambda: not window.row(session).trashed and "Undone" in announcements, "it is back")
        assert not window.toast.isVisible()

    live(qapp, home, act)


def test_an_unknown_action_does_not_empty_the_trash_and_is_an_error(qapp: QApplication, home: Path) -> None:
    fill(home / "journeyman.db", sessions=1)

    async def act(person: Person) -> None:
        await until(lambda: person.window.selection.session, "a session")
        with capture_exceptions() as errors:
            person.window.sessions.action_requested.emit("unknown", [])
        assert [kind for kind, _, _ in errors] == [ValueError]
        assert not person.window.findChildren(ConfirmDialog)

    live(qapp, home, act)


def test_settings_are_applied_and_kept_for_the_next_start(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        window.actions_by_id["window.settings"].trigger()
        theme = await until(lambda: window.findChild(QComboBox, "settings.theme"), "the settings")
        theme.activated.emit(3)
        await until(lambda: window.look.theme.name == "contrast", "high contrast")
        window.actions_by_id["window.larger"].trigger()
        await until(lambda: window.look.fonts.text.pixelSize() == 14, "the larger text")
        click(find(window, QPushButton, "settings.close"))
        assert (person.state.text("theme"), person.state.text("scale")) == ("contrast", "1.1")

    live(qapp, home, act)


def test_theme_and_text_size_follow_a_settings_file_that_was_changed_while_the_window_was_closed(
    qapp: QApplication, home: Path
) -> None:
    (home / "settings.json").write_text('{"version": 2, "theme": "dark", "font_scale": 150}')

    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        await until(lambda: window.look.fonts.text.pixelSize() == 20, "the text size of the settings")
        assert window.look.theme.name == "dark"
        assert (person.state.text("theme"), person.state.text("scale")) == ("dark", "1.5")

    live(qapp, home, act)


def test_a_command_is_found_and_executed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        window.commands.open_commands()
        field = find(window, QLineEdit, "palette.field")
        write(field, "full screen")
        field.returnPressed.emit()
        window.commands.palette.dismiss()
        assert not window.commands.palette.isVisible()

    live(qapp, home, act)


def test_a_draft_is_written_to_disk_at_once(qapp: QApplication, home: Path) -> None:
    (name,) = fill(home / "journeyman.db")

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session == name, "the session")
        write(find(window.view, QPlainTextEdit, "composer.input"), "not sent yet")

        await until(lambda: WindowState(home).draft(name) == "not sent yet", "the draft in the file, as after a kill")

    live(qapp, home, act)
