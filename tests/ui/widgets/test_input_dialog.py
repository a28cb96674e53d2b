"""Forms ask before they discard what the user has entered."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from tests.ui.hands import click, find, press
from ui.dialogs.edit_message_dialog import EditMessageDialog
from ui.memory.memory_dialog import MemoryDialog
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.add_provider import AddProviderDialog
from ui.settings.rule_dialog import RuleDialog
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog
from ui.widgets.labels import TextField

MAKERS: list[tuple[str, Callable[[Look, QWidget], QDialog]]] = [
    ("resend.text", lambda look, parent: EditMessageDialog(look, "Hello", "", parent)),
    ("memory.write.text", lambda look, parent: MemoryDialog(look, (), None, parent)),
    ("add_mcp_server.source", AddMcpServerDialog),
    ("add_provider.name", AddProviderDialog),
    ("rule.pattern", lambda look, parent: RuleDialog(look, ("run",), "/w", None, parent)),
]


@pytest.mark.parametrize(("field", "make"), MAKERS, ids=[name for name, _ in MAKERS])
def test_escape_asks_before_it_discards_what_was_typed(
    field: str, make: Callable[[Look, QWidget], QDialog], look: Look, qtbot: QtBot
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    untouched = make(look, parent)
    untouched.open()
    press(untouched, Qt.Key.Key_Escape)
    assert not untouched.isVisible(), "nothing was typed"
    dialog = make(look, parent)
    dialog.open()
    edit = find(dialog, QWidget, field)
    assert isinstance(edit, QLineEdit | TextField)
    edit.setText("typed") if isinstance(edit, QLineEdit) else edit.setPlainText("typed")
    press(dialog, Qt.Key.Key_Escape)
    asked = find(dialog, ConfirmDialog, "confirm")
    click(find(asked, QPushButton, "confirm.cancel"))
    assert dialog.isVisible()
    press(dialog, Qt.Key.Key_Escape)
    (asked,) = [box for box in dialog.findChildren(ConfirmDialog) if box.isVisible()]
    click(find(asked, QPushButton, "confirm.yes"))
    qtbot.waitUntil(lambda: not isValid(dialog) or not dialog.isVisible())
