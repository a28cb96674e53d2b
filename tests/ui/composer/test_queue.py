"""The cards of queued messages, by mouse and keyboard; an edit is never lost."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.store.queued_messages import QueuedMessage
from tests.ui.hands import click, find, press, write
from ui.composer.panel import ComposerPanel
from ui.composer.queued_card import QueuedCard
from ui.style.theme import Look, load_fonts, load_theme
from ui.widgets.elided import ElidedLabel

LINES = [
    QueuedMessage(7, "the dates too"),
    QueuedMessage(9, "and the photos", files=("a.png",)),
    QueuedMessage(12, "shorter"),
]
ALT, CONTROL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def panel(look: Look, qtbot: QtBot) -> ComposerPanel:
    made = ComposerPanel(look)
    qtbot.addWidget(made)
    made.resize(700, 300)
    made.show()
    made.set_session("s1", "")
    made.show_queue(LINES, running=True)
    return made


def card(panel: ComposerPanel, number: int) -> QueuedCard:
    return find(panel, QueuedCard, f"composer.queued.{number}")


def test_each_card_is_numbered_and_named(panel: ComposerPanel) -> None:
    names = [card(panel, n).accessibleName() for n in (1, 2, 3)]
    assert names == [
        "Queued message 1: the dates too",
        "Queued message 2: and the photos · a.png",
        "Queued message 3: shorter",
    ]
    assert find(panel, QPushButton, "composer.queued.2.remove").accessibleName() == "Remove message 2 from the queue"
    assert any(
        label.accessibleName() == "queued · sent after this turn" for label in card(panel, 1).findChildren(QLabel)
    )
    panel.show_queue([], running=True)
    assert not panel.queue.isVisible()


def test_cards_remain_after_a_stop(panel: ComposerPanel) -> None:
    panel.show_queue(LINES, running=False)
    assert panel.queue.isVisible()
    assert any("not sent yet" in label.accessibleName() for label in card(panel, 1).findChildren(QLabel))


def test_buttons_remain_visible_in_a_narrow_window(panel: ComposerPanel, qtbot: QtBot) -> None:
    panel.show_queue(LINES, running=False)
    panel.resize(360, 300)
    remove = find(panel, QPushButton, "composer.queued.1.remove")
    right = remove.rect().topRight()
    qtbot.waitUntil(lambda: remove.mapTo(panel.queue, right).x() < panel.queue.width() < 360)


def test_a_message_is_edited_in_place(panel: ComposerPanel, qtbot: QtBot) -> None:
    click(find(panel, QPushButton, "composer.queued.1.edit"))
    field = find(panel, QPlainTextEdit, "composer.queued.1.input")
    assert field.isVisible() and field.toPlainText() == "the dates too"
    write(field, ", please")
    with qtbot.waitSignal(panel.queue.edited) as edited:
        press(field, Qt.Key.Key_Return)
    assert edited.args == [7, "the dates too, please"]
    assert not field.isVisible()


def test_escape_discards_the_edit(panel: ComposerPanel, qtbot: QtBot) -> None:
    card(panel, 1).setFocus()
    press(card(panel, 1), Qt.Key.Key_F2)
    field = find(panel, QPlainTextEdit, "composer.queued.1.input")
    write(field, " or not")
    with qtbot.assertNotEmitted(panel.queue.edited):
        press(field, Qt.Key.Key_Escape)
    assert not field.isVisible()


def test_keys_move_send_and_remove(panel: ComposerPanel, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(panel.queue.moved):
        press(card(panel, 1), Qt.Key.Key_Up, ALT)
    with qtbot.waitSignal(panel.queue.moved) as moved:
        press(card(panel, 1), Qt.Key.Key_Down, ALT)
    assert moved.args == [7, 1]
    with qtbot.waitSignal(panel.queue.send_now_requested) as hurried:
        press(card(panel, 2), Qt.Key.Key_Return, CONTROL)
    assert hurried.args == [9]
    with qtbot.waitSignal(panel.queue.removed) as removed:
        press(card(panel, 3), Qt.Key.Key_Delete)
    assert removed.args == [12]


def test_each_key_press_moves_a_message_although_the_event_log_lags_behind(panel: ComposerPanel) -> None:
    moves: list[tuple[int, int]] = []
    panel.queue.moved.connect(lambda seq, index: moves.append((seq, index)))
    for _ in range(3):
        press(card(panel, 3), Qt.Key.Key_Up, ALT)
    assert moves == [(12, 1), (12, 0)]
    first, second, third = LINES
    panel.show_queue([first, third, second], running=True)  # the first move
    press(card(panel, 2), Qt.Key.Key_Down, ALT)
    assert moves[2:] == [(12, 1)], "it was already at the top"
    panel.show_queue([third, first, second], running=True)
    panel.show_queue([first, third, second], running=True)
    press(card(panel, 2), Qt.Key.Key_Up, ALT)
    assert moves[3:] == [(12, 0)]


def test_a_narrow_card_shows_its_message_and_not_the_note(qtbot: QtBot, look: Look) -> None:
    panel = ComposerPanel(Look(look.theme, load_fonts(2.0)))
    qtbot.addWidget(panel)
    panel.resize(760, 500)
    panel.show()
    panel.set_session("s1", "")
    panel.show_queue(LINES, running=False)
    text = find(panel, ElidedLabel, "composer.queued.1.text")
    note = next(each for each in card(panel, 1).findChildren(ElidedLabel) if "not sent yet" in each.accessibleName())
    qtbot.waitUntil(lambda: text.width() >= text.sizeHint().width() and not note.isVisible())
    panel.resize(1600, 500)
    qtbot.waitUntil(lambda: text.width() >= text.sizeHint().width() and note.isVisible())


def test_up_goes_from_the_empty_field_to_the_queue_and_down_returns(panel: ComposerPanel, qtbot: QtBot) -> None:
    field = find(panel, QPlainTextEdit, "composer.input")
    field.setFocus()
    press(field, Qt.Key.Key_Up)
    assert card(panel, 3).hasFocus()
    with qtbot.waitSignal(panel.queue.focus_released):
        press(card(panel, 3), Qt.Key.Key_Down)
    write(field, "text")
    field.setFocus()
    press(field, Qt.Key.Key_Up)
    assert field.hasFocus()


def test_buttons_send_and_remove(panel: ComposerPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.queue.send_now_requested) as hurried:
        click(find(panel, QPushButton, "composer.queued.2.now"))
    assert hurried.args == [9]
    with qtbot.waitSignal(panel.queue.removed) as removed:
        click(find(panel, QPushButton, "composer.queued.1.remove"))
    assert removed.args == [7]


def test_a_card_is_dragged_to_another_position(panel: ComposerPanel, qtbot: QtBot) -> None:
    first, last = card(panel, 1), card(panel, 3)
    start = QPoint(60, first.height() // 2)
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(first, left, Qt.KeyboardModifier.NoModifier, start)
    QTest.mouseMove(first, start + QPoint(0, QApplication.startDragDistance() + 2))
    QTest.mouseMove(first, first.mapFrom(panel, last.mapTo(panel, QPoint(60, last.height() - 1))))
    with qtbot.waitSignal(panel.queue.moved) as moved:
        QTest.mouseRelease(first, left)
    assert moved.args == [7, 2]


def test_the_card_being_edited_keeps_its_text(panel: ComposerPanel, qtbot: QtBot) -> None:
    press(card(panel, 2), Qt.Key.Key_Return)
    field = find(panel, QPlainTextEdit, "composer.queued.2.input")
    write(field, " of May")
    panel.show_queue(LINES[1:], running=True)
    assert field.isVisible() and field.toPlainText() == "and the photos of May"
    with qtbot.waitSignal(panel.queue.unsent_text) as unsent:
        panel.show_queue(LINES[2:], running=True)
    assert unsent.args == ["and the photos of May"]


def test_switching_to_another_session_keeps_the_edit_of_a_card(panel: ComposerPanel, qtbot: QtBot) -> None:
    press(card(panel, 3), Qt.Key.Key_Return)
    write(find(panel, QPlainTextEdit, "composer.queued.3.input"), " still")
    with qtbot.waitSignal(panel.draft_changed) as draft:
        panel.set_session("s2", "")
    assert draft.args == ["s1", "shorter still"]
    assert not panel.queue.isVisible()


def test_many_cards_scroll(panel: ComposerPanel) -> None:
    panel.show_queue([QueuedMessage(n, f"message {n}") for n in range(30)], running=True)
    assert panel.queue.height() <= 200
    assert find(panel, QFrame, "composer.queued.30").isVisible()


def test_theme_and_size_change_at_run_time(panel: ComposerPanel) -> None:
    before = card(panel, 1).sizeHint().height()
    panel.restyle(Look(load_theme("dark"), load_fonts(2.0)))
    assert card(panel, 1).sizeHint().height() > before
