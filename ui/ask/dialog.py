"""What waits for a person as a dialog, which comes up without taking the keyboard from somebody who types."""

from collections.abc import Callable, Sequence
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
from ui.ask.consent_form import ConsentForm
from ui.ask.form import QuestionForm
from ui.ask.said import Said, of_consent, of_question, place_in_queue
from ui.ask.wanted import Wanted, like
from ui.icons import pixmap
from ui.theme import Look
from ui.widgets.announce import announce
from ui.widgets.words import hairline, label, surface

TYPING: Final = (QLineEdit, QPlainTextEdit, QTextEdit)


class AskDialog(QDialog):
    """Closing it in any way but an answer means later. `context` says which run asks."""

    later = Signal(str)

    form: "QuestionForm | ConsentForm"
    wide = 560

    def __init__(
        self,
        look: Look,
        said: Said,
        *,
        context: str = "",
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look, self._said, self._clock, self._context = look, said, clock, context
        self.setObjectName(f"{said.kind}.dialog")
        self.setAccessibleName(said.spoken)
        self.setAccessibleDescription(said.why)
        self._build()
        self.form.later.connect(lambda _id: self.reject())
        self.rejected.connect(lambda: self.later.emit(said.id))

    def open(self) -> None:
        """Show it, not modal: the run must stay readable while one thinks, and typing elsewhere must go on."""
        focused = QApplication.focusWidget()
        typing = isinstance(focused, TYPING) and focused.isEnabled() and not getattr(focused, "isReadOnly", bool)()
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, typing)
        self.setModal(False)
        self._take_size()
        self.show()
        self._take_size()  # only now is it known how its text breaks
        announce(self, self._said.spoken)
        if not typing:
            self.activateWindow()
            self.form.setFocus(Qt.FocusReason.PopupFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.form.restyle(look)
        self._head.setFont(look.fonts.title)
        self._age.setFont(look.fonts.second)
        self._why.setFont(look.fonts.text)
        self._place.setFont(look.fonts.caption)
        self._tint()

    def _make_form(self, head: QWidget) -> "QuestionForm | ConsentForm":
        raise NotImplementedError

    def _build(self) -> None:
        fonts, said = self._look.fonts, self._said
        self._head = label(said.title, fonts.title, name=said.head, wrap=True)
        before = f"{self._context} · " if self._context else ""
        self._age = AgeLabel(
            self.tr("asked {}"), said.asked, before=before, until=said.until, then=said.then, font=fonts.second,
            clock=self._clock,
        )  # fmt: skip
        self._place = label(said.place, fonts.caption, "badge", name=f"{said.kind}.place")
        self._place.setVisible(bool(said.place))
        self._why = label(said.why, fonts.text, name=f"{said.kind}.why", wrap=True)
        self._why.setVisible(bool(said.why))
        self._icon = QLabel()
        self.form = self._make_form(self._head_part())
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
        bar.addWidget(self._place, 0, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(hairline())
        if self._said.why:
            column.addSpacing(12)
        self._why.setContentsMargins(20, 0, 20, 8)
        column.addWidget(self._why)
        return part

    def _take_size(self) -> None:
        """As high as the question needs, at most most of the screen; the rest scrolls."""
        room = self.screen().availableSize()
        width = min(self._look.size(self.wide), room.width() * 9 // 10)
        layout = self.layout()
        needed = layout.totalHeightForWidth(width) if layout else 0
        self.resize(width, min(needed, room.height() * 8 // 10))

    def _tint(self) -> None:
        theme, ratio = self._look.theme, self.devicePixelRatioF()
        icons = {"question": "message-circle-question-mark"}
        shown = icons.get(self._said.kind, self._said.icon)
        self._icon.setPixmap(pixmap(shown, theme.waiting, self._look.size(20), ratio))


class QuestionDialog(AskDialog):
    answered = Signal(str, Answer)

    form: QuestionForm

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
        self._question = question
        super().__init__(look, of_question(question), context=context, clock=clock, parent=parent)
        self.setWindowTitle(self.tr("A question for you"))
        self.setAccessibleName(question.text)
        if draft:
            self.form.fill(draft)
        self.form.answered.connect(self._hand_over)
        self.form.touched.connect(lambda _name: self._age.hold())

    def draft(self) -> Answer:
        """What was chosen and typed so far: kept by whoever opens the dialog again."""
        return self.form.draft()

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._note.setFont(look.fonts.second)

    def _make_form(self, head: QWidget) -> QuestionForm:
        kept = self.tr("Waits until you answer. The run keeps its place, also after a restart.")
        self._note = label(kept, self._look.fonts.second, "second", name="question.note", wrap=True)
        self._clock_icon = QLabel()
        return QuestionForm(self._look, self._question, head=head, tail=self._tail_part(), dialog=True)

    def _tail_part(self) -> QWidget:
        part = QWidget()
        row = QHBoxLayout(part)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._clock_icon)
        row.addWidget(self._note, 1)
        return part

    def _tint(self) -> None:
        super()._tint()
        ratio = self.devicePixelRatioF()
        self._clock_icon.setPixmap(pixmap("clock", self._look.theme.second, self._look.size(14), ratio))

    def _hand_over(self, question_id: str, answer: Answer) -> None:
        self.answered.emit(question_id, answer)
        self.accept()


class ConsentDialog(AskDialog):
    allowed = Signal(tuple, str, tuple)
    denied = Signal(tuple, str)
    denied_all = Signal()

    form: ConsentForm
    wide = 620

    def __init__(
        self,
        look: Look,
        waiting: Sequence[Wanted],
        *,
        context: str = "",
        draft: str = "",
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        self._waiting = tuple(waiting)
        said = of_consent(waiting[0], place_in_queue(1, len(waiting)))
        super().__init__(look, said, context=context, clock=clock, parent=parent)
        self.setWindowTitle(self.tr("Your consent is needed"))
        self.form.fill(draft)
        self.form.allowed.connect(self._allow)
        self.form.denied.connect(self._deny)
        self.form.denied_all.connect(self._deny_all)

    def draft(self) -> str:
        """The reason typed so far."""
        return self.form.draft()

    def _make_form(self, head: QWidget) -> ConsentForm:
        first = self._waiting[0]
        return ConsentForm(
            self._look, first, head=head, like=like(first, self._waiting), queued=len(self._waiting), dialog=True
        )

    def _allow(self, names: tuple[str, ...], scope: str, patterns: tuple[str, ...]) -> None:
        self.allowed.emit(names, scope, patterns)
        self.accept()

    def _deny(self, names: tuple[str, ...], reason: str) -> None:
        self.denied.emit(names, reason)
        self.accept()

    def _deny_all(self) -> None:
        self.denied_all.emit()
        self.accept()
