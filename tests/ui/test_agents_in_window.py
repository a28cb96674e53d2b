"""An agent of others in the real window: chosen where a run begins, asked about with the mouse, stopped, set up."""

import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton

from core.settings.schema import OutsideAgent
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop import Person, live, until
from ui.settings.agents import AgentsPage
from ui.settings.dialog import SettingsDialog

AGENT = Path(__file__).parents[1] / "servers" / "acp_agent.py"


def gone(page: AgentsPage) -> bool:
    """No agent that was added is shown."""
    return not [b for b in page.findChildren(QPushButton, "settings.agent.box.remove") if b.isVisible()]


async def knows(person: Person, agent: OutsideAgent) -> None:
    """The person has added it."""

    async def add(engine: object) -> None:
        engine.settings.change(agents=(agent,))  # type: ignore[attr-defined]

    await person.program.engine.ask(add)


async def begun(person: Person, task: str, name: str) -> None:
    """A run by this agent, begun on the first screen."""
    window = person.window
    (folder := person.home / "work").mkdir(exist_ok=True)
    window.new_run()
    models = find(window.start, QComboBox, "start.model")
    await until(lambda: models.findText(name) >= 0, "the agent is offered")
    window.start.begin.set_folder(str(folder))
    models.setCurrentIndex(models.findText(name))
    write(window.start.begin._words, task)
    click(find(window.start, QPushButton, "start.go"))
    await until(lambda: window.selection.session, "it has begun")


async def allowed_by_mouse(person: Person, option: str) -> None:
    """The card's option and its button, clicked."""
    card = await until(lambda: person.window.view.asking.card, "the agent asks")
    click(find(card, QPushButton, f"consent.option.{option}"))
    button = find(card, QPushButton, "consent.allow")
    press(card.form, Qt.Key.Key_End)  # it is read to its end
    await until(button.isEnabled, "the moment has passed")
    click(button)


def test_it_is_chosen_asked_about_with_the_mouse_and_writes_a_file(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        await knows(person, OutsideAgent(name="box", command=sys.executable, args=(str(AGENT),)))
        await begun(person, "edit", "agent/box")
        card = await until(lambda: person.window.view.asking.card, "the agent asks")
        names = [b.text() for b in card.findChildren(QPushButton) if b.objectName().startswith("consent.option.")]
        assert names == ["Allow once", "Always allow edits", "Reject", "Never again"]
        click(find(card, QPushButton, "consent.option.never"))
        assert find(card, QPushButton, "consent.allow").text() == "Answer no"
        await allowed_by_mouse(person, "ever")
        await until((home / "work" / "new.txt").is_file, "the file is written")
        await until(lambda: person.window.view.asking.card is None, "nothing waits")

    live(qapp, home, act)


def test_agents_are_added_tested_and_removed_in_the_settings(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        person.window.settings_wanted.emit()
        dialog = await until(lambda: person.window.findChild(SettingsDialog), "the settings")
        dialog.show_page("Other agents")
        page = dialog.agents
        write(find(page, QLineEdit, "settings.agents.name"), "box")
        write(find(page, QLineEdit, "settings.agents.command"), f"{sys.executable} {AGENT}")
        press(find(page, QLineEdit, "settings.agents.command"), Qt.Key.Key_Return)
        test = await until(lambda: page.findChild(QPushButton, "settings.agent.box.test"), "it was added")
        click(test)
        said = find(page, QLabel, "settings.agent.box.result")
        await until(lambda: "Scripted Agent 1.2 answers" in said.text(), "it answers")
        click(find(page, QPushButton, "settings.agent.box.remove"))
        await until(lambda: gone(page), "it was removed")

    live(qapp, home, act)
