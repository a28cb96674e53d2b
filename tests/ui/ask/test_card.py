"""The question card: keyboard shortcuts, answers, and how much space it takes."""

from typing import Protocol

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.question import Answer, Question
from tests.ui.ask.questions import CLOSED, LONG, MARKUP, NOON, OPEN, TONE, noon
from tests.ui.hands import click, find, press, write
from ui.ask.cards import QuestionCard
from ui.style.theme import Look, load_fonts, load_theme


class ShowCard(Protocol):
    """Shows a card at the bottom of a column of this height, as in the window."""

    def __call__(self, question: Question, room: int = 900) -> QuestionCard: ...


@pytest.fixture
def show(look: Look, qtbot: QtBot) -> ShowCard:
    columns = []  # keeps the columns alive for the duration of the test

    def showing(question: Question, room: int = 900) -> QuestionCard:
        column = QWidget()
        qtbot.addWidget(column)
        columns.append(column)
        column.resize(760, room)
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        card = QuestionCard(look, question, clock=noon)
        layout.addStretch(1)
        layout.addWidget(card)
        column.show()
        card.fit(room)
        layout.activate()
        return card

    return showing


@pytest.fixture
def card(show: ShowCard) -> QuestionCard:
    made = show(TONE)
    option(made, 1).setFocus()
    return made


def option(card: QWidget, number: int) -> QAbstractButton:
    return find(card, QAbstractButton, f"question.option.{number}")


def words(card: QWidget) -> QPlainTextEdit:
    return find(card, QPlainTextEdit, "question.words")


def answer_button(card: QWidget) -> QPushButton:
    return find(card, QPushButton, "question.answer")


def test_no_option_is_selected_at_first(card: QuestionCard) -> None:
    assert not any(option(card, number).isChecked() for number in (1, 2, 3))
    assert not answer_button(card).isEnabled()
    assert card.draft() == Answer()


def test_a_number_selects_and_enter_answers(card: QuestionCard, qtbot: QtBot) -> None:
    press(option(card, 1), Qt.Key.Key_2)
    assert option(card, 2).isChecked() and option(card, 2).hasFocus()
    with qtbot.waitSignal(card.answered) as answered:
        press(option(card, 2), Qt.Key.Key_Return)
    assert answered.args == ["q1", Answer(option="Friendly first reminder")]


def test_enter_without_a_selection_does_nothing(card: QuestionCard, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(card.answered):
        press(option(card, 1), Qt.Key.Key_Return)
        press(option(card, 1), Qt.Key.Key_9)


def test_escape_postpones_and_never_declines(card: QuestionCard, qtbot: QtBot) -> None:
    for place in (option(card, 1), words(card), find(card, QPushButton, "question.decline")):
        place.setFocus()
        with qtbot.assertNotEmitted(card.answered), qtbot.waitSignal(card.postponed) as later:
            press(place, Qt.Key.Key_Escape)
        assert later.args == ["q1"]


def test_the_number_after_the_last_option_focuses_the_text_field(card: QuestionCard, qtbot: QtBot) -> None:
    press(option(card, 1), Qt.Key.Key_4)
    assert words(card).hasFocus() and words(card).toPlainText() == ""
    write(words(card), "In 2 weeks, as a poem")
    with qtbot.waitSignal(card.answered) as answered:
        press(words(card), Qt.Key.Key_Return)
    assert answered.args == ["q1", Answer(text="In 2 weeks, as a poem")]


def test_digits_in_the_text_field_are_text(card: QuestionCard) -> None:
    words(card).setFocus()
    write(words(card), "123")
    assert words(card).toPlainText() == "123"
    assert not any(option(card, number).isChecked() for number in (1, 2, 3))


def test_text_is_sent_along_with_a_selection(card: QuestionCard, qtbot: QtBot) -> None:
    assert words(card).placeholderText().startswith("Something else")
    click(option(card, 3))
    assert words(card).placeholderText().startswith("Add")
    words(card).setPlainText("by post")
    with qtbot.waitSignal(card.answered) as answered:
        click(answer_button(card))
    assert answered.args == ["q1", Answer(option="Formal notice", text="by post")]


def test_a_second_click_clears_the_selection(card: QuestionCard) -> None:
    click(option(card, 1))
    click(option(card, 2))
    assert [option(card, number).isChecked() for number in (1, 2, 3)] == [False, True, False]
    click(option(card, 2))
    assert card.draft() == Answer() and not answer_button(card).isEnabled()


def test_declining_is_a_separate_answer(card: QuestionCard, qtbot: QtBot) -> None:
    with qtbot.waitSignal(card.answered) as answered:
        click(find(card, QPushButton, "question.decline"))
    assert answered.args == ["q1", Answer(declined=True)]


def test_enter_on_a_focused_button_presses_that_button(card: QuestionCard, qtbot: QtBot) -> None:
    click(option(card, 1))
    later = find(card, QPushButton, "question.later")
    later.setFocus()
    with qtbot.assertNotEmitted(card.answered), qtbot.waitSignal(card.postponed):
        press(later, Qt.Key.Key_Return)


def test_the_age_is_shown_and_updated(look: Look, qtbot: QtBot) -> None:
    moment = [NOON]
    card = QuestionCard(look, TONE, clock=lambda: moment[0])
    qtbot.addWidget(card)
    age = card.age
    assert age.text() == "asked 2 min ago · waits until you answer"
    moment[0] += 3 * 3600 * SECOND
    age.update_text()
    assert age.text() == "asked 3 hours ago · waits until you answer"


def test_the_age_is_updated_only_while_visible(card: QuestionCard) -> None:
    timer = card.age.findChild(QTimer)
    assert timer and timer.isActive()
    card.hide()
    assert not timer.isActive()


def test_assistive_technology_selects_an_option_without_a_click(show: ShowCard) -> None:
    card = show(TONE)
    first, second, _ = card.form.options
    answer = find(card, QPushButton, "question.answer")
    first.toggle()
    assert answer.isEnabled() and card.draft().option == first.label()
    second.toggle()
    assert not first.isChecked() and card.draft().option == second.label()
    second.toggle()
    assert not answer.isEnabled()


def test_the_focus_goes_to_the_answer_of_a_question_without_options(show: ShowCard) -> None:
    card = show(OPEN)
    card.activateWindow()
    card.focus_form()
    field = find(card, QPlainTextEdit, "question.words")
    assert card.window().focusWidget() is field


@pytest.mark.parametrize("room", [420, 640, 900, 1400])
@pytest.mark.parametrize("question", [TONE, LONG, OPEN, CLOSED], ids=lambda question: question.id)
def test_the_card_takes_at_most_two_fifths_of_the_height(show: ShowCard, question: Question, room: int) -> None:
    card = show(question, room)
    assert 0 < card.height() <= room * 0.4
    assert answer_button(card).isVisible()
    assert card.rect().contains(answer_button(card).mapTo(card, answer_button(card).rect().bottomRight()))


def test_options_collapse_to_one_line_before_anything_scrolls(show: ShowCard) -> None:
    folded = option(show(LONG, 900), 1).height()
    assert option(show(TONE, 900), 3).height() == folded
    assert option(show(LONG, 20_000), 1).height() > folded


def test_the_description_of_a_collapsed_option_is_its_tooltip(show: ShowCard) -> None:
    assert option(show(LONG, 900), 1).toolTip() == LONG.options[0].description
    assert option(show(LONG, 20_000), 1).toolTip() == ""


def test_a_collapsed_option_expands_when_it_is_selected(show: ShowCard) -> None:
    card = show(LONG)
    before = option(card, 9).height()
    assert card.form.select_number(9)
    QApplication.sendPostedEvents()
    assert option(card, 9).height() > before == option(card, 8).height()
    assert card.height() <= 900 * 0.4
    assert option(card, 9).visibleRegion().boundingRect().height() > before


def test_a_low_window_shows_a_single_bar(show: ShowCard, qtbot: QtBot) -> None:
    card = show(TONE, 300)
    assert card.height() < 60 and not option(card, 1).isVisible()
    with qtbot.waitSignal(card.dialog_requested) as wanted:
        click(find(card, QPushButton, "question.open"))
    assert wanted.args == ["q1"]
    card.fit(900)
    assert option(card, 1).isVisible() and not find(card, QFrame, "question.bar").isVisible()


def test_escape_on_the_bar_leaves_the_question_open(show: ShowCard, qtbot: QtBot) -> None:
    card = show(TONE, 300)
    card.focus_form()
    opens = card.window().focusWidget()
    assert opens is find(card, QPushButton, "question.open")
    with qtbot.assertNotEmitted(card.answered), qtbot.waitSignal(card.postponed) as later:
        press(opens, Qt.Key.Key_Escape)
    assert later.args == ["q1"]


def test_without_options_only_text_is_requested(show: ShowCard) -> None:
    card = show(OPEN)
    assert words(card).placeholderText().startswith("Your answer")
    write(words(card), "Ms Brown")
    assert card.draft() == Answer(text="Ms Brown")


def test_without_free_text_there_is_no_field(show: ShowCard) -> None:
    card = show(CLOSED)
    assert not find(card, QFrame, "question.field").isVisible()
    option(card, 1).setFocus()
    press(option(card, 1), Qt.Key.Key_3)
    assert card.draft() == Answer()


def test_markup_in_a_question_is_only_text(show: ShowCard) -> None:
    card = show(MARKUP)
    for name in ("question.text", "question.why"):
        assert find(card, QLabel, name).textFormat() == Qt.TextFormat.PlainText
    assert option(card, 1).toolTip() == ""
    assert find(card, QLabel, "question.text").text() == "<b>bold</b>?"


@pytest.mark.colors
def test_the_border_is_amber_and_the_background_is_not(card: QuestionCard, look: Look) -> None:
    frame = find(card, QFrame, "question.frame")
    image = frame.grab().toImage()
    assert image.pixelColor(1, frame.height() // 2) == look.theme.waiting
    assert image.pixelColor(8, frame.height() // 2) == look.theme.panel


def test_controls_have_accessible_names(card: QuestionCard) -> None:
    assert option(card, 1).accessibleName() == "Firm, with a deadline"
    assert option(card, 1).accessibleDescription() == "1 of 3. recommended. Names the Act and the next step."
    assert words(card).accessibleName() == "Something else…"
    assert "Which tone" in card.accessibleName()


def test_a_draft_is_restored(look: Look, qtbot: QtBot) -> None:
    draft = Answer(option="Formal notice", text="by post")
    card = QuestionCard(look, TONE, draft=draft, clock=noon)
    qtbot.addWidget(card)
    assert card.draft() == draft and answer_button(card).isEnabled()


@pytest.mark.colors
def test_theme_changes_at_run_time(card: QuestionCard) -> None:
    theme = load_theme("light")
    card.restyle(Look(theme, load_fonts(1.25)))
    frame = find(card, QFrame, "question.frame")
    assert QColor(frame.grab().toImage().pixelColor(1, frame.height() // 2)) == theme.waiting
