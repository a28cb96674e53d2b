"""The cards of messages that wait: by mouse, by keys, by name, and never at the price of words."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.store.queue import QueuedLine
from tests.ui.hands import click, find, press, write
from ui.composer.card import QueuedCard
from ui.composer.panel import ComposerPanel
from ui.theme import Look, load_fonts, load_theme

LINES = [QueuedLine(7, "the dates too"), QueuedLine(9, "and the photos", files=("a.png",)), QueuedLine(12, "shorter")]
ALT, CONTROL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def panel(look: Look, qtbot: QtBot) -> ComposerPanel:
    made = ComposerPanel(look)
    qtbot.addWidget(made)
    made.resize(700, 300)
    made.show()
    made.set_session("s1", "")
    made.show_queue(LINES, going=True)
    return made


def card(panel: ComposerPanel, number: int) -> QueuedCard:
    return find(panel, QueuedCard, f"composer.queued.{number}")


def test_each_is_numbered_and_named(panel: ComposerPanel) -> None:
    names = [card(panel, n).accessibleName() for n in (1, 2, 3)]
    assert names == [
        "Queued message 1: the dates too",
        "Queued message 2: and the photos · a.png",
        "Queued message 3: shorter",
    ]
    assert find(panel, QPushButton, "composer.queued.2.remove").accessibleName() == "Take message 2 back"
    assert any(label.accessibleName() == "queued · after this round" for label in card(panel, 1).findChildren(QLabel))
    panel.show_queue([], going=True)
    assert not panel.queue.isVisible()


def test_after_a_stop_they_are_still_there(panel: ComposerPanel) -> None:
    panel.show_queue(LINES, going=False)
    assert panel.queue.isVisible()
    assert any("not sent yet" in label.accessibleName() for label in card(panel, 1).findChildren(QLabel))


def test_where_it_is_narrow_the_buttons_stay(panel: ComposerPanel, qtbot: QtBot) -> None:
    panel.show_queue(LINES, going=False)
    panel.resize(360, 300)
    remove = find(panel, QPushButton, "composer.queued.1.remove")
    right = remove.rect().topRight()
    qtbot.waitUntil(lambda: remove.mapTo(panel.queue, right).x() < panel.queue.width() < 360)


def test_a_message_is_edited_in_its_place(panel: ComposerPanel, qtbot: QtBot) -> None:
    click(find(panel, QPushButton, "composer.queued.1.edit"))
    field = find(panel, QPlainTextEdit, "composer.queued.1.input")
    assert field.isVisible() and field.toPlainText() == "the dates too"
    write(field, ", please")
    with qtbot.waitSignal(panel.queue.edited) as edited:
        press(field, Qt.Key.Key_Return)
    assert edited.args == [7, "the dates too, please"]
    assert not field.isVisible()


def test_escape_leaves_it_as_it_was(panel: ComposerPanel, qtbot: QtBot) -> None:
    card(panel, 1).setFocus()
    press(card(panel, 1), Qt.Key.Key_F2)
    field = find(panel, QPlainTextEdit, "composer.queued.1.input")
    write(field, " or not")
    with qtbot.assertNotEmitted(panel.queue.edited):
        press(field, Qt.Key.Key_Escape)
    assert not field.isVisible()


def test_keys_move_send_and_take_back(panel: ComposerPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.queue.moved) as moved:
        press(card(panel, 1), Qt.Key.Key_Down, ALT)
    assert moved.args == [7, 1]
    with qtbot.assertNotEmitted(panel.queue.moved):
        press(card(panel, 1), Qt.Key.Key_Up, ALT)
    with qtbot.waitSignal(panel.queue.hurried) as hurried:
        press(card(panel, 2), Qt.Key.Key_Return, CONTROL)
    assert hurried.args == [9]
    with qtbot.waitSignal(panel.queue.removed) as removed:
        press(card(panel, 3), Qt.Key.Key_Delete)
    assert removed.args == [12]


def test_buttons_send_and_take_back(panel: ComposerPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.queue.hurried) as hurried:
        click(find(panel, QPushButton, "composer.queued.2.now"))
    assert hurried.args == [9]
    with qtbot.waitSignal(panel.queue.removed) as removed:
        click(find(panel, QPushButton, "composer.queued.1.remove"))
    assert removed.args == [7]


def test_a_card_is_dragged_to_another_place(panel: ComposerPanel, qtbot: QtBot) -> None:
    first, last = card(panel, 1), card(panel, 3)
    start = QPoint(60, first.height() // 2)
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(first, left, Qt.KeyboardModifier.NoModifier, start)
    QTest.mouseMove(first, start + QPoint(0, QApplication.startDragDistance() + 2))
    QTest.mouseMove(first, first.mapFrom(panel, last.mapTo(panel, QPoint(60, last.height() - 1))))
    with qtbot.waitSignal(panel.queue.moved) as moved:
        QTest.mouseRelease(first, left)
    assert moved.args == [7, 2]


def test_the_card_that_is_written_in_keeps_its_words(panel: ComposerPanel, qtbot: QtBot) -> None:
    press(card(panel, 2), Qt.Key.Key_Return)
    field = find(panel, QPlainTextEdit, "composer.queued.2.input")
    write(field, " of May")
    panel.show_queue(LINES[1:], going=True)
    assert field.isVisible() and field.toPlainText() == "and the photos of May"
    with qtbot.waitSignal(panel.queue.unsent) as unsent:
        panel.show_queue(LINES[2:], going=True)
    assert unsent.args == ["and the photos of May"]


def test_turning_to_another_session_keeps_what_was_written_in_a_card(panel: ComposerPanel, qtbot: QtBot) -> None:
    press(card(panel, 3), Qt.Key.Key_Return)
    write(find(panel, QPlainTextEdit, "composer.queued.3.input"), " still")
    with qtbot.waitSignal(panel.draft_changed) as draft:
        panel.set_session("s2", "")
    assert draft.args == ["s1", "shorter still"]
    assert not panel.queue.isVisible()


def test_many_cards_scroll(panel: ComposerPanel) -> None:
    panel.show_queue([QueuedLine(n, f"message {n}") for n in range(30)], going=True)
    assert panel.queue.height() <= 200
    assert find(panel, QFrame, "composer.queued.30").isVisible()


def test_theme_and_size_change_at_run_time(panel: ComposerPanel) -> None:
    before = card(panel, 1).sizeHint().height()
    panel.restyle(Look(load_theme("dark"), load_fonts(2.0)))
    assert card(panel, 1).sizeHint().height() > before
