"""Open pages follow what commands in a terminal, and runs, change in the same data folder."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget

from app.process import data_folder
from app.process.data_folder_lock import DataFolderLock
from tests.e2e.killed_run import program_command, program_environment
from tests.ui.hands import find
from tests.ui.memory.test_page import add_memory, opened, texts
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.settings_dialog import RULES, SCHEDULES, SettingsDialog


@pytest.fixture
def owned(home: Path) -> Iterator[Path]:
    """Hold the lock of the data folder as the program does, so that commands are sent to the window's process."""
    lock = DataFolderLock(data_folder.lock_path(home))
    assert lock.acquire()
    yield home
    lock.release()


async def run_in_terminal(person: Person, *words: str) -> str:
    """Run a command in another process."""
    command, environment = program_command(*words), program_environment(person.home)
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_memory_page_follows_runs_and_other_processes(qapp: QApplication, owned: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        await add_memory(person, "They like tea.")
        await until(lambda: texts(page) == ["They like tea."], "the memory of a run")
        await run_in_terminal(person, "memory", "add", "The printer is on the second floor.")
        await until(lambda: len(texts(page)) == 2, "the memory of another process")
        page.header.search.setText("printer")
        await until(lambda: len(texts(page)) == 1, "the search")
        await run_in_terminal(person, "memory", "add", "The printer needs paper.")
        await until(lambda: len(texts(page)) == 2, "another match")
        assert page.header.search.text() == "printer"

    live(qapp, owned, act)


def test_the_settings_follow_other_processes(qapp: QApplication, owned: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        window.settings_page_requested.emit("Models and API keys")
        dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
        await until(lambda: dialog.providers.overview, "the providers")
        await run_in_terminal(person, "models", "use", "ollama/qwen3")
        await until(lambda: find(dialog, QLineEdit, "settings.model").text() == "ollama/qwen3", "the model")
        await until(lambda: dialog.providers.overview and dialog.providers.overview.model == "ollama/qwen3", "its mark")
        dialog.show_page(RULES)
        assert "pytest" not in shown_texts(dialog.rules)
        await run_in_terminal(person, "rules", "add", "allow", "run", "pytest *")
        await until(lambda: "pytest" in shown_texts(dialog.rules), "the rule")
        dialog.show_page(SCHEDULES)
        await until(lambda: dialog.schedules.findChild(QLabel), "the schedules")
        await run_in_terminal(person, "schedule", "add", "Sort the inbox", "--every", "1d", "-C", str(person.home))
        await until(lambda: "Sort the inbox" in shown_texts(dialog.schedules), "the schedule")
        dialog.close()

    live(qapp, owned, act)


def shown_texts(page: QWidget) -> str:
    return " ".join(part.text() for part in page.findChildren(QLabel))
