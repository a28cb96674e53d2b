"""Settings in the real window: open at once, add and test a provider, search, schedules, restore a backup."""

import asyncio
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
)

from app.process.data_folder import database_path
from app.window.backup_restore import restore_backup, take_restore_result
from core.domain.problems import ErrorDetails
from core.domain.rules import PermissionRule
from core.domain.schedule import Schedule
from core.domain.tiers import Tiers
from core.engine.api.engine import Engine
from core.settings.schema import MODELS, WEB, Settings
from core.store.integrity import IntegrityCheck, read_report
from core.store.rule_store import RuleStore
from tests.core.store.test_data_folder import made
from tests.core.store.test_integrity import break_index
from tests.servers.scripted_server import answer, chunk, scripted_server, stream
from tests.ui.hands import click, find, press, write
from tests.ui.sessions.test_panel import hit_positions
from tests.ui.test_desktop_app import BOUND_S, LOCK_BOUND_S, Person, live, until
from ui.base.window_state import WindowState
from ui.settings.add_provider import AddProviderDialog
from ui.settings.import_rules_dialog import ImportRulesDialog
from ui.settings.rule_dialog import RuleDialog
from ui.settings.settings_dialog import RULES, SettingsDialog
from ui.widgets.confirm_dialog import ConfirmDialog

LISTED = answer(json.dumps({"data": [{"id": "small", "max_model_len": 4096}]}).encode(), "application/json")
SAID = stream(chunk(content="one, "), chunk(content="two"), chunk("stop"))
CALLED = stream(
    chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "note", "arguments": '{"word": "pencil"}'}}]),
    chunk("tool_calls"),
)


async def opened(person: Person) -> SettingsDialog:
    person.window.settings_requested.emit()
    return await until(lambda: person.window.findChild(SettingsDialog), "the settings")


def test_the_settings_open_while_the_engine_is_busy(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        (await opened(person)).close()  # the values are cached from now on
        await until(lambda: person.window.findChild(SettingsDialog) is None, "the end of it")
        free = threading.Event()

        async def hold(_engine: Engine) -> None:
            free.wait(BOUND_S)

        async def hold_up() -> None:
            await person.program.engine.ask(hold)

        held = asyncio.ensure_future(hold_up())
        try:
            dialog = await opened(person)
            dialog.show_page("Data")
            assert dialog.isVisible() and not held.done()
        finally:
            free.set()
            await held
        await until(lambda: dialog.findChild(QLabel, "settings.data.said"), "the data, counted")

    live(qapp, home, act)


def test_a_text_size_chosen_in_the_settings_applies_to_them_at_once(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        dialog = await opened(person)
        size = find(dialog, QDoubleSpinBox, "settings.font_scale")
        before = size.font().pixelSize()
        size.setFocus()
        size.setValue(150)

        def is_larger() -> bool:
            shown = find(dialog, QDoubleSpinBox, "settings.font_scale")
            return shown.font().pixelSize() > before and dialog.focusWidget() is shown

        await until(is_larger, "the larger text")
        assert find(dialog, QDoubleSpinBox, "settings.font_scale").value() == 150
        dialog.show_page("Models and API keys")
        await until(lambda: dialog.providers.overview, "the providers")
        person.window.actions_by_id["window.theme"].trigger()
        await until(lambda: dialog.providers.overview, "the providers, listed again")

    live(qapp, home, act)


def test_a_provider_is_added_checked_used_and_removed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        dialog = await opened(person)
        dialog.show_page(MODELS)
        await until(lambda: dialog.providers.overview, "the servers")
        async with scripted_server(
            LISTED, LISTED, answer(SAID), answer(CALLED), LISTED
        ) as server:  # the first request only probes the provider
            click(find(dialog, QPushButton, "settings.models.add"))
            adding = find(dialog, AddProviderDialog, "add_provider")
            write(find(adding, QLineEdit, "add_provider.name"), "box!")
            write(find(adding, QLineEdit, "add_provider.url"), server.url)
            assert find(adding, QComboBox, "add_provider.api").currentData() == "chat"
            click(find(adding, QPushButton, "add_provider.add"))
            why = find(adding, QLabel, "add_provider.error")
            await until(lambda: "is not a valid name" in why.text(), "the error")
            find(adding, QLineEdit, "add_provider.name").setText("box")
            click(find(adding, QPushButton, "add_provider.add"))
            test = await until(lambda: dialog.findChild(QPushButton, "settings.test_model.box/small"), "its model")
            said = find(dialog, QLabel, "settings.said")
            await until(lambda: said.text() == "Added box: 1 model", "what the provider offers")
            form = person.window.start.form
            await until(lambda: form.isVisible(), "the form of the start screen, below the settings")
            click(test)
            result = find(dialog, QLabel, "settings.model.box/small.result")
            await until(lambda: "The model replied" in result.text(), "the result")
            assert "stream" in result.text() and "supports tool calls" in result.text()
            click(find(dialog, QPushButton, "settings.set_default.box/small"))
            await until(
                lambda: dialog.findChild(QPushButton, "settings.set_default.box/small") is None, "that it is used"
            )
            assert find(dialog, QLineEdit, "settings.model").text() == "box/small"
            await person.program.engine.ask(_use_in_tier)
            await _removes_provider(person, dialog)
        await until(lambda: "Saved." not in find(dialog, QLabel, "settings.said").text(), "the footer")
        dialog.changed.emit("model", "nobody/x")
        await until(lambda: "no provider" in find(dialog, QLabel, "settings.said").text(), "the error")
        assert person.notice() == ""

    live(qapp, home, act)


async def _use_in_tier(engine: Engine) -> None:
    engine.settings.change(tiers=Tiers(small=("box/small", "local/tiny")))


async def _removes_provider(person: Person, dialog: SettingsDialog) -> None:
    """Remove the provider, which has the default model; the settings ask first, and Cancel changes nothing."""
    form = person.window.start.form
    models = find(form, QComboBox, "start.model")
    assert models.currentText() == "box/small"
    for answer_name in ("confirm.cancel", "confirm.yes"):
        assert find(dialog, QPushButton, "settings.remove.box").isVisible()
        click(find(dialog, QPushButton, "settings.remove.box"))
        confirm = await until(lambda: dialog.findChild(ConfirmDialog), "the question")
        assert "API key" in find(confirm, QLabel, "confirm.text").text()
        assert confirm.focusWidget() is find(confirm, QPushButton, "confirm.cancel")
        click(find(confirm, QPushButton, answer_name))
        await until(lambda: dialog.findChild(ConfirmDialog) is None, "the answer")
    await until(lambda: dialog.findChild(QPushButton, "settings.remove.box") is None, "its removal")
    await until(lambda: models.findText("box/small") < 0, "the start screen")
    settings = await person.program.engine.ask(_current_settings)
    assert settings.model == "" and settings.tiers.small == ("local/tiny",)


def test_an_api_key_is_removed_only_after_a_question(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        await person.program.engine.ask(_use_brave)
        dialog = await opened(person)
        dialog.show_page(WEB)
        footer = find(dialog, QLabel, "settings.said")

        def remove_button() -> QPushButton:  # created again when the settings have been read
            return find(dialog, QPushButton, "settings.web.remove_key")

        await until(lambda: remove_button().isEnabled(), "the search engine")
        for answer_name in ("confirm.cancel", "confirm.yes"):
            click(remove_button())
            confirm = await until(lambda: dialog.findChild(ConfirmDialog), "the question")
            assert confirm.focusWidget() is find(confirm, QPushButton, "confirm.cancel")
            click(find(confirm, QPushButton, answer_name))
            await until(lambda: dialog.findChild(ConfirmDialog) is None, "the answer")
        await until(lambda: "Deleted the API key for" in footer.text(), "that there was a key until then")

    live(qapp, home, act)


async def _use_brave(engine: Engine) -> None:
    engine.settings.change(search_engine="brave")
    await engine.providers.set_api_key("brave", "brave-0123456789")


async def _current_settings(engine: Engine) -> Settings:
    return engine.settings.current


def test_a_rule_is_written_tested_edited_revoked_and_restored(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        dialog = await opened(person)
        dialog.show_page(RULES)
        assert find(dialog, QLabel, "settings.rules.none").isVisible()

        async def write_rule(effect: str, tool: str, pattern: str) -> QDialog:
            await until(lambda: visible_editor(dialog) is None, "the end of the last editor")
            click(find(dialog, QPushButton, "settings.rules.add"))
            editor = await until(lambda: visible_editor(dialog), "the editor")
            fields = find(editor, QComboBox, "rule.effect"), find(editor, QComboBox, "rule.tool")
            for field, value in zip(fields, (effect, tool), strict=True):
                field.setCurrentIndex(field.findData(value))
            scope = find(editor, QComboBox, "rule.scope")
            scope.setCurrentIndex(scope.findData("always"))
            write(find(editor, QLineEdit, "rule.pattern"), pattern)
            press(find(editor, QLineEdit, "rule.pattern"), Qt.Key.Key_Return)
            return editor

        editor = await write_rule("allow", "run", "python *")
        error = find(editor, QLabel, "rule.error")
        await until(error.isVisible, "the refusal")
        assert "can do anything" in error.text()
        click(find(editor, QPushButton, "rule.cancel"))
        click(find(find(editor, ConfirmDialog, "confirm"), QPushButton, "confirm.yes"))
        await write_rule("deny", "write", "notes/**")
        [rule] = await until(lambda: saved_rules(person), "the rule")
        result = find(dialog, QLabel, "settings.rules.result")
        await write_rule("ask", "run", "git tag")
        await until(lambda: len(saved_rules(person)) == 2, "the second rule")
        command = find(dialog, QLineEdit, "settings.rules.command")
        write(command, "git tag v1")
        press(command, Qt.Key.Key_Return)
        await until(lambda: result.isVisible() and "Asks you first: Your rule: ask run: git tag" in result.text(), "it")

        assert not await written(person, "denied.md")
        click(find(dialog, QPushButton, f"settings.revoke.{rule.id}"))
        undo = find(dialog, QPushButton, "settings.rules.undo")
        await until(undo.isVisible, "the offer to undo")
        assert "deny write: notes/**" in find(dialog, QLabel, "settings.rules.revoked").text()
        assert await written(person, "allowed.md")
        await _cannot_undo(home, dialog, undo)
        click(undo)
        await until(lambda: len(saved_rules(person)) == 2, "the restored rule")
        await until(lambda: not undo.isVisible(), "the end of the offer")
        assert not await written(person, "denied.md")

        click(await until(lambda: dialog.findChild(QPushButton, f"settings.edit.{rule.id}"), "its row"))
        editor = await until(lambda: visible_editor(dialog), "the editor")
        pattern = find(editor, QLineEdit, "rule.pattern")
        assert pattern.text() == "notes/**" and find(editor, QComboBox, "rule.effect").currentData() == "deny"
        pattern.setText("other/**")
        click(find(editor, QPushButton, "rule.save"))
        await until(lambda: any(each.pattern == "other/**" for each in saved_rules(person)), "the change")
        assert await written(person, "denied.md") and person.notice() == ""

    live(qapp, home, act)


async def _cannot_undo(home: Path, dialog: SettingsDialog, undo: QPushButton) -> None:
    """Click Undo while another program locks the data file; it is offered again, with the focus."""
    with closing(sqlite3.connect(home / "journeyman.db", isolation_level=None)) as other_program:
        other_program.execute("BEGIN IMMEDIATE")
        click(undo)
        footer = find(dialog, QLabel, "settings.said")
        await until(lambda: "Another program is using the data file." in footer.text(), "the error", LOCK_BOUND_S)
    assert undo.isVisible() and undo.isEnabled() and dialog.focusWidget() is undo


def test_permission_lists_of_other_agents_are_shown_and_imported(
    qapp: QApplication, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        dialog = await opened(person)
        dialog.show_page(RULES)

        async def importing() -> ImportRulesDialog:
            press(find(dialog, QPushButton, "settings.rules.import"), Qt.Key.Key_Space)
            return await until(lambda: dialog.findChild(ImportRulesDialog), "the lists")

        empty = await importing()
        assert "No permission lists" in find(empty, QLabel, "import_rules.found").text()
        assert not find(empty, QPushButton, "import_rules.yes").isVisible()
        press(empty, Qt.Key.Key_Escape)
        await until(lambda: not dialog.findChild(ImportRulesDialog), "it is closed")
        (tmp_path / ".claude").mkdir()
        lists = {"allow": ["Bash(python:*)", "Bash(git log:*)"], "deny": ["Edit(notes/**)"]}
        (tmp_path / ".claude/settings.json").write_text(json.dumps({"permissions": lists}))
        lists_dialog = await importing()
        shown = find(lists_dialog, QPlainTextEdit, "import_rules.entries").toPlainText()
        assert "not imported: `python` can do anything" in shown and "allow run: git log *" in shown
        assert not saved_rules(person), "nothing is imported before the user agrees"
        click(find(lists_dialog, QPushButton, "import_rules.yes"))
        await until(lambda: len(saved_rules(person)) == 4, "the rules")
        assert not await written(person, "denied.md")
        again = await importing()
        assert "No new rules" in find(again, QLabel, "import_rules.found").text()
        again.close()

    live(qapp, home, act)


async def written(person: Person, name: str) -> bool:
    """Return whether a run could write this file."""
    call = {"name": "write", "arguments": {"path": f"notes/{name}", "content": "x"}}
    script = json.dumps({"replies": [{"calls": [call]}, {"text": "Done."}]})
    session = await person.start(script)()
    await person.program.engine.ask(lambda engine: engine.wait_idle(session))
    return (person.home / "work" / "notes" / name).exists()


def visible_editor(dialog: SettingsDialog) -> RuleDialog | None:
    return next((each for each in dialog.findChildren(RuleDialog) if each.isVisible()), None)


def saved_rules(person: Person) -> tuple[PermissionRule, ...]:
    return RuleStore(database_path(person.home), None).read().rules or ()


def test_a_schedule_is_added_and_removed(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    """Schedules are added and removed; errors are shown in the footer."""

    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        dialog = await opened(person)
        dialog.show_page("Schedules")
        foot = find(dialog, QLabel, "settings.said")
        write(find(dialog, QLineEdit, "settings.schedules.task"), "Look after it.")
        write(find(dialog, QLineEdit, "settings.schedules.folder"), str(tmp_path))
        write(find(dialog, QLineEdit, "settings.schedules.at"), "soon")
        click(find(dialog, QPushButton, "settings.schedules.add"))
        await until(lambda: "is not a time" in foot.text(), "the error")
        find(dialog, QLineEdit, "settings.schedules.at").setText("2999-12-31 09:00")
        click(find(dialog, QPushButton, "settings.schedules.add"))
        await until(lambda: "Added: once, 2999-12-31 09:00" in foot.text(), "the confirmation")
        [made] = await person.program.engine.ask(every)
        assert (made.task, made.folder) == ("Look after it.", str(tmp_path))
        remove = f"settings.schedule.{made.id}.remove"
        click(await until(lambda: dialog.findChild(QPushButton, remove), "its row"))
        await until(lambda: dialog.findChild(QPushButton, remove) is None, "its removal")
        assert await person.program.engine.ask(every) == [] and person.notice() == ""

    live(qapp, home, act)


async def every(engine: Engine) -> list[Schedule]:
    assert engine.schedules.running
    return engine.schedules.all()


def test_a_hit_opens_its_session_at_its_position(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start()()
        window.show_session(session)
        await until(person.card, "the card")
        window.show_start()
        window.sessions.open_search()
        write(find(window.sessions, QLineEdit, "sessions.search"), "Kind")
        (found, seq) = await until(lambda: (hits := hit_positions(window.sessions)) and hits[0], "the hit")
        assert found == session
        window.sessions.hit_chosen.emit(found, seq)
        assert window.selection.session == session
        row = window.view.page.view.currentIndex().row()
        step = window.view.page.model.step_at(row)
        assert step is not None and step.kind == "question"

    live(qapp, home, act)


def test_a_backup_is_restored_between_two_windows(qapp: QApplication, home: Path) -> None:
    names: list[str] = []

    async def make(person: Person) -> None:
        names.append(await person.start()())
        made = await person.program.engine.ask(lambda engine: engine.back_up())
        names.append(made.path.stem.removeprefix("journeyman-"))
        names.append(await person.start()())
        await until(lambda: len(person.window.sessions.all_sessions()) == 2, "both sessions")
        dialog = await opened(person)
        dialog.show_page("Data")
        button = await until(lambda: dialog.findChild(QPushButton, f"settings.restore.{names[1]}"), "the backup")
        click(button)
        click(find(dialog, QPushButton, "confirm.yes"))
        await until(lambda: person.program.backup == names[1], "the restore request")
        await until(lambda: not person.shell.isVisible(), "the end of the window")

    async def look(person: Person) -> None:
        await until(lambda: person.window.selection.session, "the session of the backup")
        assert [row.id for row in person.window.sessions.all_sessions()] == [names[0]]
        said = person.window.toast.accessibleName()
        assert f"The backup of {names[1]} was restored." in said

    live(qapp, home, make)
    restore_backup(home, names[1], WindowState(home))
    live(qapp, home, look)
    restore_backup(home, "never", WindowState(home))
    said = take_restore_result(WindowState(home))
    assert isinstance(said, ErrorDetails) and "cannot be restored" in said.message
    assert take_restore_result(WindowState(home)) is None


def test_the_data_are_checked_for_damage_on_demand_and_a_repair_is_offered(qapp: QApplication, home: Path) -> None:
    made(home, 20)

    async def act(person: Person) -> None:
        dialog = await opened(person)
        dialog.show_page("Data")
        check = await until(lambda: dialog.findChild(QPushButton, "settings.data.check"), "the button")
        click(check)
        await until(lambda: "no damage" in find(dialog, QLabel, "settings.said").text(), "the result")
        checked = await until(lambda: dialog.findChild(QLabel, "settings.data.checked"), "the figures")
        assert "most recently on 20" in checked.text()
        restarted: list[str] = []
        person.window.restore_requested.disconnect()
        person.window.restore_requested.connect(restarted.append)
        break_index(database_path(home))
        click(await until(lambda: dialog.findChild(QPushButton, "settings.data.check"), "the button"))
        offer = await until(lambda: dialog.findChild(ConfirmDialog), "the offer")
        assert "damaged" in " ".join(text.text() for text in offer.findChildren(QLabel))
        click(next(button for button in offer.findChildren(QPushButton) if "Repair" in button.text()))
        await until(lambda: restarted == [""], "the restart")
        report = read_report(database_path(home))
        assert report is not None and report.errors

    live(qapp, home, act)


def test_damage_is_found_in_the_background_and_repaired_at_the_next_start(qapp: QApplication, home: Path) -> None:
    made(home, 20)
    break_index(database_path(home))  # the quick check of a start does not see it

    async def act(person: Person) -> None:
        await until(lambda: "The data file is damaged." in person.notice(), "the notice")
        report = read_report(database_path(home))
        assert report is not None and report.errors

    async def act_after_restart(person: Person) -> None:
        await until(lambda: "Nothing was lost." in person.notice(), "the notice of the repair")
        assert await asyncio.to_thread(IntegrityCheck(database_path(home)).run) == ()

    live(qapp, home, act)
    live(qapp, home, act_after_restart)
