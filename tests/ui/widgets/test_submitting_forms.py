"""Ctrl+Enter submits a form from any of its fields."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QListWidget, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find, press, write
from ui.dialogs.export_dialog import ExportDialog, ExportFormat
from ui.dialogs.session_import_dialog import FoundTranscript, SessionImportDialog
from ui.settings.model_address_dialog import ModelAddressDialog
from ui.settings.rule_dialog import RuleDialog
from ui.settings.schedules_page import SchedulesPage
from ui.skills.name_dialog import Choice, NameDialog
from ui.start.run_options import RunOptions, RunOptionsDialog
from ui.style.theme import Look
from ui.widgets.api_key_dialog import ApiKeyDialog

FORMATS = (ExportFormat("markdown", "Markdown", "to read", ".md"), ExportFormat("json", "JSON", "to process", ".json"))


def export_dialog(look: Look, parent: QWidget) -> QWidget:
    dialog = ExportDialog(look, "Letters", FORMATS, "/w", parent)
    dialog.show_secrets("1 password", ["secret"])
    return dialog


def import_dialog(look: Look, parent: QWidget) -> QWidget:
    dialog = SessionImportDialog(look, parent)
    dialog.show_found([FoundTranscript("Claude Code", "/home/a/b.jsonl", 1, 1.0)])
    find(dialog, QListWidget, "import.list").selectAll()
    return dialog


def name_dialog(look: Look, parent: QWidget) -> QWidget:
    return NameDialog(
        look,
        title="New skill",
        hint="",
        button="Create",
        find_error=lambda name: "",
        name="letters",
        choices=[Choice("user", "For every folder"), Choice("project", "For this folder")],
        choices_title="Where",
        parent=parent,
    )


def filled(form: QWidget, texts: dict[str, str]) -> QWidget:
    for name, text in texts.items():
        write(find(form, QLineEdit, name), text)
    return form


def schedule_form(look: Look, parent: QWidget) -> QWidget:
    texts = {"task": "Write letters", "folder": "/w", "at": "18:30"}
    return filled(SchedulesPage(look), {f"settings.schedules.{name}": text for name, text in texts.items()})


# The button that submits each form, the form, and fields of each kind.
FORMS: dict[str, tuple[Callable[[Look, QWidget], QWidget], tuple[str, ...]]] = {
    "rule.save": (lambda look, over: RuleDialog(look, ("run",), "/w", None, over), ("rule.tool", "rule.pattern")),
    "export.go": (export_dialog, ("export.format.json", "export.samples", "export.keep", "export.place")),
    "import.go": (import_dialog, ("import.list", "import.files")),
    "skill.name.yes": (name_dialog, ("skill.name.field", "skill.name.choice")),
    "key.keep": (
        lambda look, over: filled(ApiKeyDialog(look, {"a": "A"}, over), {"key.value": "k"}),
        ("key.server",),
    ),
    "model_address.download": (
        lambda look, over: filled(ModelAddressDialog(look, over), {"model_address.value": "http://a"}),
        ("model_address.value",),
    ),
    "options.apply": (
        lambda look, over: RunOptionsDialog(look, RunOptions(), over),
        ("options.autonomy", "options.checks"),
    ),
    "settings.schedules.add": (schedule_form, ("settings.schedules.task", "settings.schedules.often")),
}


@pytest.mark.parametrize(
    ("button", "field"), [(button, field) for button, (_, fields) in FORMS.items() for field in fields]
)
def test_ctrl_enter_submits_a_form_from_any_field(button: str, field: str, look: Look, qtbot: QtBot) -> None:
    over = QWidget()
    qtbot.addWidget(over)
    form = FORMS[button][0](look, over)
    if form.parent() is None:
        qtbot.addWidget(form)
    form.show()
    form.activateWindow()
    qtbot.waitUntil(form.isActiveWindow)
    focused = find(form, QWidget, field)
    focused.setFocus()
    with qtbot.waitSignal(find(form, QPushButton, button).clicked):
        press(focused, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert not isinstance(focused, QPlainTextEdit) or "\n" not in focused.toPlainText()
