"""The queue and the request card by keyboard only, in the real window."""

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget

from tests.ui.ask.permissions import CHAIN
from tests.ui.hands import find, press, write
from tests.ui.test_desktop_app import Person, live, until
from tests.ui.test_permission_in_window import wait_for_consent
from ui.ask.cards import PermissionCard
from ui.ask.question_form import QuestionForm
from ui.composer.queued_card import QueuedCard

SHIFT, NO_MODIFIER = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.NoModifier


def focused_name(person: Person) -> str:
    focused: QWidget | None = person.shell.focusWidget()
    return focused.objectName() if focused is not None else ""


def part_of(person: Person) -> str:
    """Return which part of the session has the focus."""
    view, focused = person.window.view, person.shell.focusWidget()
    parts = {
        "message": find(view.composer, QWidget, "composer.input"),
        "queue": view.composer.queue,
        "card": view.asking,
        "steps": view.page,
    }
    return next((name for name, part in parts.items() if part is focused or part.isAncestorOf(focused)), "")


async def queue_messages(person: Person, *texts: str) -> QPlainTextEdit:
    """Wait for the request of the current session, and queue messages."""
    composer = person.window.view.composer
    await until(lambda: person.window.view.asking.card, "the card")
    field = find(composer, QPlainTextEdit, "composer.input")
    field.setFocus()
    for number, text in enumerate(texts, 1):
        write(field, text)
        press(field, Qt.Key.Key_Return)
        name = f"composer.queued.{number}"
        await until(partial(composer.findChild, QueuedCard, name), "its card")
    return field


def test_removing_queued_messages_ends_in_the_message_field(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start()()
        window.show_session(session)
        await queue_messages(person, "one", "two")
        queue = window.view.composer.queue
        find(queue, QueuedCard, "composer.queued.1").setFocus()
        press(find(queue, QueuedCard, "composer.queued.1"), Qt.Key.Key_Delete)
        await until(lambda: len(queue.findChildren(QueuedCard)) == 1, "one is left")
        assert focused_name(person) == "composer.queued.1"
        press(find(queue, QueuedCard, "composer.queued.1"), Qt.Key.Key_Delete)
        await until(queue.isHidden, "the queue is empty")
        assert focused_name(person) == "composer.input"

    live(qapp, home, act)


@pytest.mark.parametrize("request_kind", ["question", "permission"])
def test_tab_goes_through_the_card_and_the_queue_between_the_steps_and_the_message(
    qapp: QApplication, home: Path, request_kind: str
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        if request_kind == "permission":
            await wait_for_consent(person, CHAIN)
        else:
            window.show_session(await person.start()())
        messages = ("one", "two") if request_kind == "question" else ()
        field = await queue_messages(person, *messages)
        parts = ["message", *(["queue"] if messages else []), "card", "steps"]
        for key, modifier, order in (
            (Qt.Key.Key_Backtab, SHIFT, parts),
            (Qt.Key.Key_Tab, NO_MODIFIER, parts[::-1]),
        ):
            field.setFocus() if order[0] == "message" else window.view.page.focus_tab()
            visited = [part_of(person)]
            for _ in range(40):
                focused = person.shell.focusWidget()
                assert focused is not None
                press(focused, key, modifier)
                if (part := part_of(person)) != visited[-1]:
                    visited.append(part)
            assert visited[: len(order)] == order

    live(qapp, home, act)


def test_tab_goes_from_a_question_to_its_first_option(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        window.show_session(await person.start()())
        card = await until(lambda: window.view.asking.card, "the question")
        await until(card.form.isVisible, "the form")
        assert isinstance(card.form, QuestionForm)
        window.view.asking.focus_card()
        assert person.shell.focusWidget() is card.form
        press(card.form, Qt.Key.Key_Tab)
        assert person.shell.focusWidget() is card.form.options[0]
        press(card.form.options[0], Qt.Key.Key_Backtab, SHIFT)
        assert person.shell.focusWidget() is card.form

    live(qapp, home, act)


def frame_color(frame: QWidget) -> str:
    """Return the color of the left border of a frame."""
    return frame.grab().toImage().pixelColor(0, frame.height() // 2).name()


def test_a_focused_queued_message_has_a_colored_border(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        accent = window.look.theme.accent.name()
        window.show_session(await person.start()())
        await queue_messages(person, "one")
        card = find(window.view.composer, QueuedCard, "composer.queued.1")
        assert frame_color(card) != accent
        card.setFocus()
        assert frame_color(card) == accent

    live(qapp, home, act)


def test_the_field_for_a_reason_shows_its_focus(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await wait_for_consent(person, CHAIN)
        card = await until(lambda: window.view.asking.card, "the card")
        card.focus_form()
        press(card.form, Qt.Key.Key_D)
        assert focused_name(person) == "consent.reason"
        assert find(card, QWidget, "consent.field").property("focused") is True

    live(qapp, home, act)


@pytest.mark.parametrize(("key", "name"), [(Qt.Key.Key_D, "consent.reason"), (Qt.Key.Key_C, "consent.edit")])
def test_a_card_in_a_low_window_shows_the_field_that_a_key_opens(
    qapp: QApplication, home: Path, key: Qt.Key, name: str
) -> None:
    async def act(person: Person) -> None:
        person.shell.resize(900, 600)
        await wait_for_consent(person, CHAIN)
        card = await until(lambda: person.window.view.asking.card, "the card")
        assert isinstance(card, PermissionCard)
        card.focus_form()
        press(card.form, Qt.Key.Key_End)
        await until(find(card, QPushButton, "consent.change").isEnabled, "the call was read and the delay has passed")
        press(card.form, key)
        await until(lambda: focused_name(person) == name, "the field has the focus")
        field = find(card, QPlainTextEdit, name)
        await until(lambda: field.visibleRegion().boundingRect().height() == field.height(), "all of it is visible")

    live(qapp, home, act)


def test_a_chosen_scope_stays_visible_while_a_reason_is_typed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        person.shell.resize(900, 600)
        await wait_for_consent(person, CHAIN)
        card = await until(lambda: person.window.view.asking.card, "the card")
        assert isinstance(card, PermissionCard)
        press(card.form, Qt.Key.Key_D)
        assert not card.form.scope.isVisible()
        card.form.scope.select("always")
        assert card.form.scope.isVisibleTo(card.form)

    live(qapp, home, act)
