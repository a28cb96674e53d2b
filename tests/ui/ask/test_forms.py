"""Several questions at once, any number of options, and a question whose time runs out."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.question import Answer, Option, Part, Question, Said
from core.domain.sessions import SessionRow
from tests.ui.ask.consents import CHAIN, FETCH
from tests.ui.ask.questions import NOON, TONE, noon
from tests.ui.hands import click, find, press, write
from ui.ask.card import QuestionCard
from ui.ask.dialog import QuestionDialog
from ui.ask.inbox import Inbox
from ui.ask.place import Asked, AskPlace
from ui.theme import Look

FORM = Question(
    "q7",
    "Which tone? (and 2 more)",
    "The draft is ready.",
    parts=(
        Part("Which tone?", (Option("Firm", recommended=True), Option("Kind"))),
        Part("Which annexes?", (Option("Photos"), Option("Agreement"), Option("Notes")), several=True),
        Part("To whom?"),
    ),
    asked=NOON,
)
ANY = Question("q8", "Which annexes?", options=(Option("Photos"), Option("Notes")), several=True, asked=NOON)
TIMED = replace(TONE, asked=NOON - 30 * SECOND, expires_s=90.0, then="default", default="Formal notice")


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> QuestionDialog:
    made = QuestionDialog(look, FORM, clock=noon)
    qtbot.addWidget(made)
    made.open()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def place(look: Look, qtbot: QtBot) -> Iterator[AskPlace]:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(780, 800)
    column = QVBoxLayout(window)
    column.addStretch(1)
    made = AskPlace(look)
    column.addWidget(made)
    window.show()
    qtbot.waitExposed(window)
    made.fit(800)
    yield made  # the window lives as long as this waits


def dialogs(place: AskPlace) -> list[str]:
    return [place.dialog.objectName()] if place.dialog else []


def test_every_question_of_a_form_is_answered_by_keys_alone(dialog: QuestionDialog, qtbot: QtBot) -> None:
    form = dialog.form
    press(form, Qt.Key.Key_2)
    assert form.draft().parts[0] == Said("Which tone?", ("Kind",))
    with qtbot.assertNotEmitted(dialog.answered):
        press(form, Qt.Key.Key_Return)
    focused = QApplication.focusWidget()
    assert focused is find(dialog, QAbstractButton, "question.2.option.1")
    press(focused, Qt.Key.Key_1)
    press(focused, Qt.Key.Key_3)
    press(form, Qt.Key.Key_Return)
    words = find(dialog, QPlainTextEdit, "question.3.words")
    assert QApplication.focusWidget() is words
    write(words, "Ann")
    with qtbot.waitSignal(dialog.answered) as said:
        press(words, Qt.Key.Key_Return)
    parts = (Said("Which tone?", ("Kind",)), Said("Which annexes?", ("Photos", "Notes")), Said("To whom?", text="Ann"))
    assert said.args == ["q7", Answer(parts=parts)]


def test_a_form_is_answered_only_when_all_of_it_is(dialog: QuestionDialog) -> None:
    answer = find(dialog, QPushButton, "question.answer")
    assert not answer.isEnabled()
    click(find(dialog, QAbstractButton, "question.1.option.1"))
    click(find(dialog, QAbstractButton, "question.2.option.2"))
    assert not answer.isEnabled()
    write(find(dialog, QPlainTextEdit, "question.3.words"), "x")
    assert answer.isEnabled()


def test_a_draft_of_a_form_comes_back(look: Look, dialog: QuestionDialog, qtbot: QtBot) -> None:
    click(find(dialog, QAbstractButton, "question.1.option.1"))
    write(find(dialog, QPlainTextEdit, "question.3.words"), "Ann")
    card = QuestionCard(look, FORM, draft=dialog.draft(), clock=noon)
    qtbot.addWidget(card)
    assert card.draft() == dialog.draft() and card.draft().parts[2].text == "Ann"


def test_any_number_of_options(look: Look, qtbot: QtBot) -> None:
    dialog = QuestionDialog(look, ANY, clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitExposed(dialog)
    assert find(dialog, QLabel, "question.any").isVisible()
    press(dialog.form, Qt.Key.Key_1)
    press(dialog.form, Qt.Key.Key_2)
    assert dialog.draft() == Answer("Photos", more=("Notes",))
    press(dialog.form, Qt.Key.Key_1)
    assert dialog.draft() == Answer("Notes")


@pytest.mark.parametrize("room", [500, 800, 1200])
def test_a_form_in_a_card_stays_within_its_share(place: AskPlace, room: int) -> None:
    place.show_asked("s", "t", [FORM])
    place.fit(room)
    assert place.card is not None and place.card.maximumHeight() <= room * 0.4


def test_what_has_room_for_a_bar_alone_makes_no_window_larger(place: AskPlace) -> None:
    place.fit(300)
    place.window().resize(780, 90)
    place.show_asked("s", "t", [FORM])
    assert place.window().height() == 90
    place.take_keyboard()
    assert find(place, QPushButton, "question.open").hasFocus()


def test_a_countdown_says_what_comes_and_stops_at_the_first_touch(place: AskPlace, qtbot: QtBot) -> None:
    card = QuestionCard(place._look, TIMED, clock=noon)
    qtbot.addWidget(card)
    assert "1:00 left, then it goes on with “Formal notice”" in card.age.text()
    with qtbot.waitSignal(card.form.touched) as told:
        press(card.form, Qt.Key.Key_1)
    assert told.args == [TIMED.id] and card.age.text().endswith("waits until you answer")
    with qtbot.assertNotEmitted(card.form.touched):
        press(card.form, Qt.Key.Key_2)


def test_a_touch_is_told_only_of_what_can_expire(place: AskPlace, qtbot: QtBot) -> None:
    place.show_asked("s", "t", [TONE])
    assert place.card is not None
    with qtbot.assertNotEmitted(place.touched):
        press(place.card.form, Qt.Key.Key_1)
    place.show_asked("s", "t", [replace(TIMED, id="q9")])
    with qtbot.waitSignal(place.touched):
        press(place.card.form, Qt.Key.Key_1)


def test_words_typed_for_a_question_that_is_gone_are_given_back(place: AskPlace, qtbot: QtBot) -> None:
    place.show_asked("s", "t", [TONE])
    write(find(place, QPlainTextEdit, "question.words"), "perhaps")
    with qtbot.assertNotEmitted(place.unsent):
        place.show_asked("other", "t", [])
        place.show_asked("s", "t", [TONE])
    assert place.card is not None and place.card.draft() == Answer(text="perhaps")
    with qtbot.waitSignal(place.unsent) as told:
        place.show_asked("s", "t", [])
    assert told.args == ["s", "perhaps"]


def test_the_next_takes_the_place_of_the_one_that_was_answered(place: AskPlace, qtbot: QtBot) -> None:
    place.show_asked("s", "t", [TONE, CHAIN, FETCH])
    assert place.card is not None and place.card.name() == TONE.id
    with qtbot.waitSignal(place.answered):
        press(place.card.form, Qt.Key.Key_1)
        press(place.card.form, Qt.Key.Key_Return)
    with qtbot.assertNotEmitted(place.unsent):
        place.show_asked("s", "t", [CHAIN, FETCH])
    assert place.card.form.hasFocus()  # the keyboard goes from one to the next
    assert not find(place, QPushButton, "consent.allow").isEnabled()
    assert place.is_consent() and find(place, QLabel, "consent.place").text() == "1 of 2"
    place.open_dialog()
    assert dialogs(place) == ["consent.dialog"]
    place.show_asked("s", "t", [FETCH])
    assert dialogs(place) == []
    place.show_asked("s", "t", [])
    assert not place.isVisible() and place.card is None


def test_where_something_else_is_looked_at_there_is_only_a_bar(place: AskPlace) -> None:
    place.bar(True)
    place.show_asked("s", "t", [CHAIN])
    assert find(place, QWidget, "consent.bar").isVisible()
    place.bar(False)
    assert not find(place, QWidget, "consent.bar").isVisible()


def test_the_inbox_lists_what_waits_in_all_sessions(look: Look, qtbot: QtBot) -> None:
    rows: list[tuple[SessionRow, Asked]] = [
        (SessionRow("a", "R&D <b>letter</b>"), TONE),
        (SessionRow("b", "x\n\u202ey" * 90), CHAIN),
    ]
    inbox = Inbox(look, lambda: rows, clock=noon)
    qtbot.addWidget(inbox)
    inbox.fill()
    first, second = inbox.actions()
    assert first.text() == "R&&D <b>letter</b>:  Which tone should the letter take?\t2m"
    assert "\u202e" not in second.text() and "\n" not in second.text() and len(second.text()) < 120
    with qtbot.waitSignal(inbox.chosen) as told:
        second.trigger()
    assert told.args == ["b"]
    rows.clear()
    inbox.fill()
    assert not inbox.actions()[0].isEnabled()
