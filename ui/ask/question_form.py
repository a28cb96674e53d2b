"""The form for one or several questions from the agent; shared by the card and the dialog."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from core.domain.question import Answer, Question
from ui.ask.option_row import OptionRow
from ui.ask.question_input import QuestionInput
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import ENTER_KEYS, hairline, label

GAP: Final = 6


class QuestionForm(QWidget):
    """A form for one or several questions; nothing is selected at first.

    Keys: 1 to 9 select an option, Enter answers, Esc leaves the question open and never declines. With several
    questions, digits apply to the focused question and Enter moves to the next unanswered one. `first_interaction` is
    emitted once, at the first key press or click.
    """

    answered = Signal(str, Answer)
    postponed = Signal(str)
    layout_changed = Signal()
    first_interaction = Signal(str)

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
        several = len(question.all_questions()) > 1
        self.inputs = [
            QuestionInput(look, part, number if several else 0, dialog=dialog, parent=self)
            for number, part in enumerate(question.all_questions(), 1)
        ]
        self._titles: list[QLabel] = []
        self._build(dialog)
        if tail:
            self._lay_out_dialog(head, tail)
        else:
            self._lay_out_card(head)
        for choice in self.inputs:
            choice.changed.connect(self._update_state)
            choice.changed.connect(self.mark_touched)
            choice.option_selected.connect(self._show_chosen)
            choice.entered.connect(self.submit_or_advance)
        self._answer.clicked.connect(self.answer)
        self._decline.clicked.connect(self.decline)
        self._later.clicked.connect(self.postpone)
        self._update_state()

    @property
    def options(self) -> list[OptionRow]:
        """The options of all questions."""
        return [row for choice in self.inputs for row in choice.rows]

    def select_number(self, number: int) -> bool:
        """Select an option by number in the focused question, or in the first unanswered one."""
        return self._current().select_number(number)

    def draft(self) -> Answer:
        """Return the answer as it is filled in now."""
        answers = tuple(choice.current_answer() for choice in self.inputs)
        if len(answers) > 1:
            return Answer(sub_answers=answers if any(part.options or part.text for part in answers) else ())
        first, *more = answers[0].options or ("",)
        return Answer(first, answers[0].text, more_options=tuple(more))

    def fill(self, draft: Answer) -> None:
        """Restore what was selected and typed before the question was left open."""
        if len(self.inputs) == 1:
            self.inputs[0].fill((draft.option, *draft.more_options) if draft.option else (), draft.text)
        for choice, part in zip(self.inputs, draft.sub_answers, strict=False):
            choice.fill(part.options, part.text)
        self._update_state()

    def submit_or_advance(self) -> None:
        """Send the answer, or move to the next unanswered question of the form."""
        if waiting := next((choice for choice in self.inputs if not choice.is_answered()), None):
            if len(self.inputs) > 1:
                waiting.focus_first()
                self._scroll.scroll_to(waiting.rows[0] if waiting.rows else waiting.field_frame)
            return
        self.answer()

    def answer(self) -> None:
        if all(choice.is_answered() for choice in self.inputs):
            self.answered.emit(self._question.id, self.draft())

    def decline(self) -> None:
        words = "\n".join(filter(None, (choice.current_answer().text for choice in self.inputs)))
        self.answered.emit(self._question.id, Answer(text=words, declined=True))

    def postpone(self) -> None:
        self.postponed.emit(self._question.id)

    def mark_touched(self) -> None:
        """Emit `first_interaction` once, which stops the countdown of a question that expires."""
        if not self._touched:
            self._touched = True
            self.first_interaction.emit(self._question.id)

    def set_collapsed(self, folded: bool) -> None:
        """Collapse each option to one line, or expand them again."""
        for choice in self.inputs:
            choice.set_collapsed(folded)

    def restyle(self, look: Look) -> None:
        self._look = look
        for choice in self.inputs:
            choice.restyle(look)
        for button in (self._later, self._decline, self._answer):
            button.restyle(look)
        for title in self._titles:
            title.setFont(look.fonts.strong)

    def _build(self, dialog: bool) -> None:
        look = self._look
        self._later = Button(look, self.tr("Answer later"), name="question.later", tone="quiet", hint=self.tr("Esc"))
        self._decline = Button(look, self.tr("Decline"), name="question.decline")
        hint = self.tr("Enter") if dialog else ""
        self._answer = Button(look, self.tr("Answer"), name="question.answer", tone="primary", hint=hint)

    def _lay_out_card(self, head: QWidget) -> None:
        """Put the text field of a single question beside the buttons in the last row, below the scroll area."""
        content = QWidget()
        inside = _column(content, GAP)
        inside.addWidget(head)
        self._add_questions(inside, words=len(self.inputs) > 1)
        inside.addStretch(1)
        column = _column(self, 8)
        self._scroll = FittingScrollArea(content)
        column.addWidget(self._scroll)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        if len(self.inputs) == 1:
            foot.addWidget(self.inputs[0].field_frame, 1)
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
        self._add_questions(body, words=True)
        body.addWidget(tail)
        inside.addLayout(body)
        inside.addStretch(1)
        column = _column(self, 0)
        self._scroll = FittingScrollArea(content)
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

    def _add_questions(self, column: QVBoxLayout, *, words: bool) -> None:
        for number, choice in enumerate(self.inputs, 1):
            several = self.tr("select any number") if choice.question.multi_select else ""
            if len(self.inputs) > 1:
                text = f"{number}.  {visible(choice.question.text)}" + (f"  ({several})" if several else "")
                title = label(text, self._look.fonts.strong, name=f"question.{number}.text", wrap=True)
                title.setContentsMargins(0, 8 if number > 1 else 0, 0, 0)
                self._titles.append(title)
                column.addWidget(title)
            elif several:
                title = label(
                    self.tr("Select any number of options."), self._look.fonts.second, "second", name="question.any"
                )
                column.addWidget(title)
            for row in choice.rows:
                column.addWidget(row)
            if words:
                column.addWidget(choice.field_frame)

    def _current(self) -> QuestionInput:
        focused = self.focusWidget()
        focused_input = next((choice for choice in self.inputs if choice.contains(focused)), None)
        return focused_input or next((choice for choice in self.inputs if not choice.is_answered()), self.inputs[0])

    def _show_chosen(self, row: OptionRow) -> None:
        self.layout_changed.emit()
        self._scroll.scroll_to(row)

    def _update_state(self) -> None:
        self._answer.setEnabled(all(choice.is_answered() for choice in self.inputs))

    # Qt overrides

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.mark_touched()
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, focused = event.key(), self.focusWidget()
        self.mark_touched()
        if key == Qt.Key.Key_Escape:
            self.postpone()
        elif key in ENTER_KEYS and isinstance(focused, QPushButton) and focused.hasFocus():
            focused.click()
        elif key in ENTER_KEYS:
            self.submit_or_advance()
        elif not (Qt.Key.Key_1 <= key <= Qt.Key.Key_9 and self.select_number(key - Qt.Key.Key_0)):
            super().keyPressEvent(event)


def _column(widget: QWidget, spacing: int) -> QVBoxLayout:
    made = QVBoxLayout(widget)
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(spacing)
    return made
