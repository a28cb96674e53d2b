"""The composer: sending, drafts, and the disabled state."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QMenu, QPlainTextEdit, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from core.domain.external_agents import ExternalAgentOption, ExternalAgentSetting
from tests.ui.hands import click, find, press, write
from ui.composer.panel import ComposerPanel
from ui.style.theme import Look, load_fonts, load_theme


@pytest.fixture
def panel(look: Look, qtbot: QtBot) -> ComposerPanel:
    made = ComposerPanel(look)
    qtbot.addWidget(made)
    made.resize(600, 100)
    made.show()
    made.set_session("s1", "")
    return made


@pytest.fixture
def field(panel: ComposerPanel) -> QPlainTextEdit:
    found = find(panel, QPlainTextEdit, "composer.input")
    found.setFocus()
    return found


def test_enter_sends_and_clears(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    write(field, "  write the letter ")
    with qtbot.waitSignal(panel.submitted) as said:
        press(field, Qt.Key.Key_Return)
    assert said.args == ["write the letter"]
    assert field.toPlainText() == ""


def test_the_keypad_and_the_button_send_too(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    write(field, "one")
    with qtbot.waitSignal(panel.submitted):
        press(field, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    write(field, "two")
    with qtbot.waitSignal(panel.submitted) as said:
        click(find(panel, QToolButton, "composer.send"))
    assert said.args == ["two"]


def test_a_message_for_an_active_run_is_announced_because_it_may_be_queued(
    panel: ComposerPanel, field: QPlainTextEdit, announcements: list[str]
) -> None:
    for running, key in ((False, "Return"), (True, "Return"), (True, "now")):
        panel.set_running(running)
        write(field, "one")
        panel.submit_now() if key == "now" else press(field, Qt.Key.Key_Return)
    assert announcements == ["Queued until this turn ends", "Sent now"]


def test_shift_enter_inserts_a_line_break(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(panel.submitted):
        write(field, "one")
        press(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        write(field, "two")
    assert field.toPlainText() == "one\ntwo"


def test_whitespace_is_not_a_message(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(panel.submitted):
        write(field, "   ")
        press(field, Qt.Key.Key_Return)
    assert not find(panel, QToolButton, "composer.send").isEnabled()


def test_the_field_grows_to_eight_lines(panel: ComposerPanel, field: QPlainTextEdit) -> None:
    heights = []
    for count in (1, 4, 8, 30):
        field.setPlainText("\n".join("line" for _ in range(count)))
        heights.append(field.height())
    assert heights[0] < heights[1] < heights[2] == heights[3]
    assert heights[2] <= 8 * field.fontMetrics().lineSpacing() + 4


def test_long_lines_wrap_and_count(panel: ComposerPanel, field: QPlainTextEdit) -> None:
    before = field.height()
    field.setPlainText("words " * 80)
    assert field.height() > before


def test_the_draft_is_reported_for_its_session(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.draft_changed) as changed:
        write(field, "half a thou")
    assert changed.args == ["s1", "half a thou"]


def test_switching_to_another_session_keeps_the_draft(
    panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot
) -> None:
    write(field, "for one")
    with qtbot.waitSignal(panel.draft_changed) as changed:
        panel.set_session("s2", "for two")
    assert changed.args == ["s1", "for one"]
    assert field.toPlainText() == "for two" and panel.draft() == "for two"
    with qtbot.assertNotEmitted(panel.draft_changed):
        panel.set_session("s1", "for one")


def test_a_sent_message_leaves_no_draft(panel: ComposerPanel, field: QPlainTextEdit) -> None:
    told: list[tuple[str, str]] = []
    panel.draft_changed.connect(lambda session, text: told.append((session, text)))
    write(field, "go")
    press(field, Qt.Key.Key_Return)
    assert told == [("s1", "")]


def test_hiding_keeps_the_draft(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    write(field, "unfinished")
    with qtbot.waitSignal(panel.draft_changed) as changed:
        panel.hide()
    assert changed.args == ["s1", "unfinished"]


def test_a_closed_session_says_why(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    write(field, "too late")
    panel.set_disabled_reason("This session was imported: read only.")
    assert not field.isEnabled()
    assert find(panel, QLabel, "composer.note").accessibleName() == "This session was imported: read only."
    assert field.placeholderText() == "This session was imported: read only."
    with qtbot.assertNotEmitted(panel.submitted):
        panel.submit()
    panel.set_disabled_reason("")
    assert field.isEnabled() and field.toPlainText() == "too late"


def test_messages_are_queued_while_running(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    panel.set_running(True)
    assert "queues" in field.placeholderText()
    write(field, "also this")
    assert "queued" in find(panel, QLabel, "composer.note").accessibleName()
    with qtbot.waitSignal(panel.submitted):
        press(field, Qt.Key.Key_Return)
    assert find(panel, QLabel, "composer.note").accessibleName() == ""


def test_a_new_session_is_suggested(panel: ComposerPanel, field: QPlainTextEdit) -> None:
    panel.set_session("", "")
    assert "Enter starts" in field.placeholderText()


def test_the_model_is_named_when_there_is_one(panel: ComposerPanel) -> None:
    name = find(panel, QPushButton, "composer.model")
    assert not name.isVisible()
    panel.set_model("<b>scripted</b>")
    assert name.isVisible() and name.text() == "<b>scripted</b>"


def test_another_model_is_selected_from_the_lists(panel: ComposerPanel, qtbot: QtBot) -> None:
    panel.set_model("box/one")
    with qtbot.waitSignal(panel.model.models_requested):
        click(find(panel, QPushButton, "composer.model"))
    menu = find(panel.model, QMenu, "composer.models")
    assert [action.text() for action in menu.actions()] == ["Looking for models…"]
    panel.model.show_models({"Box": ["box/one", "box/two"], "Many": [f"many/{n}" for n in range(40)]}, "high")
    actions = {action.objectName(): action for action in menu.findChildren(QAction)}
    assert actions["composer.model.box/one"].isChecked() and not actions["composer.model.box/two"].isChecked()
    assert actions["composer.effort.high"].isChecked()
    with qtbot.waitSignal(panel.model.chosen) as chosen:
        actions["composer.model.box/two"].trigger()
    with qtbot.waitSignal(panel.model.effort_chosen) as effort:
        actions["composer.effort.own"].trigger()
    assert chosen.args == ["box/two"] and effort.args == [""]
    panel.model.show_models({}, "")
    assert "No provider offers a model" in menu.actions()[0].text()
    menu.close()


def test_settings_of_an_external_agent_are_chosen_by_their_values(panel: ComposerPanel, qtbot: QtBot) -> None:
    panel.set_model("agent/box")
    same_name = (ExternalAgentOption("m-1", "Fast"), ExternalAgentOption("m-2", "Fast"))
    panel.model.show_agent_settings("agent/box", [ExternalAgentSetting("model", "Model", "model", "m-1", same_name)])
    menu = find(panel.model, QMenu, "composer.models")
    first, second = (action for action in menu.findChildren(QAction) if "Fast" in action.text())
    assert first.isChecked() and not second.isChecked()
    with qtbot.waitSignal(panel.model.setting_chosen) as chosen:
        second.trigger()
    assert chosen.args == ["model", "m-2"]
    panel.model.show_agent_settings("agent/box", [])
    assert [action.text() for action in menu.actions() if action.isCheckable()] == ["agent/box"]


def test_the_frame_shows_the_focus(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    box = find(panel, QFrame, "composer.box")
    field.clearFocus()
    assert not box.property("focused")
    click(panel)
    qtbot.waitUntil(lambda: bool(box.property("focused")))


def test_the_queue_hint_gives_way_to_the_mode(panel: ComposerPanel, field: QPlainTextEdit, qtbot: QtBot) -> None:
    panel.restyle(Look(load_theme("dark"), load_fonts(2.0)))
    panel.set_mode("ask")
    panel.set_model("provider/model")
    panel.set_running(True)
    panel.window().setFixedWidth(1100)
    write(field, "and then")
    mode, note = find(panel, QPushButton, "composer.mode"), find(panel, QLabel, "composer.note")
    qtbot.waitUntil(lambda: note.minimumSizeHint().width() < note.width() < note.sizeHint().width())
    assert mode.width() == mode.sizeHint().width()


def test_theme_and_size_change_at_run_time(panel: ComposerPanel, field: QPlainTextEdit, qapp: QApplication) -> None:
    before = field.height()
    panel.restyle(Look(load_theme("dark"), load_fonts(2.0)))
    assert field.height() > before
    assert field.viewport().font().pixelSize() == field.font().pixelSize(), "the placeholder grows too"
