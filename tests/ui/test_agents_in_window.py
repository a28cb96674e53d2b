"""External agents in the real window: chosen on the start screen, approved by mouse, stopped, and set up."""

import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton

from core.engine.api.engine import Engine
from core.settings.schema import ExternalAgentSettings
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.external_agents_page import ExternalAgentsPage
from ui.settings.settings_dialog import AGENTS, SettingsDialog
from ui.widgets.confirm_dialog import ConfirmDialog

AGENT = Path(__file__).parents[1] / "servers" / "acp_agent.py"


def is_removed(page: ExternalAgentsPage) -> bool:
    """Return whether no added agent is listed."""
    return not [b for b in page.findChildren(QPushButton, "settings.agent.box.remove") if b.isVisible()]


def result_of_test(page: ExternalAgentsPage) -> str:
    """Return what the page says about the test of the added agent. Its row is replaced when the list is read again."""
    return next((shown.text() for shown in page.findChildren(QLabel, "settings.agent.box.result")), "")


async def knows(person: Person, agent: ExternalAgentSettings) -> None:
    """Add an external agent to the settings."""

    async def add(engine: object) -> None:
        engine.settings.change(external_agents=(agent,))  # type: ignore[attr-defined]

    await person.program.engine.ask(add)


async def make_default(engine: Engine) -> None:
    engine.settings.change(model="agent/box")


async def default_model(engine: Engine) -> str:
    return engine.settings.current.model


async def start_session(person: Person, task: str, name: str) -> None:
    """Start a session with this agent on the start screen."""
    window = person.window
    (folder := person.home / "work").mkdir(exist_ok=True)
    window.show_start()
    models = find(window.start, QComboBox, "start.model")
    await until(lambda: models.findText(name) >= 0, "the agent is offered")
    window.start.form.set_folder(str(folder))
    models.setCurrentIndex(models.findText(name))
    write(window.start.form._task_field, task)
    click(find(window.start, QPushButton, "start.go"))
    await until(lambda: window.selection.session, "it has begun")


async def allowed_by_mouse(person: Person, option: str) -> None:
    """Click an option of the permission card, then its Allow button."""
    card = await until(lambda: person.window.view.asking.card, "the agent asks")
    click(find(card, QPushButton, f"consent.option.{option}"))
    button = find(card, QPushButton, "consent.allow")
    press(card.form, Qt.Key.Key_End)  # it is read to its end
    await until(button.isEnabled, "the button is enabled")
    click(button)


def test_an_agent_is_chosen_approved_with_the_mouse_and_writes_a_file(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        await knows(person, ExternalAgentSettings(name="box", command=sys.executable, args=(str(AGENT),)))
        await start_session(person, "edit", "agent/box")
        card = await until(lambda: person.window.view.asking.card, "the agent asks")
        names = [b.text() for b in card.findChildren(QPushButton) if b.objectName().startswith("consent.option.")]
        assert names == ["Allow once", "Always allow edits", "Reject", "Never again"]
        click(find(card, QPushButton, "consent.option.never"))
        assert find(card, QPushButton, "consent.allow").text() == "Send this answer"
        await allowed_by_mouse(person, "ever")
        await until((home / "work" / "new.txt").is_file, "the file is written")
        await until(lambda: person.window.view.asking.card is None, "no request is waiting")

    live(qapp, home, act)


def test_agents_are_added_tested_and_removed_in_the_settings(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        person.window.settings_requested.emit()
        dialog = await until(lambda: person.window.findChild(SettingsDialog), "the settings")
        dialog.show_page(AGENTS)
        page = dialog.agents
        write(find(page, QLineEdit, "settings.agents.name"), "box")
        write(find(page, QLineEdit, "settings.agents.command"), f"{sys.executable} {AGENT}")
        press(find(page, QLineEdit, "settings.agents.command"), Qt.Key.Key_Return)
        test = await until(lambda: page.findChild(QPushButton, "settings.agent.box.test"), "it was added")
        click(test)
        await until(lambda: "Scripted Agent 1.2 responds" in result_of_test(page), "it answers")
        await person.program.engine.ask(make_default)
        click(find(page, QPushButton, "settings.agent.box.remove"))
        confirm = await until(lambda: dialog.findChild(ConfirmDialog), "the question")
        assert not is_removed(page) and confirm.focusWidget() is find(confirm, QPushButton, "confirm.cancel")
        click(find(confirm, QPushButton, "confirm.yes"))
        await until(lambda: is_removed(page), "it was removed")
        assert await person.program.engine.ask(default_model) == ""

    live(qapp, home, act)
