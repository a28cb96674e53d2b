"""A question, or several at once, as a form with three ways to react; shared by the card and the dialog."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from core.domain.question import Answer, Question
from ui.ask.choice import Choice
from ui.ask.option import OptionRow
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import ENTER_KEYS, hairline, label

GAP: Final = 6


class QuestionForm(QWidget):
    """Nothing is chosen at first. Keys: 1 to 9 choose, Enter answers, Esc puts off and never declines.

    In a form of several the digits choose in the question that has the keyboard, and Enter goes to the next one that
    is open. `touched` is told once, at the first key or click.
    """

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
        self._touched = False
        several = len(question.forms()) > 1
        self.choices = [
            Choice(look, part, number if several else 0, dialog=dialog, parent=self)
            for number, part in enumerate(question.forms(), 1)
        ]
        self._titles: list[QLabel] = []
        self._build(dialog)
        if tail:
            self._lay_out_dialog(head, tail)
        else:
            self._lay_out_card(head)
        for choice in self.choices:
            choice.changed.connect(self._tell_state)
            choice.changed.connect(self.touch)
            choice.chosen.connect(self._show_chosen)
            choice.entered.connect(self.enter)
        self._answer.clicked.connect(self.answer)
        self._decline.clicked.connect(self.decline)
        self._later.clicked.connect(self.put_off)
        self._tell_state()

    @property
    def options(self) -> list[OptionRow]:
        """Every option there is to choose."""
        return [row for choice in self.choices for row in choice.rows]

    def choose(self, number: int) -> bool:
        """In the question that has the keyboard, else in the first that is open."""
        return self._current().choose(number)

    def draft(self) -> Answer:
        """What would be said if it were handed over now."""
        said = tuple(choice.said() for choice in self.choices)
        if len(said) > 1:
            return Answer(parts=said if any(part.options or part.text for part in said) else ())
        first, *more = said[0].options or ("",)
        return Answer(first, said[0].text, more=tuple(more))

    def fill(self, draft: Answer) -> None:
        """Bring back what was chosen and typed before the question was put off."""
        if len(self.choices) == 1:
            self.choices[0].fill((draft.option, *draft.more) if draft.option else (), draft.text)
        for choice, part in zip(self.choices, draft.parts, strict=False):
            choice.fill(part.options, part.text)
        self._tell_state()

    def enter(self) -> None:
        """Answer, or go to the next question of the form that has no answer yet."""
        if waiting := next((choice for choice in self.choices if not choice.answered()), None):
            if len(self.choices) > 1:
                waiting.take_keyboard()
                self._scroll.show_whole(waiting.rows[0] if waiting.rows else waiting.well)
            return
        self.answer()

    def answer(self) -> None:
        if all(choice.answered() for choice in self.choices):
            self.answered.emit(self._question.id, self.draft())

    def decline(self) -> None:
        words = "\n".join(filter(None, (choice.said().text for choice in self.choices)))
        self.answered.emit(self._question.id, Answer(text=words, declined=True))

    def put_off(self) -> None:
        self.later.emit(self._question.id)

    def touch(self) -> None:
        """Somebody is here."""
        if not self._touched:
            self._touched = True
            self.touched.emit(self._question.id)

    def fold(self, folded: bool) -> None:
        """One line for each option, when there is no room for more."""
        for choice in self.choices:
            choice.fold(folded)

    def restyle(self, look: Look) -> None:
        self._look = look
        for choice in self.choices:
            choice.restyle(look)
        for button in (self._later, self._decline, self._answer):
            button.restyle(look)
        for title in self._titles:
            title.setFont(look.fonts.strong)

    def _build(self, dialog: bool) -> None:
        look = self._look
        self._later = Button(look, self.tr("Later"), name="question.later", tone="quiet", hint=self.tr("Esc"))
        self._decline = Button(look, self.tr("Decline"), name="question.decline")
        hint = self.tr("Enter") if dialog else ""
        self._answer = Button(look, self.tr("Answer"), name="question.answer", tone="primary", hint=hint)

    def _lay_out_card(self, head: QWidget) -> None:
        """Words and buttons share the last line; what is above scrolls where it has to."""
        content = QWidget()
        inside = _column(content, GAP)
        inside.addWidget(head)
        self._add_parts(inside, words=len(self.choices) > 1)
        inside.addStretch(1)
        column = _column(self, 8)
        self._scroll = FittingScroll(content)
        column.addWidget(self._scroll)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        if len(self.choices) == 1:
            foot.addWidget(self.choices[0].well, 1)
            foot.addStretch(0)
        else:
            foot.addStretch(1)
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
        self._add_parts(body, words=True)
        body.addWidget(tail)
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

    def _add_parts(self, column: QVBoxLayout, *, words: bool) -> None:
        for number, choice in enumerate(self.choices, 1):
            several = self.tr("choose any") if choice.part.several else ""
            if len(self.choices) > 1:
                text = f"{number}.  {visible(choice.part.text)}" + (f"  ({several})" if several else "")
                title = label(text, self._look.fonts.strong, name=f"question.{number}.text", wrap=True)
                title.setContentsMargins(0, 8 if number > 1 else 0, 0, 0)
                self._titles.append(title)
                column.addWidget(title)
            elif several:
                title = label(self.tr("Choose any of them."), self._look.fonts.second, "second", name="question.any")
                column.addWidget(title)
            for row in choice.rows:
                column.addWidget(row)
            if words:
                column.addWidget(choice.well)

    def _current(self) -> Choice:
        focused = self.focusWidget()
        held = next((choice for choice in self.choices if choice.holds(focused)), None)
        return held or next((choice for choice in self.choices if not choice.answered()), self.choices[0])

    def _show_chosen(self, row: OptionRow) -> None:
        self.chosen.emit()
        self._scroll.show_whole(row)

    def _tell_state(self) -> None:
        self._answer.setEnabled(all(choice.answered() for choice in self.choices))

    # Qt

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.touch()
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, focused = event.key(), self.focusWidget()
        self.touch()
        if key == Qt.Key.Key_Escape:
            self.put_off()
        elif key in ENTER_KEYS and isinstance(focused, QPushButton) and focused.hasFocus():
            focused.click()
        elif key in ENTER_KEYS:
            self.enter()
        elif not (Qt.Key.Key_1 <= key <= Qt.Key.Key_9 and self.choose(key - Qt.Key.Key_0)):
            super().keyPressEvent(event)


def _column(widget: QWidget, spacing: int) -> QVBoxLayout:
    made = QVBoxLayout(widget)
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(spacing)
    return made
