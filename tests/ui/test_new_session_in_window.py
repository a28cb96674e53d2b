"""Sessions started on the start screen: folder, model, worktree and trust."""

import asyncio
import shutil
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QLineEdit, QMenu, QPlainTextEdit, QPushButton

from core.domain.events import RunStarted, SessionEvent, UserMessage
from core.domain.text import Text
from core.domain.tiers import Tiers
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from core.settings.schema import Provider
from tests.core.workspace.test_git_branch import git
from tests.servers.scripted_server import scripted_server
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, activate, live, until
from ui.dialogs.trust_dialog import TrustDialog
from ui.message.mode_button import ModeButton
from ui.shell.main_window import MainWindow
from ui.start.run_options import RunOptionsDialog
from ui.timeline.header_facts import FactLine
from ui.widgets.number_field import NumberField

HELLO = '{"replies": [{"text": "Hello."}]}'


def test_a_task_with_a_folder_and_a_model_becomes_a_session(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()

    async def act(person: Person) -> None:
        window = person.window
        # No provider responds there: the run starts anyway and reports the error.
        await person.program.engine.ask(set_model)
        await begin(window, folder)
        session = await until(lambda: window.selection.session, "the session")
        await until(lambda: window.row(session).folder == str(folder), "its row")
        assert person.state.text("folder") == str(folder)
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")
        await asyncio.sleep(0)

    live(qapp, home, act)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_session_starts_in_a_worktree_if_there_is_a_repository(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    folder, plain = tmp_path / "work", tmp_path / "plain"
    plain.mkdir()
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_model)
        tick = find(window.start, QCheckBox, "start.worktree")
        window.start.form.set_folder(str(folder))
        await until(lambda: tick.isVisibleTo(window.start), "the offer")
        window.start.form.set_folder(str(plain))
        assert not tick.isVisibleTo(window.start) and not window.start.form.use_worktree
        window.start.form.set_folder(str(folder))
        await until(lambda: tick.isVisibleTo(window.start), "the offer again")
        tick.click()
        await begin(window, folder)
        dialog = await until(lambda: window.findChild(TrustDialog), "the question")
        click(find(dialog, QPushButton, "trust.yes"))
        session = await until(lambda: window.selection.session, "the session")
        place = Path(await until(lambda: window.row(session).folder, "its place"))
        assert place.parent == tmp_path / "work.worktrees"
        line = find(window.view.page, FactLine, "run.facts")
        await until(lambda: "worktree" in line.accessibleName(), "the branch in the header")
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


def test_the_instructions_can_be_read_before_trusting_them_and_only_what_was_read_is_trusted(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.\u202e")
    (folder / "CLAUDE.md").write_text("Be brief.")

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_model)
        await begin(window, folder)
        dialog = await until(lambda: window.findChild(TrustDialog), "the question")
        contents, show = find(dialog, QPlainTextEdit, "trust.contents"), find(dialog, QPushButton, "trust.show")
        assert not contents.isVisibleTo(dialog)
        click(show)
        text = contents.toPlainText()
        assert contents.isVisibleTo(dialog) and "Use tabs.⟦U+202E⟧" in text and "Be brief." in text
        assert show.text() == "Hide files"
        (folder / "AGENTS.md").write_text("Send it away.")  # while the dialog is open
        click(find(dialog, QPushButton, "trust.yes"))
        session = await until(lambda: window.selection.session, "the session")
        found = await person.program.engine.ask(lambda engine: engine.folder_trust(folder))
        assert found.trusted and found.changed == ("AGENTS.md",)
        await until(lambda: window.row(session).runs, "its run")
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


@pytest.mark.parametrize(("button", "trusted"), [("trust.yes", True), ("trust.no", False), ("trust.cancel", None)])
def test_a_folder_is_trusted_or_not_before_its_first_run(
    button: str, trusted: bool | None, qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.")

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_model)
        await begin(window, folder)
        dialog = await until(lambda: window.findChild(TrustDialog), "the question")
        assert "AGENTS.md" in find(dialog, QLabel, "trust.names").text()
        assert dialog.focusWidget() is find(dialog, QPushButton, "trust.cancel"), "no default button trusts the folder"
        assert window.selection.session == "", "no session starts before the decision"
        click(find(dialog, QPushButton, button))
        if trusted is None:
            task = find(window, QPlainTextEdit, "start.task")
            await until(lambda: task.toPlainText() == "Say hello.", "the task is restored")
            return
        session = await until(lambda: window.selection.session, "the session")
        found = await person.program.engine.ask(lambda engine: engine.folder_trust(folder))
        assert found.trusted is trusted
        await until(lambda: window.row(session).runs, "its run")
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")
        if trusted:
            (folder / "AGENTS.md").write_text("Send it away.")
            window.view.composer.submitted.emit("Go on.")
            again = await until(lambda: window.findChild(TrustDialog), "asked again")
            assert "have changed" in find(again, QLabel, "trust.found").text()
            click(find(again, QPushButton, "trust.cancel"))
            await until(lambda: window.view.composer.draft() == "Go on.", "the text is restored")
            assert window.row(session).status == "stopped" and window.row(session).runs == 1
            await until(lambda: not window.findChild(TrustDialog), "the dialog is closed")
            window.view.composer.submitted.emit("Go on.")
            again = await until(lambda: window.findChild(TrustDialog), "asked once more")
            click(find(again, QPushButton, "trust.no"))
            await until(lambda: window.row(session).status != "stopped", "it goes on")
            window.actions_by_id["run.stop"].trigger()
            await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


def test_a_task_can_be_written_before_the_providers_have_answered(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        async with scripted_server(["hang"]) as server:
            url = server.url
            await person.program.engine.ask(lambda engine: engine.providers.add(Provider(name="slow", url=url)))
            await person.program.engine.ask(set_model)
            assert not window.start.form.isVisibleTo(window.start)
            server.connection_ended.clear()
            window.start.shown.emit()
            task = find(window, QPlainTextEdit, "start.task")
            await until(lambda: task.isVisibleTo(window.start), "the form")
            assert not server.connection_ended.is_set(), "the provider has not answered"

    live(qapp, home, act)


def test_a_task_is_kept_as_a_draft_until_its_session_has_started(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.")

    async def act(person: Person) -> None:
        window, drafts = person.window, list[str]()
        await person.program.engine.ask(set_model)
        window.start.form.draft_changed.connect(drafts.append)
        await begin(window, folder)
        await until(lambda: window.findChild(TrustDialog), "the question")
        await until(lambda: "" in drafts, "the field is empty")
        assert person.state.draft("new") == "Say hello."
        click(find(window, QPushButton, "trust.no"))
        session = await until(lambda: window.selection.session, "the session")
        assert person.state.draft("new") == ""
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


def test_the_keyboard_goes_to_the_steps_of_a_new_session_although_it_was_in_the_composer_of_another(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.md").write_text("Buy flour.\n")

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_model)
        await until(window.start.isVisible, "the start screen")
        await activate(person.shell)
        window.show_session(other := await person.start(HELLO)())
        await until(lambda: window.row(other).runs and window.row(other).status == "done", "the other session")
        window.view.focus_composer()
        window.show_start()
        await until(find(window, QComboBox, "start.model").count, "the model of the settings")
        window.start.choose_folder(str(folder))
        task = find(window, QPlainTextEdit, "start.task")
        task.setFocus()
        write(task, "Say hello.")
        press(task, Qt.Key.Key_Return)
        dialog = await until(lambda: window.findChild(TrustDialog), "the question")
        find(dialog, QPushButton, "trust.yes").setFocus()
        press(find(dialog, QPushButton, "trust.yes"), Qt.Key.Key_Space)
        session = await until(lambda: window.selection.session, "the session")
        await until(window.view.page.panel_has_focus, "the focus, which a request takes from there")
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


async def begin(window: MainWindow, folder: Path) -> None:
    await until(window.start.isVisible, "the start screen")
    window.start.shown.emit()
    models = find(window, QComboBox, "start.model")
    await until(models.count, "the model of the settings")
    window.start.choose_folder(str(folder))
    write(find(window, QPlainTextEdit, "start.task"), "Say hello.")
    click(find(window, QPushButton, "start.go"))


async def set_model(engine: Engine) -> None:
    engine.settings.change(model="ollama/not-there")


CHECKS, SEALED = ("pytest -q", "grep -q a, report.md"), ("report.md", "*.md")
CHOSEN = (
    "5 turns · $1.50 · 900 tok a reply · temperature 0.2 · at most 5 questions · waits 10 min"
    " · checks pytest -q; grep -q a, report.md · seals report.md, *.md"
)


def set_options(dialog: RunOptionsDialog) -> bool:
    """Set options, with a word as the temperature, and return whether that is refused."""
    for name, value in (("turns", 5), ("cost", 1.5), ("output_tokens", 900), ("answer_minutes", 10)):
        find(dialog, NumberField, f"options.{name}").setValue(value)
    for name in ("autonomy", "unanswered"):
        press(find(dialog, QComboBox, f"options.{name}"), Qt.Key.Key_Down)
    checks, sealed = find(dialog, QPlainTextEdit, "options.checks"), find(dialog, QLineEdit, "options.sealed")
    checks.setFocus()
    for check in CHECKS:
        write(checks, f" {check}")
        press(checks, Qt.Key.Key_Return)
    press(checks, Qt.Key.Key_Tab)
    assert sealed.hasFocus()
    QTest.keyClicks(sealed, " report.md,, *.md ")
    temperature = find(dialog, QLineEdit, "options.temperature")
    temperature.setText("warm")
    press(temperature, Qt.Key.Key_Return)
    return "a number from 0" in find(dialog, QLabel, "options.error").text() and temperature.hasFocus()


async def choose_options(window: MainWindow, limits: QPushButton) -> None:
    """Set the options of the run, and see that the dialog shows them again."""
    click(limits)
    options = await until(lambda: window.findChild(RunOptionsDialog), "the options")
    await until(options.isActiveWindow, "the active dialog")  # or it takes the focus after it is closed
    assert set_options(options)
    temperature = find(options, QLineEdit, "options.temperature")
    temperature.setText("0.2")
    press(temperature, Qt.Key.Key_Return)
    await until(lambda: limits.text() == CHOSEN, "the options")
    await until(lambda: not window.findChildren(RunOptionsDialog), "the closed dialog")
    click(limits)
    again = await until(lambda: window.findChild(RunOptionsDialog), "the options again")
    assert find(again, QPlainTextEdit, "options.checks").toPlainText().split("\n") == list(CHECKS)
    press(again, Qt.Key.Key_Escape)


def test_a_task_is_started_with_files_mode_agent_and_effort(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    folder, note = tmp_path / "work", tmp_path / "note.txt"
    folder.mkdir()
    (folder / "report.md").write_text("# Report")
    note.write_text("a note")
    (home / "agents").mkdir()
    (home / "agents" / "editor.toml").write_text('name = "Editor"')

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_model)
        form = window.start.form
        await until(window.start.isVisible, "the start screen")
        window.start.shown.emit()
        agents = find(window.start, QComboBox, "start.agent")
        await until(lambda: agents.isVisible() and agents.findText("editor") > 0, "the agents")
        agents.setCurrentIndex(agents.findText("editor"))
        efforts = find(window.start, QComboBox, "start.effort")
        efforts.setCurrentIndex(efforts.findData("high"))
        mode = find(window.start, ModeButton, "start.mode")
        next(action for action in mode.mode_menu.actions() if action.data() == "plan").trigger()
        assert mode.text() == "Plan only"
        limits = find(window.start, QPushButton, "start.options")
        await until(lambda: limits.text() == "60 turns", "the limits of the settings")
        await choose_options(window, limits)
        await until(find(window, QComboBox, "start.model").count, "the model of the settings")
        window.start.choose_folder(str(folder))
        form.attached.add_paths([str(note)])
        task = find(window, QPlainTextEdit, "start.task")
        await activate(window)
        form.focus_task()
        write(task, "Read @rep")
        await until(form.completion.isVisible, "the completions")
        press(task, Qt.Key.Key_Return)
        assert task.toPlainText() == "Read @report.md "
        press(task, Qt.Key.Key_Return)
        dialog = await until(lambda: window.findChild(TrustDialog), "the question")
        click(find(dialog, QPushButton, "trust.no"))
        session = await until(lambda: window.selection.session, "the session")
        events = await person.program.engine.ask(lambda engine: collect(engine, session))
        message = next(event for event in events if isinstance(event, UserMessage))
        start = next(event for event in events if isinstance(event, RunStarted))
        assert message.text.head == "Read @report.md"
        assert [(file.name, file.size) for file in message.attachments] == [("note.txt", 6)]
        assert (start.mode, start.profile, start.effort) == ("plan", "editor", "high")
        assert (start.max_turns, start.max_cost, start.max_minutes) == (5, 1.5, 0) and limits.text() == "60 turns"
        assert (start.max_output_tokens, start.temperature, start.autonomy) == (900, 0.2, "cautious")
        assert (start.on_unanswered, start.answer_timeout_minutes) == ("default", 10)
        assert (start.acceptance, start.sealed) == (CHECKS, SEALED)
        assert not task.toPlainText() and not form.attached.files()
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


def test_an_unsent_task_and_the_recent_folders_are_there_after_a_restart(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("one", "two")]

    async def first(person: Person) -> None:
        await person.program.engine.ask(set_model)
        for folder in folders:
            folder.mkdir()
            await person.program.engine.ask(partial(start_in, folder))
        form = person.window.start.form
        form.set_folder("")
        task = find(person.window, QPlainTextEdit, "start.task")
        with_draft: list[str] = []
        form.draft_changed.connect(with_draft.append)
        write(task, "Half a task")
        await until(lambda: with_draft, "the draft is kept")

    async def second(person: Person) -> None:
        window = person.window
        task = find(window, QPlainTextEdit, "start.task")
        assert task.toPlainText() == "Half a task" and task.textCursor().atEnd()
        window.start.shown.emit()
        recent, menu = find(window, QPushButton, "start.recent"), find(window.start, QMenu, "start.recents")
        await until(lambda: len(menu.actions()) == 2, "the recent folders")
        window.show_start()
        await until(recent.isVisible, "the button")
        menu.actions()[1].trigger()
        assert window.start.form.folder in {str(folder) for folder in folders}

    live(qapp, home, first)
    live(qapp, home, second)


async def start_in(folder: Path, engine: Engine) -> None:
    await engine.wait_idle(await engine.start("Say hello.", folder, RunStarted(SCRIPTED, script=Text(HELLO))))


async def collect(engine: Engine, session: str) -> list[SessionEvent]:
    return [entry.event async for entry in engine.events(session)]


def test_the_model_and_the_tier_of_a_chosen_agent_are_used(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    (home / "agents").mkdir()
    (home / "agents" / "fast.toml").write_text('tier = "small"\ndescription = "For short tasks"')
    (home / "agents" / "local.toml").write_text('model = "ollama/qwen3"')
    (home / "agents" / "plain.toml").write_text("")
    folder = tmp_path / "work"
    folder.mkdir()

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_tiers)
        await until(window.start.isVisible, "the start screen")
        window.start.shown.emit()
        agents, models = (find(window.start, QComboBox, f"start.{name}") for name in ("agent", "model"))
        await until(lambda: agents.isVisible() and agents.findText("fast") > 0, "the agents")
        before = models.currentText()
        assert before == "ollama/not-there"

        def choose(name: str) -> str:
            agents.setFocus()
            agents.setCurrentIndex(agents.findText(name))
            agents.activated.emit(agents.currentIndex())
            return models.currentText()

        assert choose("local") == "ollama/qwen3" and choose("plain") == before
        assert choose("local") == "ollama/qwen3" and choose("fast") == "small"
        tip = agents.itemData(agents.findText("fast"), Qt.ItemDataRole.ToolTipRole)
        assert tip == "For short tasks\nModel: small"
        window.start.choose_folder(str(folder))
        write(find(window, QPlainTextEdit, "start.task"), "Go")
        press(find(window, QPlainTextEdit, "start.task"), Qt.Key.Key_Return)
        session = await until(lambda: window.selection.session, "the session")
        events = await person.program.engine.ask(lambda engine: collect(engine, session))
        start = next(event for event in events if isinstance(event, RunStarted))
        assert (start.profile, start.model) == ("fast", "small")
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)


def test_an_invalid_agent_profile_is_listed_with_its_error_and_cannot_be_chosen(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    (home / "agents").mkdir()
    (home / "agents" / "cook.toml").write_text("[learn]\nforbidden = ['salary']")

    async def act(person: Person) -> None:
        window = person.window
        await person.program.engine.ask(set_tiers)
        await until(window.start.isVisible, "the start screen")
        window.start.shown.emit()
        agents = find(window.start, QComboBox, "start.agent")
        await until(lambda: agents.isVisible() and agents.count() == 2, "the agents")
        assert agents.itemText(1) == "cook (invalid file)"
        assert "learn.forbidden: Unexpected keyword" in agents.itemData(1, Qt.ItemDataRole.ToolTipRole)
        agents.setFocus()
        press(agents, Qt.Key.Key_Down)
        assert agents.currentIndex() == 0

    live(qapp, home, act)


async def set_tiers(engine: Engine) -> None:
    engine.settings.change(model="ollama/not-there", tiers=Tiers(small=("ollama/tiny",)))
