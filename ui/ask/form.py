"""A question as a form: options, words of one's own, and three ways to react; shared by the card and the dialog."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.domain.question import Answer, Question
from ui.ask.option import OptionRow
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import ENTER_KEYS, WordsField, hairline, label, surface

GAP: Final = 6


class QuestionForm(QWidget):
    """Nothing is chosen at first. Keys: 1 to 9 choose, Enter answers, Esc puts off and never declines."""

    answered = Signal(str, Answer)
    later = Signal(str)
    chosen = Signal()
    touched = Signal(str)

    def __init__(
        self,
        look: Look,
        question: Question,
        *,
        head: QWidget,
        tail: QWidget | None = None,
        dialog: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look, self._question = look, question
        self.options = [
            OptionRow(look, option, number, stacked=dialog) for number, option in enumerate(question.options, 1)
        ]
        self._build(dialog)
        if tail:
            self._lay_out_dialog(head, tail)
        else:
            self._lay_out_card(head)
        self._field.setVisible(question.free_text)
        for row in self.options:
            row.clicked.connect(self._chosen(row))
        self._words.textChanged.connect(self._tell_state)
        self._words.entered.connect(self.answer)
        self._answer.clicked.connect(self.answer)
        self._decline.clicked.connect(self.decline)
        self._later.clicked.connect(self.put_off)
        self._tell_state()

    def choose(self, number: int) -> bool:
        """Choose the option of this number; the number after the last one goes to the words of one's own."""
        if 1 <= number <= len(self.options):
            self._only(self.options[number - 1])
            self.options[number - 1].setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        if number == len(self.options) + 1 and self._question.free_text:
            self._words.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        return False

    def draft(self) -> Answer:
        """What would be said if it were handed over now."""
        chosen = next((row.label() for row in self.options if row.isChecked()), "")
        return Answer(option=chosen, text=self._words.words() if self._question.free_text else "")

    def fill(self, draft: Answer) -> None:
        """Bring back what was chosen and typed before the question was put off."""
        for row in self.options:
            row.setChecked(row.label() == draft.option)
        self._words.setPlainText(draft.text)
        self._tell_state()

    def answer(self) -> None:
        draft = self.draft()
        if draft.option or draft.text:
            self.answered.emit(self._question.id, draft)

    def decline(self) -> None:
        self.answered.emit(self._question.id, Answer(text=self.draft().text, declined=True))

    def put_off(self) -> None:
        self.later.emit(self._question.id)

    def fold(self, folded: bool) -> None:
        """One line for each option, when there is no room for more."""
        for row in self.options:
            row.fold(folded)

    def restyle(self, look: Look) -> None:
        self._look = look
        for row in self.options:
            row.restyle(look)
        for button in (self._later, self._decline, self._answer):
            button.restyle(look)
        self._words.set_font(look.fonts.text)
        self._number.setFont(look.fonts.second)

    def _build(self, dialog: bool) -> None:
        look = self._look
        self._words = WordsField(look.fonts.text, lines=6 if dialog else 3, least=2 if dialog else 1)
        self._words.setObjectName("question.words")
        self._number = label(str(len(self.options) + 1) if self.options else "", look.fonts.second, "third")
        self._later = Button(look, self.tr("Later"), name="question.later", tone="quiet", hint=self.tr("Esc"))
        self._decline = Button(look, self.tr("Decline"), name="question.decline")
        hint = self.tr("Enter") if dialog else ""
        self._answer = Button(look, self.tr("Answer"), name="question.answer", tone="primary", hint=hint)

    def _lay_out_card(self, head: QWidget) -> None:
        """Words and buttons share the last line; what is above scrolls where it has to."""
        content = QWidget()
        inside = _column(content, GAP)
        inside.addWidget(head)
        for row in self.options:
            inside.addWidget(row)
        inside.addStretch(1)
        column = _column(self, 8)
        self._scroll = FittingScroll(content)
        column.addWidget(self._scroll)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self._words_well(), 1)
        foot.addStretch(0)
        for button in (self._later, self._decline, self._answer):
            foot.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
        column.addLayout(foot)

    def _lay_out_dialog(self, head: QWidget, tail: QWidget) -> None:
        content = QWidget()
        inside = _column(content, 0)
        inside.addWidget(head)
        body = QVBoxLayout()
        body.setContentsMargins(20, 0, 20, 12)
        body.setSpacing(8)
        for widget in (*self.options, self._words_well(), tail):
            body.addWidget(widget)
        inside.addLayout(body)
        inside.addStretch(1)
        column = _column(self, 0)
        self._scroll = FittingScroll(content)
        column.addWidget(self._scroll)
        column.addStretch(1)
        column.addWidget(hairline())
        foot = QHBoxLayout()
        foot.setContentsMargins(20, 12, 20, 12)
        foot.setSpacing(8)
        foot.addStretch(1)
        for button in (self._later, self._decline, self._answer):
            foot.addWidget(button)
        column.addLayout(foot)

    def _words_well(self) -> QWidget:
        self._field = surface("well")
        self._field.setObjectName("question.field")
        inside = QHBoxLayout(self._field)
        inside.setContentsMargins(10, 5, 10, 4)
        inside.setSpacing(14)
        top = Qt.AlignmentFlag.AlignTop
        inside.addWidget(self._number, 0, top)
        inside.addWidget(self._words, 1, top)
        self._number.setVisible(bool(self.options))
        return self._field

    def _chosen(self, row: OptionRow) -> Callable[[], None]:
        return lambda: self._only(row) if row.isChecked() else self._tell_state()

    def _only(self, chosen: OptionRow) -> None:
        for row in self.options:
            row.setChecked(row is chosen)
        self._tell_state()
        # A folded option opens when it is chosen, so that nobody answers with words they could not read.
        self.chosen.emit()
        self._scroll.show_whole(chosen)

    def _tell_state(self) -> None:
        draft = self.draft()
        self._answer.setEnabled(bool(draft.option or draft.text))
        # With an option chosen the words go along with it, without one they are the answer: the field says which.
        if draft.option:
            invitation = self.tr("Add a word to it…")
        elif self.options:
            invitation = self.tr("Something else…")
        else:
            invitation = self.tr("Your answer…")
        self._words.setPlaceholderText(invitation)
        self._words.setAccessibleName(invitation)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, focused = event.key(), self.focusWidget()
        if key == Qt.Key.Key_Escape:
            self.put_off()
        elif key in ENTER_KEYS and isinstance(focused, QPushButton) and focused.hasFocus():
            focused.click()
        elif key in ENTER_KEYS:
            self.answer()
        elif not (Qt.Key.Key_1 <= key <= Qt.Key.Key_9 and self.choose(key - Qt.Key.Key_0)):
            super().keyPressEvent(event)


def _column(widget: QWidget, spacing: int) -> QVBoxLayout:
    made = QVBoxLayout(widget)
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(spacing)
    return made
