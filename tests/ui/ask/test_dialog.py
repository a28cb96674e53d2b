"""The question dialog: it answers like the card and never takes the focus from a user who is typing."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.domain.question import Answer
from tests.ui.ask.questions import LONG, TONE, noon
from tests.ui.hands import click, find, press, write
from ui.ask.dialogs import QuestionDialog
from ui.style.theme import Look, load_fonts, load_theme


@pytest.fixture
def dialog(look: Look, qtbot: QtBot) -> QuestionDialog:
    made = QuestionDialog(look, TONE, context="Letter {} · step 23", clock=noon)
    qtbot.addWidget(made)
    made.open()
    qtbot.waitExposed(made)
    return made


def test_the_dialog_names_the_asker_and_the_age(dialog: QuestionDialog) -> None:
    assert find(dialog, QLabel, "question.age").text() == "Letter {} · step 23 · asked 2 min ago"
    assert find(dialog, QLabel, "question.text").text() == TONE.text
    assert "even after a restart" in find(dialog, QLabel, "question.note").text()


def test_keys_select_and_answer(dialog: QuestionDialog, qtbot: QtBot) -> None:
    press(dialog.form, Qt.Key.Key_1)
    with qtbot.waitSignal(dialog.answered) as answered, qtbot.assertNotEmitted(dialog.postponed):
        press(dialog.form, Qt.Key.Key_Return)
    assert answered.args == ["q1", Answer(option="Firm, with a deadline")]
    assert not dialog.isVisible()


def test_escape_and_closing_postpone(dialog: QuestionDialog, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(dialog.answered), qtbot.waitSignal(dialog.postponed) as later:
        press(dialog.form, Qt.Key.Key_Escape)
    assert later.args == ["q1"] and not dialog.isVisible()
    dialog.open()
    with qtbot.assertNotEmitted(dialog.answered), qtbot.waitSignal(dialog.postponed):
        dialog.close()


def test_the_later_button_postpones_once(dialog: QuestionDialog) -> None:
    told: list[str] = []
    dialog.postponed.connect(told.append)
    click(find(dialog, QPushButton, "question.later"))
    assert told == ["q1"]


def test_declining_closes_and_does_not_postpone(dialog: QuestionDialog, qtbot: QtBot) -> None:
    with qtbot.waitSignal(dialog.answered) as answered, qtbot.assertNotEmitted(dialog.postponed):
        click(find(dialog, QPushButton, "question.decline"))
    assert answered.args == ["q1", Answer(declined=True)]


def test_the_dialog_never_takes_the_focus_while_typing(look: Look, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field = QLineEdit()
    QVBoxLayout(window).addWidget(field)
    window.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    dialog = QuestionDialog(look, TONE, clock=noon, parent=window)
    dialog.open()
    qtbot.waitExposed(dialog)
    assert QApplication.focusWidget() is field
    write(field, "still 1 typing")
    assert field.text() == "still 1 typing" and dialog.draft() == Answer()
    assert not dialog.isModal()
    dialog.close()


def test_a_long_question_stays_on_the_screen(look: Look, qtbot: QtBot) -> None:
    dialog = QuestionDialog(look, LONG, clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitExposed(dialog)
    assert dialog.height() <= dialog.screen().availableSize().height() * 0.8
    assert dialog.rect().contains(find(dialog, QPushButton, "question.answer").geometry().bottomRight())


@pytest.mark.parametrize("width", [360, 480, 560, 900])
def test_every_option_is_as_high_as_its_text(look: Look, qtbot: QtBot, width: int) -> None:
    dialog = QuestionDialog(look, LONG, clock=noon)
    qtbot.addWidget(dialog)
    dialog.resize(width, 500)
    dialog.open()
    qtbot.waitExposed(dialog)
    wrong = [row.label() for row in dialog.form.options if row.height() != row.heightForWidth(row.width())]
    assert not wrong


def test_a_very_long_word_does_not_widen_the_dialog(look: Look, qtbot: QtBot) -> None:
    question = type(TONE)("q9", "x" * 400, "/a/very/long/path" * 30, asked_at=TONE.asked_at)
    dialog = QuestionDialog(look, question, clock=noon)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitExposed(dialog)
    assert dialog.width() <= 600


def test_typed_text_is_restored(look: Look, dialog: QuestionDialog, qtbot: QtBot) -> None:
    press(dialog.form, Qt.Key.Key_4)
    focused = QApplication.focusWidget()
    assert focused is not None
    write(focused, "perhaps")
    press(focused, Qt.Key.Key_Escape)
    again = QuestionDialog(look, TONE, draft=dialog.draft(), clock=noon)
    qtbot.addWidget(again)
    assert again.draft() == Answer(text="perhaps")


def test_theme_changes_at_run_time(dialog: QuestionDialog) -> None:
    dialog.restyle(Look(load_theme("light"), load_fonts(1.5)))
    assert find(dialog, QLabel, "question.text").font().pixelSize() == 24
    assert find(dialog, QAbstractButton, "question.option.1").height() > 40
