"""What is missing of the sandbox, and the command that installs it, are shown from the status line."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from core.engine.services.sandbox_status import install_command
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.dialogs.sandbox_dialog import SandboxDialog
from ui.style.theme import Look
from ui.widgets.button import Button


def test_the_command_is_that_of_the_package_manager(tmp_path: Path) -> None:
    assert install_command(str(tmp_path)) == ""
    for program, command in (("dnf", "sudo dnf install bubblewrap"), ("apt-get", "sudo apt-get install bubblewrap")):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
        assert install_command(str(tmp_path)) == command
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    assert install_command(str(tmp_path)) == "", "it is installed"


@pytest.mark.colors
def test_the_dialog_says_what_a_command_can_do_and_copies_the_command(look: Look, qtbot: QtBot) -> None:
    window = Button(look, "", name="window")
    qtbot.addWidget(window)
    gaps = ("connect to servers on this computer", "signal other programs")
    dialog = SandboxDialog(
        look, "Commands are partly sandboxed", "Tested: Landlock.", gaps, "sudo apt install x", window
    )
    dialog.open()
    assert "• signal other programs" in find(dialog, QLabel, "sandbox.gaps").text()
    click(find(dialog, QPushButton, "sandbox.copy"))
    assert QApplication.clipboard().text() == "sudo apt install x"
    dialog.close()


def test_the_status_line_opens_it(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        button = find(person.window.status, QPushButton, "status.sandbox")
        await until(button.isVisible, "the result of the test")
        click(button)
        dialog = await until(lambda: person.shell.findChild(SandboxDialog), "the dialog")
        assert find(dialog, QLabel, "sandbox.title").text().startswith("Commands are")
        dialog.close()

    live(qapp, home, act)
