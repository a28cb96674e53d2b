"""Agent profiles in the real window: added, refused, edited, removed, restored, and offered for a new session."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton

from app.process.data_folder import database_path
from core.engine.prompting.profile_files import ProfileFile, ProfileFiles
from core.engine.prompting.profiles import AgentProfile, load_profile
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.agent_profile_dialog import AgentProfileDialog
from ui.settings.agent_profiles_page import AgentProfileAction
from ui.settings.settings_dialog import PROFILES, SettingsDialog
from ui.widgets.confirm_dialog import ConfirmDialog

CTRL = Qt.KeyboardModifier.ControlModifier


async def opened(person: Person) -> SettingsDialog:
    await until(person.window.start.isVisible, "the start screen")
    person.window.settings_requested.emit()
    dialog = await until(lambda: person.window.findChild(SettingsDialog), "the settings")
    dialog.show_page(PROFILES)
    return dialog


async def editor(dialog: SettingsDialog, button: str) -> AgentProfileDialog:
    click(find(dialog, QPushButton, button))
    return await until(
        lambda: next((each for each in dialog.findChildren(AgentProfileDialog) if each.isVisible()), None), "the editor"
    )


def offered(person: Person) -> list[str]:
    agents = find(person.window.start, QComboBox, "start.agent")
    return [agents.itemText(row) for row in range(agents.count())]


def test_a_profile_is_added_edited_removed_and_restored(qapp: QApplication, home: Path) -> None:
    folder = database_path(home).parent

    async def act(person: Person) -> None:
        dialog = await opened(person)
        assert (
            "No agent profiles yet"
            in (await until(lambda: dialog.findChild(QLabel, "settings.profiles.none"), "none")).text()
        )
        adding = await editor(dialog, "settings.profiles.add")
        write(find(adding, QLineEdit, "profile.name"), "Ada!")
        write(find(adding, QPlainTextEdit, "profile.instructions"), "Be brief.")
        traits = find(adding, QPlainTextEdit, "profile.traits")
        write(traits, "calm")
        press(traits, Qt.Key.Key_Return)
        write(traits, "kind")
        press(find(adding, QCheckBox, "profile.tools.all"), Qt.Key.Key_Space)
        press(find(adding, QCheckBox, "profile.tool.run"), Qt.Key.Key_Space)
        press(adding, Qt.Key.Key_Return, CTRL)
        error = find(adding, QLabel, "profile.error")
        await until(lambda: "not a valid name" in error.text(), "the error")
        find(adding, QLineEdit, "profile.name").setText("ada")
        press(adding, Qt.Key.Key_Return, CTRL)
        await until(lambda: dialog.findChild(QLabel, "settings.profile.ada"), "its row")
        saved = load_profile(folder, "ada")
        assert (saved.instructions, saved.traits) == ("Be brief.", ("calm", "kind"))
        assert saved.tools and "read" in saved.tools and "run" not in saved.tools
        await until(lambda: "ada" in offered(person), "the agent of a new session")

        editing = await editor(dialog, "settings.profile.ada.edit")
        write(find(editing, QLineEdit, "profile.description"), "Short answers")
        press(editing, Qt.Key.Key_Escape)
        asked = await until(lambda: editing.findChild(ConfirmDialog), "the question whether to discard it")
        click(find(asked, QPushButton, "confirm.cancel"))
        assert editing.isVisible()
        click(find(editing, QPushButton, "profile.save"))
        await until(lambda: load_profile(folder, "ada").description == "Short answers", "the change")
        assert load_profile(folder, "ada").tools == saved.tools

        click(await until(lambda: dialog.findChild(QPushButton, "settings.profile.ada.remove"), "its button"))
        undo = find(dialog, QPushButton, "settings.profiles.undo")
        await until(lambda: dialog.focusWidget() is undo, "the undo")
        assert not (folder / "agents" / "ada.toml").exists()
        await until(lambda: "ada" not in offered(person), "no such agent")
        press(undo, Qt.Key.Key_Space)
        await until(lambda: "ada" in offered(person), "the agent again")
        assert load_profile(folder, "ada").description == "Short answers"

    live(qapp, home, act)


def test_each_removal_is_undone_the_last_one_first(qapp: QApplication, home: Path) -> None:
    agents = database_path(home).parent / "agents"
    agents.mkdir(parents=True)
    for name in ("ada", "bob"):
        (agents / f"{name}.toml").write_text(f'role = "{name}"\n')

    async def act(person: Person) -> None:
        dialog = await opened(person)
        removed = find(dialog, QLabel, "settings.profiles.removed")
        for name in ("ada", "bob"):
            click(await until(lambda: dialog.findChild(QPushButton, f"settings.profile.{name}.remove"), "its button"))  # noqa: B023 - called at once
            await until(lambda: removed.isVisible() and name in removed.text(), "the offer")  # noqa: B023 - as above
        undo = find(dialog, QPushButton, "settings.profiles.undo")
        press(undo, Qt.Key.Key_Space)
        await until(lambda: (agents / "bob.toml").exists() and "ada" in removed.text(), "the offer before")
        await until(undo.isVisible, "the undo")
        press(undo, Qt.Key.Key_Space)
        await until(lambda: (agents / "ada.toml").exists() and not removed.isVisible(), "no further offer")
        assert load_profile(agents.parent, "ada").role == "ada"

    live(qapp, home, act)


def test_a_line_that_is_no_fact_is_refused(qapp: QApplication, home: Path) -> None:
    path = database_path(home).parent / "agents" / "ada.toml"

    async def act(person: Person) -> None:
        dialog = await opened(person)
        adding = await editor(dialog, "settings.profiles.add")
        write(find(adding, QLineEdit, "profile.name"), "ada")
        facts = find(adding, QPlainTextEdit, "profile.setting")
        for line in ("English", "language:", ": English"):
            facts.setPlainText(f"city: Oslo\n{line}")
            click(find(adding, QPushButton, "profile.save"))
            error = find(adding, QLabel, "profile.error")
            assert error.isVisible() and line in error.text() and "colon" in error.text() and not path.exists()
        facts.setPlainText("city: Oslo\nlanguage: English")
        click(find(adding, QPushButton, "profile.save"))
        await until(path.exists, "the profile")
        assert load_profile(path.parent.parent, "ada").setting == {"city": "Oslo", "language": "English"}

    live(qapp, home, act)


def test_an_invalid_profile_says_why_and_can_be_removed(qapp: QApplication, home: Path) -> None:
    path = database_path(home).parent / "agents" / "ada.toml"
    path.parent.mkdir(parents=True)
    path.write_text('tier = "large"')

    async def act(person: Person) -> None:
        dialog = await opened(person)
        remove = await until(lambda: dialog.findChild(QPushButton, "settings.profile.ada.remove"), "its row")
        assert any("there is no tier 'large'" in shown.text() for shown in dialog.profiles.findChildren(QLabel))
        assert dialog.findChild(QPushButton, "settings.profile.ada.edit") is None
        click(remove)
        await until(lambda: not path.exists(), "its end")

    live(qapp, home, act)


def test_a_profile_changed_in_an_editor_meanwhile_is_not_overwritten(qapp: QApplication, home: Path) -> None:
    path = database_path(home).parent / "agents" / "ada.toml"
    path.parent.mkdir(parents=True)
    path.write_text('role = "Reader"  # mine\n')

    async def act(person: Person) -> None:
        dialog = await opened(person)
        await until(lambda: dialog.findChild(QLabel, "settings.profile.ada"), "its row")
        editing = await editor(dialog, "settings.profile.ada.edit")
        frame = find(editing, QPlainTextEdit, "profile.instructions").parentWidget()
        assert frame is not None and frame.property("surface") == "field"  # else the field has no visible edges
        assert find(editing, QLabel, "profile.comments").isVisible()
        path.write_text('role = "Writer"\n')
        write(find(editing, QLineEdit, "profile.description"), "x")
        click(find(editing, QPushButton, "profile.save"))
        error = find(editing, QLabel, "profile.error")
        await until(lambda: "changed or removed meanwhile" in error.text(), "the error")
        assert load_profile(path.parent.parent, "ada") == AgentProfile("ada", role="Writer")
        assert find(editing, QLineEdit, "profile.description").text() == "x"
        editing.done(0)

    live(qapp, home, act)


def test_opening_the_file_of_a_profile_that_was_removed_meanwhile_reports_it(qapp: QApplication, home: Path) -> None:
    path = database_path(home).parent / "agents" / "ada.toml"
    path.parent.mkdir(parents=True)
    path.write_text('tier = "large"')

    async def act(person: Person) -> None:
        dialog = await opened(person)
        open_file = await until(lambda: dialog.findChild(QPushButton, "settings.profile.ada.open_file"), "its row")
        path.unlink()
        click(open_file)
        await until(
            lambda: any("There is no agent profile 'ada'" in shown.text() for shown in dialog.findChildren(QLabel)),
            "the error",
        )

    live(qapp, home, act)


def test_undo_restores_the_profile_that_the_row_names(qapp: QApplication, home: Path) -> None:
    """An earlier version restored the profile that was removed last, whatever the page asked for."""
    agents = database_path(home).parent / "agents"
    agents.mkdir(parents=True)
    for name in ("ada", "bob"):
        (agents / f"{name}.toml").write_text(f'role = "{name}"\n')

    async def act(person: Person) -> None:
        dialog = await opened(person)
        for name in ("ada", "bob"):
            click(await until(lambda: dialog.findChild(QPushButton, f"settings.profile.{name}.remove"), "its button"))  # noqa: B023 - called at once
            await until(lambda: not (agents / f"{name}.toml").exists(), "its end")  # noqa: B023 - as above
        removed = find(dialog, QLabel, "settings.profiles.removed")
        await until(lambda: "bob" in removed.text(), "the offer")
        dialog.profiles.action_requested.emit(AgentProfileAction.UNDO_REMOVAL, "ada")
        await until((agents / "ada.toml").exists, "the profile that was asked for")
        assert not (agents / "bob.toml").exists() and "bob" in removed.text()

    live(qapp, home, act)


def test_a_double_click_on_undo_restores_the_profile_once(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version restored it twice: the second time failed with an error, or crashed."""
    path = database_path(home).parent / "agents" / "ada.toml"
    path.parent.mkdir(parents=True)
    path.write_text('role = "ada"\n')
    restored: list[str] = []
    restore = ProfileFiles.restore

    def restore_and_record(files: ProfileFiles, removed: ProfileFile) -> None:
        restored.append(removed.name)
        restore(files, removed)

    monkeypatch.setattr(ProfileFiles, "restore", restore_and_record)

    def is_undoing(task: asyncio.Task[Any]) -> bool:
        return task.get_name() == AgentProfileAction.UNDO_REMOVAL

    async def act(person: Person) -> None:
        dialog = await opened(person)
        click(await until(lambda: dialog.findChild(QPushButton, "settings.profile.ada.remove"), "its button"))
        undo = find(dialog, QPushButton, "settings.profiles.undo")
        await until(undo.isVisible, "the offer")
        click(undo)
        click(undo)
        await until(lambda: path.exists() and not undo.isVisible(), "the profile, and no further offer")
        await until(lambda: not any(is_undoing(task) for task in asyncio.all_tasks()), "the end of both clicks")
        assert restored == ["ada"]

    live(qapp, home, act)


def test_a_removal_can_still_be_undone_after_the_page_was_built_again(qapp: QApplication, home: Path) -> None:
    path = database_path(home).parent / "agents" / "ada.toml"
    path.parent.mkdir(parents=True)
    path.write_text('role = "ada"\n')

    async def act(person: Person) -> None:
        window, dialog = person.window, await opened(person)
        click(await until(lambda: dialog.findChild(QPushButton, "settings.profile.ada.remove"), "its button"))
        await until(lambda: not path.exists(), "its end")
        window.restyle(window.look)  # as after a change of the text size
        await until(lambda: find(dialog, QLabel, "settings.profiles.removed").isVisible(), "the offer")
        dialog.close()
        await until(lambda: window.findChild(SettingsDialog) is None, "the end of the settings")
        dialog = await opened(person)
        await until(lambda: find(dialog, QLabel, "settings.profiles.removed").isVisible(), "the offer")
        click(find(dialog, QPushButton, "settings.profiles.undo"))
        await until(path.exists, "the profile")
        await until(lambda: not find(dialog, QLabel, "settings.profiles.removed").isVisible(), "no further offer")

    live(qapp, home, act)
