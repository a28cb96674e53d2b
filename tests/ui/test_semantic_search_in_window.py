"""Semantic search is turned on and off by a button in the Settings window."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton

from core.memory.embedding_models import MODEL_FOLDER, PACKAGE
from core.settings.schema import MEMORY
from tests.core.memory.small_model import small_model
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.settings_dialog import SettingsDialog

MODULE = PACKAGE.replace("-", "_")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an installed package with a small model."""
    folder = tmp_path / "packages" / MODULE
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    small_model(folder / MODEL_FOLDER)
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


async def opened(person: Person) -> SettingsDialog:
    await until(person.window.start.isVisible, "the start page")
    person.window.settings_requested.emit()
    dialog = await until(lambda: person.window.findChild(SettingsDialog), "the settings")
    dialog.show_page(MEMORY)
    return dialog


def test_one_click_turns_semantic_search_on_and_another_off(qapp: QApplication, home: Path, package: Path) -> None:
    async def act(person: Person) -> None:
        dialog = await opened(person)
        text, field = (find(dialog, QLabel, "settings.semantic.status"), "settings.embedding_model.path")
        enable = find(dialog, QPushButton, "settings.semantic.enable")
        await until(lambda: "is off" in text.text() and enable.isVisible(), "the status")
        click(enable)
        await until(lambda: "0 of 0 memories indexed" in text.text(), "the model")
        assert find(dialog, QLineEdit, field).text() == PACKAGE and not enable.isVisible()
        assert find(dialog, QPushButton, "settings.semantic.disable").hasFocus()
        click(find(dialog, QPushButton, "settings.semantic.disable"))
        await until(lambda: "is off" in text.text() and enable.isVisible(), "the end of it")
        assert find(dialog, QLineEdit, field).text() == ""

    live(qapp, home, act)


def test_installing_and_then_loading_the_model_are_shown(
    qapp: QApplication, home: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pip of this test only moves the package to its place."""
    package.rename(hidden := package.with_name("downloaded"))
    shown: list[str] = []

    async def install(packages: list[str]) -> None:
        shown.append(f"pip install {' '.join(packages)}")
        hidden.rename(package)

    async def act(person: Person) -> None:
        dialog = await opened(person)
        text, show = find(dialog, QLabel, "settings.semantic.status"), dialog.semantic_search.show_installing

        def show_installing(packages: str) -> None:
            show(packages)
            shown.append(text.text())

        monkeypatch.setattr(dialog.semantic_search, "show_installing", show_installing)
        click(find(dialog, QPushButton, "settings.semantic.enable"))
        await until(lambda: "0 of 0 memories indexed" in text.text(), "the model")
        assert shown == [f"Installing {PACKAGE}…", f"pip install {PACKAGE}", "Loading the model…"]

    monkeypatch.setattr("core.memory.model_installation.install_packages", install)
    live(qapp, home, act)


def test_a_model_that_cannot_be_used_leaves_semantic_search_off(qapp: QApplication, home: Path, package: Path) -> None:
    (package / MODEL_FOLDER / "config.json").unlink()

    async def act(person: Person) -> None:
        dialog = await opened(person)
        enable = find(dialog, QPushButton, "settings.semantic.enable")
        click(enable)
        footer, text = find(dialog, QLabel, "settings.said"), find(dialog, QLabel, "settings.semantic.status")
        await until(lambda: "config.json" in footer.text(), "the error")
        await until(lambda: "is off" in text.text() and enable.isVisible(), "the button")
        assert find(dialog, QLineEdit, "settings.embedding_model.path").text() == ""

    live(qapp, home, act)
