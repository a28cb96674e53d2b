"""The form for one or several questions of the agent, which the card and the dialog share."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from core.domain.question import Answer, Question, SubQuestion
from ui.ask.option_row import OptionRow
from ui.ask.question_input import QuestionInput
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.column import column_in
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import ENTER_KEYS, hairline, label
from ui.widgets.scroll_column import ScrollColumn
from ui.widgets.stacking_row import StackingRow

GAP: Final = 6


class QuestionForm(QFrame):
    """A form for one or several questions, with nothing selected at first.

    Keys: 1 to 9 select an option, Enter answers, Esc leaves the question open and never declines it. With several
    questions, digits apply to the focused question, and Enter moves to the next unanswered one. `first_interaction` is
    emitted once, at the first key press or click. The class is a frame because a plain widget with the focus has no
    role for screen readers.
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
        header: QWidget,
        footer: QWidget | None = None,
        dialog: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._question = question
        self._touched = False
        self.setAccessibleName(visible(question.text))
        self.setAccessibleDescription(visible(question.reason))
        sub_questions = question.all_questions()
        self.inputs = [
            QuestionInput(look, sub_question, number if len(sub_questions) > 1 else 0, dialog=dialog, parent=self)
            for number, sub_question in enumerate(sub_questions, 1)
        ]
        self._titles: list[QLabel] = []
        self._build(dialog)
        if footer:
            self._lay_out_dialog(header, footer)
        else:
            self._lay_out_card(header)
        if self.options:
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        else:
            self.setFocusProxy(self.inputs[0].text_field)
        for question_input in self.inputs:
            question_input.changed.connect(self._update_state)
            question_input.changed.connect(self.mark_touched)
            question_input.selection_changed.connect(self.layout_changed)
            question_input.scroll_requested.connect(self._scroll.scroll_to)
            question_input.entered.connect(self.submit_or_advance)
        self._answer.clicked.connect(self.answer)
        self._decline.clicked.connect(self.decline)
        self._later_button.clicked.connect(self.postpone)
        self._update_state()

    @property
    def options(self) -> list[OptionRow]:
        """The option rows of all questions."""
        return [row for question_input in self.inputs for row in question_input.rows]

    def select_number(self, number: int) -> bool:
        """Select the option with this number in the focused question, or else in the first unanswered one.

        Return False if there is no such option.
        """
        return self._current_input().select_number(number)

    def draft(self) -> Answer:
        """Return the answer as filled in so far."""
        answers = tuple(question_input.current_answer() for question_input in self.inputs)
        if len(answers) > 1:
            is_empty = not any(answer.options or answer.text for answer in answers)
            return Answer(sub_answers=() if is_empty else answers)
        answer = answers[0]
        if not answer.options:
            return Answer(text=answer.text)
        return Answer(answer.options[0], answer.text, more_options=answer.options[1:])

    def fill(self, draft: Answer) -> None:
        """Fill in what the user had selected and typed before leaving the question open."""
        if len(self.inputs) == 1:
            self.inputs[0].fill((draft.option, *draft.more_options) if draft.option else (), draft.text)
        for question_input, sub_answer in zip(self.inputs, draft.sub_answers, strict=False):
            question_input.fill(sub_answer.options, sub_answer.text)
        self._update_state()

    def submit_or_advance(self) -> None:
        """Send the answer; if a question of the form is unanswered, move to it instead."""
        unanswered = self._first_unanswered()
        if unanswered is None:
            self.answer()
        elif len(self.inputs) > 1:
            unanswered.focus_first()
            self._scroll.scroll_to(unanswered.rows[0] if unanswered.rows else unanswered.field_frame)

    def answer(self) -> None:
        if all(question_input.is_answered() for question_input in self.inputs):
            self.answered.emit(self._question.id, self.draft())

    def decline(self) -> None:
        texts = [question_input.current_answer().text for question_input in self.inputs]
        text = "\n".join(text for text in texts if text)
        self.answered.emit(self._question.id, Answer(text=text, declined=True))

    def postpone(self) -> None:
        self.postponed.emit(self._question.id)

    def mark_touched(self) -> None:
        """Emit `first_interaction`, only once. It stops the countdown of a question that expires."""
        if not self._touched:
            self._touched = True
            self.first_interaction.emit(self._question.id)

    def set_collapsed(self, collapsed: bool) -> None:
        """Collapse all options to one line each, or expand them again."""
        for question_input in self.inputs:
            question_input.set_collapsed(collapsed)

    def height_while_scrolling(self, width: int) -> int:
        """Return the height below which the buttons would be cut off, because the options are already scrolling."""
        return self._column.least_height(width)

    def restyle(self, look: Look) -> None:
        self._look = look
        for question_input in self.inputs:
            question_input.restyle(look)
        for button in (self._later_button, self._decline, self._answer):
            button.restyle(look)
        for title in self._titles:
            title.setFont(look.fonts.strong)

    def _build(self, dialog: bool) -> None:
        look = self._look
        self._later_button = Button(
            look, self.tr("Decide later"), name="question.later", tone="quiet", hint=self.tr("Esc")
        )
        self._decline = Button(look, self.tr("Decline"), name="question.decline")
        hint = self.tr("Enter") if dialog else ""
        self._answer = Button(look, self.tr("Answer"), name="question.answer", tone="primary", hint=hint)

    def _lay_out_card(self, header: QWidget) -> None:
        """Place the text field of a single question beside the buttons in the last row, below the scroll area."""
        content = QWidget()
        content_layout = column_in(content, spacing=GAP)
        content_layout.addWidget(header)
        self._add_questions(content_layout, text_fields=len(self.inputs) > 1)
        content_layout.addStretch(1)
        self._scroll = FittingScrollArea(content)
        self._column = ScrollColumn(self, self._scroll, spacing=8)
        buttons = WrappingRow(self._later_button, self._decline, self._answer)
        field_or_space = self.inputs[0].field_frame if len(self.inputs) == 1 else QWidget()
        bottom_right = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight
        self._column.addWidget(StackingRow(field_or_space, buttons, alignment=bottom_right))

    def _lay_out_dialog(self, header: QWidget, footer: QWidget) -> None:
        content = QWidget()
        content_layout = column_in(content)
        content_layout.addWidget(header)
        body_layout = QVBoxLayout()
        body_layout.setContentsMargins(20, 0, 20, 12)
        body_layout.setSpacing(8)
        self._add_questions(body_layout, text_fields=True)
        body_layout.addWidget(footer)
        content_layout.addLayout(body_layout)
        content_layout.addStretch(1)
        self._scroll = FittingScrollArea(content)
        self._column = ScrollColumn(self, self._scroll, spacing=0)
        self._column.addStretch(1)
        self._column.addWidget(hairline())
        button_row = QHBoxLayout()
        button_row.setContentsMargins(20, 12, 20, 12)
        button_row.setSpacing(8)
        button_row.addStretch(1)
        for button in (self._later_button, self._decline, self._answer):
            button_row.addWidget(button)
        self._column.addLayout(button_row)

    def _add_questions(self, layout: QVBoxLayout, *, text_fields: bool) -> None:
        for number, question_input in enumerate(self.inputs, 1):
            question = question_input.question
            if len(self.inputs) > 1:
                title = self._create_title(number, question)
                self._titles.append(title)
                layout.addWidget(title)
            elif question.multi_select:
                text = self.tr("Select any number of options.")
                layout.addWidget(label(text, self._look.fonts.second, "second", name="question.any"))
            for row in question_input.rows:
                layout.addWidget(row)
            if text_fields:
                layout.addWidget(question_input.field_frame)

    def _create_title(self, number: int, question: SubQuestion) -> QLabel:
        text = f"{number}.  {visible(question.text)}"
        if question.multi_select:
            text += f"  ({self.tr('select any number')})"
        title = label(text, self._look.fonts.strong, name=f"question.{number}.text", wrap=True)
        title.setContentsMargins(0, 8 if number > 1 else 0, 0, 0)
        return title

    def _current_input(self) -> QuestionInput:
        """Return the focused question, else the first unanswered one, else the first one."""
        focused = self.focusWidget()
        for question_input in self.inputs:
            if question_input.contains(focused):
                return question_input
        return self._first_unanswered() or self.inputs[0]

    def _first_unanswered(self) -> QuestionInput | None:
        return next((question_input for question_input in self.inputs if not question_input.is_answered()), None)

    def _update_state(self) -> None:
        self._answer.setEnabled(all(question_input.is_answered() for question_input in self.inputs))

    # Overridden Qt methods

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.mark_touched()
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        focused = self.focusWidget()
        self.mark_touched()
        if key == Qt.Key.Key_Escape:
            self.postpone()
        elif key in ENTER_KEYS and isinstance(focused, QPushButton) and focused.hasFocus():
            focused.click()
        elif key in ENTER_KEYS:
            self.submit_or_advance()
        elif not self._pressed_number(event):
            super().keyPressEvent(event)

    def _pressed_number(self, event: QKeyEvent) -> bool:
        """Select an option if its number is pressed without a modifier; return whether there is one."""
        key = event.key()
        has_modifier = event.modifiers() not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if has_modifier or not Qt.Key.Key_1 <= key <= Qt.Key.Key_9:
            return False
        return self.select_number(key - Qt.Key.Key_0)
