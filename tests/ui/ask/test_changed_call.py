"""The user changes a call in its card or dialog before allowing it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.domain.permissions import PermissionOption
from tests.ui.ask.permissions import CHAIN, EDIT, FETCH, IRREVERSIBLE, LONG, TWINS, WRITE, pending_permission
from tests.ui.ask.questions import noon
from tests.ui.hands import click, find, press, write
from ui.ask.ask_area import AskArea
from ui.ask.cards import PermissionCard
from ui.ask.pending_permission import PendingPermission
from ui.ask.permission_form import PermissionForm
from ui.style.theme import Look

MCP_CALL = replace(
    pending_permission("tracker__search", "network", "search of tracker"),
    arguments='{"arguments":{"query":"x"},"server":"tracker","tool":"search"}',
)


def shown(look: Look, qtbot: QtBot, waiting: Sequence[PendingPermission]) -> PermissionForm:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(780, 800)
    column = QVBoxLayout(window)
    card = PermissionCard(look, waiting, clock=noon)
    column.addWidget(card)
    window.show()
    qtbot.waitExposed(window)
    card.fit(800)
    qtbot.waitUntil(lambda: card.form.delay.has_elapsed)
    return card.form


def field(form: QWidget) -> QPlainTextEdit:
    return find(form, QPlainTextEdit, "consent.edit")


def test_discarding_a_change_shows_no_scopes_for_a_call_that_can_only_be_allowed_once(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, [IRREVERSIBLE])
    assert not form.scope.isVisible()
    press(form, Qt.Key.Key_C)
    press(field(form), Qt.Key.Key_Escape)
    assert not field(form).isVisible() and not form.scope.isVisible()


@pytest.mark.parametrize(
    ("pending", "text"),
    [
        (CHAIN, 'pip install --upgrade "sqlalchemy>=2.1" && pytest -q'),
        (WRITE, "one\nthree\n"),
        (EDIT, "Dear Sir,\nnew\nnewer\nBye"),
        (FETCH, "https://example.org/x"),
        (MCP_CALL, '{\n  "query": "x"\n}'),
        (IRREVERSIBLE, "rm -rf build"),
    ],
)
def test_what_can_be_changed_is_the_command_the_text_the_address_or_json(
    look: Look, qtbot: QtBot, pending: PendingPermission, text: str
) -> None:
    form = shown(look, qtbot, [pending])
    press(form, Qt.Key.Key_C)
    assert field(form).isVisible() and field(form).toPlainText() == text


def test_a_changed_command_is_sent_with_ctrl_enter(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, [CHAIN])
    press(form, Qt.Key.Key_C)
    assert not form.scope.isVisible() and find(form, QPushButton, "consent.allow").text() == "Allow changed call"
    field(form).selectAll()
    write(field(form), "pytest -q")
    with qtbot.waitSignal(form.changed) as sent, qtbot.assertNotEmitted(form.allowed):
        press(field(form), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert sent.args == [CHAIN.id, "pytest -q"]


def test_enter_breaks_the_line_and_letters_are_no_shortcuts_in_the_field(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, [IRREVERSIBLE])
    press(form, Qt.Key.Key_C)
    field(form).selectAll()
    write(field(form), "ad")
    press(field(form), Qt.Key.Key_Return)
    write(field(form), "e")
    assert field(form).toPlainText() == "ad\ne"


def test_an_empty_change_cannot_be_allowed_and_esc_discards_it(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, [CHAIN])
    press(form, Qt.Key.Key_C)
    field(form).clear()
    assert not find(form, QPushButton, "consent.allow").isEnabled()
    with qtbot.assertNotEmitted(form.postponed):
        press(field(form), Qt.Key.Key_Escape)
    assert not field(form).isVisible() and form.scope.isVisible()
    qtbot.waitUntil(lambda: form.delay.has_elapsed)  # it begins again with the focus
    with qtbot.waitSignal(form.allowed), qtbot.assertNotEmitted(form.changed):
        press(form, Qt.Key.Key_A)


def test_a_call_is_changed_only_after_all_of_it_was_seen(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, [LONG])
    button = find(form, QPushButton, "consent.change")
    press(form, Qt.Key.Key_C)
    assert not button.isEnabled() and not field(form).isVisible()
    press(form, Qt.Key.Key_End)
    qtbot.waitUntil(button.isEnabled)
    click(button)
    assert field(form).isVisible()


def test_similar_requests_are_not_changed_together(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, TWINS)
    click(find(form, QPushButton, "consent.together"))
    qtbot.waitUntil(lambda: form.delay.has_elapsed)
    press(form, Qt.Key.Key_End)
    qtbot.waitUntil(find(form, QPushButton, "consent.change").isEnabled)
    press(form, Qt.Key.Key_C)
    assert form.request_ids() == (TWINS[0].id,) and field(form).toPlainText() == "pytest tests/t1.py"


def test_the_call_of_an_external_agent_cannot_be_changed(look: Look, qtbot: QtBot) -> None:
    options = (PermissionOption("y", "Yes", True),)
    form = shown(look, qtbot, [replace(CHAIN, request=replace(CHAIN.request, options=options))])
    press(form, Qt.Key.Key_C)
    assert not find(form, QPushButton, "consent.change").isVisible() and not field(form).isVisible()


def test_line_ends_and_hard_spaces_survive(look: Look, qtbot: QtBot) -> None:
    text = "one\r\ntwo\u00a0three\r\n"
    form = shown(look, qtbot, [pending_permission("write", "write", "a.txt", path="a.txt", content=text)])
    press(form, Qt.Key.Key_C)
    with qtbot.waitSignal(form.changed) as sent:
        press(field(form), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert sent.args[1] == text


def test_a_change_is_kept_while_the_card_is_rebuilt_and_in_the_dialog(look: Look, qtbot: QtBot) -> None:
    area = AskArea(look)
    qtbot.addWidget(area)
    area.resize(780, 800)
    area.show()
    area.fit(2_000)
    area.show_requests("s1", "Billing", [CHAIN])
    assert isinstance(area.card, PermissionCard)
    form = area.card.form
    qtbot.waitUntil(find(form, QPushButton, "consent.change").isEnabled)
    press(form, Qt.Key.Key_C)
    field(form).setPlainText("pytest -x")
    area.show_requests("s1", "Billing", [CHAIN, FETCH])
    assert area.card.form is not form
    assert field(area.card.form).toPlainText() == "pytest -x"
    area.open_dialog()
    assert area.dialog is not None and field(area.dialog).toPlainText() == "pytest -x"
    area.dialog.close()


def test_the_field_stays_when_the_card_is_fitted_again(look: Look, qtbot: QtBot) -> None:
    form = shown(look, qtbot, [LONG])
    press(form, Qt.Key.Key_End)
    qtbot.waitUntil(find(form, QPushButton, "consent.change").isEnabled)
    click(find(form, QPushButton, "consent.change"))
    card: QWidget | None = form
    while not isinstance(card, PermissionCard):
        assert card is not None
        card = card.parentWidget()
    for _ in range(2):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        card.fit(800)
        assert field(form).isVisible()
