"""The centre for one session: its run, what it asks, and the place to write to it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.question import Answer, Question
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from ui.ask.card import QuestionCard
from ui.ask.dialog import QuestionDialog
from ui.composer.panel import ComposerPanel
from ui.theme import Look
from ui.timeline.page import RunPage
from ui.timeline.pages import Rows


class SessionView(QWidget):
    answered = Signal(str, Answer)

    def __init__(self, look: Look, rows: Rows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.page = RunPage(look, rows)
        self.composer = ComposerPanel(look)
        self._card: QuestionCard | None = None
        self._dialog: QuestionDialog | None = None
        self._drafts: dict[str, Answer] = {}
        self._row = SessionRow("")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.page, 1)
        self._column.addWidget(self.composer)
        self.page.step_opened.connect(self._open_step)

    @property
    def dialog(self) -> QuestionDialog | None:
        return self._dialog

    def show_session(self, row: SessionRow) -> None:
        self._row = row
        self.page.show_session(row)
        self.composer.set_running(row.status in {"running", "waiting"})
        self.composer.set_closed(
            self.tr("Say first what becomes of the interrupted step.") if row.status == "interrupted" else ""
        )
        self.composer.set_model(row.model)

    def apply(self, changes: Sequence[Step]) -> None:
        self.page.apply(changes)

    def show_questions(self, questions: Sequence[Question]) -> None:
        """The oldest open question of this session stands above the composer."""
        question = questions[0] if questions else None
        if self._card and question and self._card.name() == question.id:
            return
        self._drop_card()
        if question is None:
            return
        self._card = QuestionCard(self._look, question, draft=self._drafts.get(question.id))
        self._card.answered.connect(self._hand_over)
        self._card.later.connect(lambda _: self.composer.focus_input())
        self._card.dialog_wanted.connect(lambda _: self.open_question())
        self._column.insertWidget(1, self._card)
        self._card.show()  # a layout leaves out what it would show later by itself
        self._column.activate()  # its width decides how high it must be
        self._card.fit(self.height())

    def focus_question(self) -> None:
        """Bring the keyboard to the question, unless the person is writing."""
        if self._card and not self.composer.draft():
            self._card.form.setFocus()

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (self.page, self.composer, self._card, self._dialog):
            if part is not None:
                part.restyle(look)

    def _open_step(self, step: Step) -> None:
        """Enter on a row that waits opens its question as a dialog."""
        if self._card and step.status == "waiting" and step.key == self._card.name():
            self._card.dialog_wanted.emit(step.key)

    def open_question(self) -> None:
        """The question of the card in a window of its own."""
        if self._dialog is not None or self._card is None:
            return
        question = self._card.question
        self._dialog = QuestionDialog(
            self._look, question, context=self._row.title, draft=self._card.draft(), parent=self.window()
        )
        self._dialog.answered.connect(self._hand_over)
        self._dialog.finished.connect(lambda _: self._close_dialog())
        self._dialog.open()

    def _close_dialog(self) -> None:
        """What was typed in the dialog stands in the card now."""
        if self._dialog is not None:
            if self._card:
                self._card.form.fill(self._dialog.draft())
            self._dialog.deleteLater()
            self._dialog = None

    def _hand_over(self, question: str, answer: Answer) -> None:
        self._drafts.pop(question, None)
        self.answered.emit(question, answer)

    def _drop_card(self) -> None:
        if self._card is None:
            return
        if self._dialog is not None:
            self._dialog.close()
        self._drafts[self._card.name()] = self._card.draft()
        focused: QWidget | None = self.window().focusWidget()
        had_focus = focused is not None and self._card.isAncestorOf(focused)
        self._column.removeWidget(self._card)
        self._card.hide()
        self._card.deleteLater()
        self._card = None
        if had_focus:
            self.composer.focus_input()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._card:
            self._card.fit(self.height())
