"""Forms with several questions, multiple choice, questions that expire, and the inbox."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.question import Answer, Question, QuestionOption, SubAnswer, SubQuestion
from core.domain.sessions import SessionRow
from tests.ui.ask.permissions import CHAIN, FETCH
from tests.ui.ask.questions import NOON, TONE, noon
from tests.ui.hands import click, find, press, write
from ui.ask.ask_area import AskArea
from ui.ask.cards import QuestionCard
from ui.ask.dialogs import QuestionDialog
from ui.ask.inbox import InboxMenu, WaitingRequest
from ui.ask.question_input import QuestionInput
from ui.style.theme import Look

FORM = Question(
    "q7",
    "Which tone? (and 2 more)",
    "The draft is ready.",
    sub_questions=(
        SubQuestion("Which tone?", (QuestionOption("Firm", recommended=True), QuestionOption("Kind"))),
        SubQuestion(
            "Which annexes?",
            (QuestionOption("Photos"), QuestionOption("Agreement"), QuestionOption("Notes")),
            multi_select=True,
        ),
        SubQuestion("To whom?"),
    ),
    asked_at=NOON,
)
ANY = Question(
    "q8",
    "Which annexes?",
    options=(QuestionOption("Photos"), QuestionOption("Notes")),
    multi_select=True,
    asked_at=NOON,
)
TIMED = replace(
    TONE, asked_at=NOON - 30 * SECOND, timeout_s=90.0, on_unanswered="default", default_answer="Formal notice"
)


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> QuestionDialog:
    made = QuestionDialog(look, FORM, clock=noon)
    qtbot.addWidget(made)
    made.open()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def place(look: Look, qtbot: QtBot) -> Iterator[AskArea]:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(780, 800)
    column = QVBoxLayout(window)
    column.addStretch(1)
    made = AskArea(look)
    column.addWidget(made)
    window.show()
    qtbot.waitExposed(window)
    made.fit(800)
    yield made  # keeps the window alive for the duration of the test


@pytest.mark.parametrize("number", [2, 1])
def test_the_digit_of_the_text_field_scrolls_to_it(look: Look, qtbot: QtBot, number: int) -> None:
    """The field of each question of a form is in the scroll area, and in a low window it may be out of sight."""
    dialog = QuestionDialog(look, FORM, clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitExposed(dialog)
    dialog.resize(dialog.width(), 260)
    bar = dialog.form._scroll.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    asked = dialog.form.inputs[number - 1]
    asked.focus_first()
    bar.setValue(bar.minimum() if number == 2 else bar.maximum())
    assert asked.field_frame.visibleRegion().isEmpty()
    press(asked.rows[0], Qt.Key(Qt.Key.Key_1 + len(asked.rows)))
    assert dialog.window().focusWidget() is asked.text_field
    assert asked.field_frame.visibleRegion().boundingRect().size() == asked.field_frame.size()


def dialogs(place: AskArea) -> list[str]:
    return [place.dialog.objectName()] if place.dialog else []


def test_every_question_of_a_form_is_answered_by_keyboard_alone(dialog: QuestionDialog, qtbot: QtBot) -> None:
    form = dialog.form
    press(form, Qt.Key.Key_2)
    assert form.draft().sub_answers[0] == SubAnswer("Which tone?", ("Kind",))
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
    parts = (
        SubAnswer("Which tone?", ("Kind",)),
        SubAnswer("Which annexes?", ("Photos", "Notes")),
        SubAnswer("To whom?", text="Ann"),
    )
    assert said.args == ["q7", Answer(sub_answers=parts)]


def test_a_form_can_be_sent_only_when_complete(dialog: QuestionDialog) -> None:
    answer = find(dialog, QPushButton, "question.answer")
    assert not answer.isEnabled()
    click(find(dialog, QAbstractButton, "question.1.option.1"))
    click(find(dialog, QAbstractButton, "question.2.option.2"))
    assert not answer.isEnabled()
    write(find(dialog, QPlainTextEdit, "question.3.words"), "x")
    assert answer.isEnabled()


def test_a_draft_of_a_form_is_restored(look: Look, dialog: QuestionDialog, qtbot: QtBot) -> None:
    click(find(dialog, QAbstractButton, "question.1.option.1"))
    write(find(dialog, QPlainTextEdit, "question.3.words"), "Ann")
    card = QuestionCard(look, FORM, draft=dialog.draft(), clock=noon)
    qtbot.addWidget(card)
    assert card.draft() == dialog.draft() and card.draft().sub_answers[2].text == "Ann"


def test_any_number_of_options(look: Look, qtbot: QtBot) -> None:
    dialog = QuestionDialog(look, ANY, clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitExposed(dialog)
    assert find(dialog, QLabel, "question.any").isVisible()
    press(dialog.form, Qt.Key.Key_1)
    press(dialog.form, Qt.Key.Key_2)
    assert dialog.draft() == Answer("Photos", more_options=("Notes",))
    press(dialog.form, Qt.Key.Key_1)
    assert dialog.draft() == Answer("Notes")


@pytest.mark.parametrize("room", [500, 800, 1200])
def test_a_form_in_a_card_stays_within_its_share(place: AskArea, room: int) -> None:
    place.show_requests("s", "t", [FORM])
    place.fit(room)
    assert place.card is not None and place.card.maximumHeight() <= room * 0.4


def test_a_card_with_room_for_a_bar_only_does_not_enlarge_the_window(place: AskArea) -> None:
    place.fit(300)
    place.window().resize(780, 90)
    place.show_requests("s", "t", [FORM])
    assert place.window().height() == 90
    place.focus_card()
    assert find(place, QPushButton, "question.open").hasFocus()


def test_a_countdown_names_the_default_and_stops_at_the_first_input(place: AskArea, qtbot: QtBot) -> None:
    card = QuestionCard(place._look, TIMED, clock=noon)
    qtbot.addWidget(card)
    assert "1:00 left, then the run continues with “Formal notice”" in card.age.text()
    with qtbot.waitSignal(card.form.first_interaction) as told:
        press(card.form, Qt.Key.Key_1)
    assert told.args == [TIMED.id] and card.age.text().endswith("waits until you answer")
    with qtbot.assertNotEmitted(card.form.first_interaction):
        press(card.form, Qt.Key.Key_2)


def test_input_is_reported_only_for_requests_that_can_expire(place: AskArea, qtbot: QtBot) -> None:
    place.show_requests("s", "t", [TONE])
    assert place.card is not None
    with qtbot.assertNotEmitted(place.first_interaction):
        press(place.card.form, Qt.Key.Key_1)
    place.show_requests("s", "t", [replace(TIMED, id="q9")])
    with qtbot.waitSignal(place.first_interaction):
        press(place.card.form, Qt.Key.Key_1)


def test_text_typed_for_a_withdrawn_question_is_given_back(place: AskArea, qtbot: QtBot) -> None:
    place.show_requests("s", "t", [TONE])
    write(find(place, QPlainTextEdit, "question.words"), "perhaps")
    with qtbot.assertNotEmitted(place.unsent_text):
        place.show_requests("other", "t", [])
        place.show_requests("s", "t", [TONE])
    assert place.card is not None and place.card.draft() == Answer(text="perhaps")
    with qtbot.waitSignal(place.unsent_text) as told:
        place.show_requests("s", "t", [])
    assert told.args == ["s", "perhaps"]


def test_the_next_request_replaces_the_answered_one(place: AskArea, qtbot: QtBot) -> None:
    place.show_requests("s", "t", [TONE, CHAIN, FETCH])
    assert place.card is not None and place.card.request_id() == TONE.id
    with qtbot.waitSignal(place.answered):
        press(place.card.form, Qt.Key.Key_1)
        press(place.card.form, Qt.Key.Key_Return)
    with qtbot.assertNotEmitted(place.unsent_text):
        place.show_requests("s", "t", [CHAIN, FETCH])
    assert place.card.form.hasFocus()  # the focus moves to the next request
    assert not find(place, QPushButton, "consent.allow").isEnabled()
    assert place.shows_permission() and find(place, QLabel, "consent.place").text() == "Request 1 of 2"
    place.open_dialog()
    assert dialogs(place) == ["consent.dialog"]
    place.show_requests("s", "t", [FETCH])
    assert dialogs(place) == []
    place.show_requests("s", "t", [])
    assert not place.isVisible() and place.card is None


def test_while_another_view_is_shown_there_is_only_a_bar(place: AskArea) -> None:
    place.set_bar_only(True)
    place.show_requests("s", "t", [CHAIN])
    assert find(place, QWidget, "consent.bar").isVisible()
    place.set_bar_only(False)
    assert not find(place, QWidget, "consent.bar").isVisible()


def test_the_inbox_lists_requests_of_all_sessions(look: Look, qtbot: QtBot) -> None:
    rows = [
        WaitingRequest(SessionRow("a", "R&D <b>letter</b>"), TONE),
        WaitingRequest(SessionRow("b", "x\n\u202ey" * 90), CHAIN),
    ]
    inbox = InboxMenu(look, lambda: rows, clock=noon)
    qtbot.addWidget(inbox)
    inbox.fill()
    first, second = inbox.actions()
    assert first.text() == "R&&D <b>letter</b>:  Which tone should the letter take?\t2m"
    assert "\u202e" not in second.text() and "\n" not in second.text() and len(second.text()) < 120
    with qtbot.waitSignal(inbox.session_chosen) as told:
        second.trigger()
    assert told.args == ["b"]
    rows.clear()
    inbox.fill()
    assert not inbox.actions()[0].isEnabled()


def test_only_selecting_an_option_is_reported_as_a_selection(look: Look, qtbot: QtBot) -> None:
    options = (QuestionOption("A"), QuestionOption("B"))
    question_input = QuestionInput(look, SubQuestion("Which?", options, multi_select=True), 0, dialog=True)
    for widget in (*question_input.rows, question_input.field_frame):
        qtbot.addWidget(widget)
    with qtbot.waitSignal(question_input.scroll_requested):
        question_input.select_number(1)
    for deselect in (lambda: question_input.select_number(1), question_input.rows[0].click):
        question_input.rows[0].setChecked(True)
        with (
            qtbot.assertNotEmitted(question_input.scroll_requested),
            qtbot.waitSignal(question_input.selection_changed),
        ):
            deselect()
    assert not question_input.current_answer().options
