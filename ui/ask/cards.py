"""The cards above the composer that show a question or a permission request."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Answer, Question
from ui.ask.ask_card import AskCard
from ui.ask.pending_permission import PendingPermission, similar_requests
from ui.ask.permission_form import PermissionDraft, PermissionForm
from ui.ask.question_form import QuestionForm
from ui.ask.request_summary import queue_position, summarize_permission, summarize_question
from ui.style.theme import Look


class QuestionCard(AskCard):
    answered = Signal(str, Answer)

    form: QuestionForm

    def __init__(
        self,
        look: Look,
        question: Question,
        *,
        draft: Answer | None = None,
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        self._question = question
        super().__init__(look, summarize_question(question), clock=clock, parent=parent)
        if draft:
            self.form.fill(draft)
        self.form.answered.connect(self.answered)
        self.form.first_interaction.connect(lambda _name: self.age.stop_countdown())

    @property
    def question(self) -> Question:
        return self._question

    def draft(self) -> Answer:
        """Return the answer as it is filled in so far."""
        return self.form.draft()

    def _make_form(self, header: QWidget) -> QuestionForm:
        return QuestionForm(self._look, self._question, header=header)


class PermissionCard(AskCard):
    """A card for the oldest permission request; similar requests can be answered together with it."""

    allowed = Signal(tuple, object)  # the IDs of the requests, and an `Approval`
    changed = Signal(str, str)
    denied = Signal(tuple, str)
    denied_all = Signal()

    form: PermissionForm

    def __init__(
        self,
        look: Look,
        waiting: Sequence[PendingPermission],
        *,
        draft: PermissionDraft | None = None,
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        self._waiting = tuple(waiting)
        summary = summarize_permission(waiting[0], queue_position(1, len(waiting)))
        super().__init__(look, summary, clock=clock, parent=parent)
        self.form.fill(draft or PermissionDraft())
        self.form.allowed.connect(self.allowed)
        self.form.changed.connect(self.changed)
        self.form.denied.connect(self.denied)
        self.form.denied_all.connect(self.denied_all)

    @property
    def pending(self) -> tuple[PendingPermission, ...]:
        return self._waiting

    def draft(self) -> PermissionDraft:
        """Return what has been typed so far: the reason for denying, or the changed call."""
        return self.form.draft()

    def show_request(self, pending: PendingPermission) -> None:
        """Show a newer version of the same request, which has more details."""
        self._waiting = (pending, *self._waiting[1:])
        self.form.show_request(pending)

    def _make_form(self, header: QWidget) -> PermissionForm:
        first = self._waiting[0]
        return PermissionForm(
            self._look,
            first,
            header=header,
            similar=similar_requests(first, self._waiting),
            queue_length=len(self._waiting),
        )

    def _has_chosen(self) -> bool:
        return self.form.has_open_field() or self.form.scope.selected_scope() not in ("once", None)
