"""A run begun from the first screen, by a model of a real server on this machine."""

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QApplication, QComboBox, QPlainTextEdit, QPushButton

from core.engine.engine import Engine
from tests.ui.hands import click, find, write
from tests.ui.test_desktop import Person, live, until


def test_a_task_with_a_folder_and_a_model_becomes_a_session(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()

    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        # Nobody answers there: the run begins all the same, and says what is missing.
        await person.program.engine.ask(set_model)
        window.start.shown.emit()
        await until(lambda: window.findChild(QComboBox, "start.model").count(), "the model of the settings")  # type: ignore[union-attr]
        window.start.begin_in(str(folder))
        write(find(window, QPlainTextEdit, "start.task"), "Say hello. Then stop.")
        click(find(window, QPushButton, "start.go"))
        session = await until(lambda: window.selection.session, "the session")
        await until(lambda: window.row(session).folder == str(folder), "its row")
        assert person.state.text("folder") == str(folder)
        window.stop_wanted.emit()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")
        await asyncio.sleep(0)

    live(qapp, home, act)


async def set_model(engine: Engine) -> None:
    engine.settings.change(model="ollama/not-there")
