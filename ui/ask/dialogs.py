"""Dialogs for questions and permission requests. If the user is typing elsewhere, the focus stays there."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal
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
from ui.ask.age_label import AgeLabel
from ui.ask.approval import Approval
from ui.ask.pending_permission import PendingPermission, similar_requests
from ui.ask.permission_form import PermissionDraft, PermissionForm
from ui.ask.question_form import QuestionForm
from ui.ask.request_summary import RequestSummary, queue_position, summarize_permission, summarize_question
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.column import column_in
from ui.widgets.labels import hairline, hide_unless, label, styled_frame

MAX_WIDTH_SHARE: Final = 0.9  # part of the width of the screen that a dialog takes at most
MAX_HEIGHT_SHARE: Final = 0.8


class AskDialog(QDialog):
    """The base class of both dialogs. Closing a dialog leaves its request open. `context` names the session."""

    postponed = Signal(str)

    form: QuestionForm | PermissionForm
    base_width = 560

    def __init__(
        self,
        look: Look,
        summary: RequestSummary,
        *,
        context: str = "",
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._summary = summary
        self._clock = clock
        self._context = context
        self._fitted_size = QSize()  # the user has resized the dialog if its size is another one
        self.setObjectName(f"{summary.kind}.dialog")
        self.setAccessibleName(summary.accessible_text)
        self.setAccessibleDescription(summary.reason)
        self._build()
        self.form.postponed.connect(lambda _id: self.reject())
        self.rejected.connect(lambda: self.postponed.emit(summary.id))

    def open(self) -> None:
        """Show the dialog without blocking the window, so that the user can still read the run and type elsewhere."""
        is_typing = _is_writable(QApplication.focusWidget())
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, is_typing)
        self.setModal(False)
        self._fit_size()
        self.show()
        self._fit_size()  # where lines wrap is known only once the dialog is visible
        announce(self, self._summary.accessible_text)
        if not is_typing:
            self.activateWindow()
            self.form.setFocus(Qt.FocusReason.PopupFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.form.restyle(look)
        self._title_label.setFont(look.fonts.title)
        self._age.setFont(look.fonts.second)
        self._reason_label.setFont(look.fonts.text)
        self._badge_label.setFont(look.fonts.caption)
        self._update_icon()

    def _make_form(self, header: QWidget) -> QuestionForm | PermissionForm:
        raise NotImplementedError

    def _build(self) -> None:
        fonts = self._look.fonts
        summary = self._summary
        self._title_label = label(summary.title, fonts.title, name=summary.title_object_name, wrap=True)
        self._age = AgeLabel(
            self.tr("asked {}"),
            summary.asked_at,
            prefix=f"{self._context} · " if self._context else "",
            expires_at=summary.expires_at,
            on_expiry=summary.on_expiry,
            font=fonts.second,
            clock=self._clock,
        )
        self._badge_label = label(summary.badge, fonts.caption, "badge", name=f"{summary.kind}.place")
        hide_unless(self._badge_label, bool(summary.badge))
        self._reason_label = label(summary.reason, fonts.text, name=f"{summary.kind}.why", wrap=True)
        hide_unless(self._reason_label, bool(summary.reason))
        self._icon = QLabel()
        self.form = self._make_form(self._build_header())
        background = styled_frame("panel")
        column_in(background).addWidget(self.form)
        column_in(self).addWidget(background)
        self._update_icon()
        self._fit_size()

    def _build_header(self) -> QWidget:
        title_row = QHBoxLayout()
        title_row.setContentsMargins(20, 16, 20, 14)
        title_row.setSpacing(12)
        title_column = QVBoxLayout()
        title_column.setSpacing(2)
        title_column.addWidget(self._title_label)
        title_column.addWidget(self._age)
        title_row.addWidget(self._icon)
        title_row.addLayout(title_column, 1)
        title_row.addWidget(self._badge_label, 0, Qt.AlignmentFlag.AlignVCenter)
        header = QWidget()
        column = column_in(header)
        column.addLayout(title_row)
        column.addWidget(hairline())
        if self._summary.reason:
            column.addSpacing(12)
        self._reason_label.setContentsMargins(20, 0, 20, 8)
        column.addWidget(self._reason_label)
        return header

    def _fit_size(self) -> None:
        """Set the height to that of the content, at most a share of the screen; higher content scrolls."""
        screen = self.screen().availableSize()
        width = min(self._look.size(self.base_width), int(screen.width() * MAX_WIDTH_SHARE))
        layout = self.layout()
        needed = layout.totalHeightForWidth(width) if layout else 0
        self.resize(width, min(needed, int(screen.height() * MAX_HEIGHT_SHARE)))
        self._fitted_size = self.size()

    def _update_icon(self) -> None:
        color = self._look.theme.waiting
        self._icon.setPixmap(pixmap(self._summary.icon, color, self._look.size(20), self.devicePixelRatioF()))

    # Overridden Qt methods

    def event(self, event: QEvent) -> bool:
        """Fit the size again when the content has changed, for example because a field for a reason was opened."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible() and self.size() == self._fitted_size:
            self._fit_size()
        return handled


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
        super().__init__(look, summarize_question(question), context=context, clock=clock, parent=parent)
        self.setWindowTitle(self.tr("A question for you"))
        self.setAccessibleName(visible(question.text))
        if draft:
            self.form.fill(draft)
        self.form.answered.connect(self._submit)
        self.form.first_interaction.connect(lambda _name: self._age.stop_countdown())

    def draft(self) -> Answer:
        """Return the answer as filled in so far. The caller passes it to the dialog when that is opened again."""
        return self.form.draft()

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        self._note.setFont(look.fonts.second)

    def _make_form(self, header: QWidget) -> QuestionForm:
        note = self.tr("The run waits and continues where it stopped, even after a restart.")
        self._note = label(note, self._look.fonts.second, "second", name="question.note", wrap=True)
        self._clock_icon = QLabel()
        return QuestionForm(self._look, self._question, header=header, footer=self._build_footer(), dialog=True)

    def _build_footer(self) -> QWidget:
        footer = QWidget()
        row = QHBoxLayout(footer)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._clock_icon)
        row.addWidget(self._note, 1)
        return footer

    def _update_icon(self) -> None:
        super()._update_icon()
        ratio = self.devicePixelRatioF()
        self._clock_icon.setPixmap(pixmap("clock", self._look.theme.second, self._look.size(14), ratio))

    def _submit(self, question_id: str, answer: Answer) -> None:
        self.answered.emit(question_id, answer)
        self.accept()


class PermissionDialog(AskDialog):
    allowed = Signal(tuple, object)  # the IDs of the requests, and an `Approval`
    changed = Signal(str, str)
    denied = Signal(tuple, str)
    denied_all = Signal()

    form: PermissionForm
    base_width = 660

    def __init__(
        self,
        look: Look,
        waiting: Sequence[PendingPermission],
        *,
        context: str = "",
        draft: PermissionDraft | None = None,
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        self._waiting = tuple(waiting)
        summary = summarize_permission(waiting[0], queue_position(1, len(waiting)))
        super().__init__(look, summary, context=context, clock=clock, parent=parent)
        self.setWindowTitle(self.tr("Permission request"))
        self.form.fill(draft or PermissionDraft())
        self.form.allowed.connect(self._allow)
        self.form.changed.connect(self._allow_changed)
        self.form.denied.connect(self._deny)
        self.form.denied_all.connect(self._deny_all)

    def draft(self) -> PermissionDraft:
        """Return what has been typed so far: the reason for denying, or the changed call."""
        return self.form.draft()

    def _make_form(self, header: QWidget) -> PermissionForm:
        first = self._waiting[0]
        return PermissionForm(
            self._look,
            first,
            header=header,
            similar=similar_requests(first, self._waiting),
            queue_length=len(self._waiting),
            dialog=True,
        )

    def _allow(self, request_ids: tuple[str, ...], approval: Approval) -> None:
        self.allowed.emit(request_ids, approval)
        self.accept()

    def _allow_changed(self, request_id: str, text: str) -> None:
        self.changed.emit(request_id, text)
        self.accept()

    def _deny(self, request_ids: tuple[str, ...], reason: str) -> None:
        self.denied.emit(request_ids, reason)
        self.accept()

    def _deny_all(self) -> None:
        self.denied_all.emit()
        self.accept()


def _is_writable(widget: QWidget | None) -> bool:
    """Return whether the user can type text into a widget."""
    return isinstance(widget, QLineEdit | QPlainTextEdit | QTextEdit) and widget.isEnabled() and not widget.isReadOnly()
