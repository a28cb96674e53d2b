"""A question as a dialog that comes up without taking the keyboard from somebody who types."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from core.domain.clock import now as wall_clock
from core.domain.question import Answer, Question
from ui.ask.age import AgeLabel
from ui.ask.form import QuestionForm
from ui.icons import pixmap
from ui.theme import Look
from ui.widgets.announce import announce
from ui.widgets.words import hairline, label, surface

WIDTH: Final = 560
TYPING: Final = (QLineEdit, QPlainTextEdit, QTextEdit)


class QuestionDialog(QDialog):
    """Closing it in any way but an answer or Decline means later. `context` says which run asks."""

    answered = Signal(str, Answer)
    later = Signal(str)

    def __init__(
        self,
        look: Look,
        question: Question,
        *,
        context: str = "",
        draft: Answer | None = None,
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look, self._question, self._clock, self._context = look, question, clock, context
        self.setObjectName("question.dialog")
        self.setWindowTitle(self.tr("A question for you"))
        self.setAccessibleName(question.text)
        self.setAccessibleDescription(question.why)
        self._build()
        if draft:
            self.form.fill(draft)
        self.form.answered.connect(self._hand_over)
        self.form.later.connect(lambda _id: self.reject())
        self.rejected.connect(lambda: self.later.emit(question.id))

    def open(self) -> None:
        """Show it, not modal: the run must stay readable while one thinks, and typing elsewhere must go on."""
        typing = isinstance(QApplication.focusWidget(), TYPING)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, typing)
        self.setModal(False)
        self.show()
        announce(self, self.tr("Question: {}").format(self._question.text))
        if not typing:
            self.activateWindow()
            self.form.setFocus(Qt.FocusReason.PopupFocusReason)

    def draft(self) -> Answer:
        """What was chosen and typed so far: kept by whoever opens the dialog again."""
        return self.form.draft()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.form.restyle(look)
        self._head.setFont(look.fonts.title)
        self._age.setFont(look.fonts.second)
        self._why.setFont(look.fonts.text)
        self._note.setFont(look.fonts.second)
        self._tint()

    def _build(self) -> None:
        fonts, question = self._look.fonts, self._question
        self._head = label(question.text, fonts.title, name="question.text", wrap=True)
        before = f"{self._context} · " if self._context else ""
        self._age = AgeLabel(self.tr("asked {}"), question.asked, before=before, font=fonts.second, clock=self._clock)
        self._why = label(question.why, fonts.text, name="question.why", wrap=True)
        self._why.setVisible(bool(question.why))
        kept = self.tr("Waits until you answer. The run keeps its place, also after a restart.")
        self._note = label(kept, fonts.second, "second", name="question.note", wrap=True)
        self._icon, self._clock_icon = QLabel(), QLabel()
        self.form = QuestionForm(self._look, question, head=self._head_part(), tail=self._tail_part(), dialog=True)
        ground = surface("panel")
        for widget, child in ((self, ground), (ground, self.form)):
            layout = QVBoxLayout(widget)
            layout.setContentsMargins(0, 0, 0, 0)
            layout.addWidget(child)
        self._tint()
        self._take_size()

    def _head_part(self) -> QWidget:
        part, bar = QWidget(), QHBoxLayout()
        bar.setContentsMargins(20, 16, 20, 14)
        bar.setSpacing(12)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._head)
        words.addWidget(self._age)
        bar.addWidget(self._icon)
        bar.addLayout(words, 1)
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(hairline())
        column.addSpacing(12)
        self._why.setContentsMargins(20, 0, 20, 8)
        column.addWidget(self._why)
        return part

    def _tail_part(self) -> QWidget:
        part = QWidget()
        row = QHBoxLayout(part)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._clock_icon)
        row.addWidget(self._note, 1)
        return part

    def _take_size(self) -> None:
        """As high as the question needs, at most most of the screen; the rest scrolls."""
        room = self.screen().availableSize()
        width = min(self._look.size(WIDTH), room.width() * 9 // 10)
        layout = self.layout()
        needed = layout.totalHeightForWidth(width) if layout else 0
        self.resize(width, min(needed, room.height() * 8 // 10))

    def _tint(self) -> None:
        theme, ratio = self._look.theme, self.devicePixelRatioF()
        self._icon.setPixmap(pixmap("message-circle-question-mark", theme.waiting, self._look.size(20), ratio))
        self._clock_icon.setPixmap(pixmap("clock", theme.second, self._look.size(14), ratio))

    def _hand_over(self, question_id: str, answer: Answer) -> None:
        self.answered.emit(question_id, answer)
        self.accept()
