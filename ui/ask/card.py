"""A question, or a request for consent, in place."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Answer, Question
from ui.ask.consent_form import ConsentForm
from ui.ask.form import QuestionForm
from ui.ask.frame import AskCard
from ui.ask.said import of_consent, of_question, place_in_queue
from ui.ask.wanted import Wanted, like
from ui.theme import Look


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
        super().__init__(look, of_question(question), clock=clock, parent=parent)
        if draft:
            self.form.fill(draft)
        self.form.answered.connect(self.answered)
        self.form.touched.connect(lambda _name: self.age.hold())

    @property
    def question(self) -> Question:
        return self._question

    def draft(self) -> Answer:
        """What was chosen and typed so far."""
        return self.form.draft()

    def _make_form(self, head: QWidget) -> QuestionForm:
        return QuestionForm(self._look, self._question, head=head)


class ConsentCard(AskCard):
    """The first of `waiting`; those like it may be answered with it."""

    allowed = Signal(tuple, str, tuple)
    denied = Signal(tuple, str)
    denied_all = Signal()

    form: ConsentForm

    def __init__(
        self,
        look: Look,
        waiting: Sequence[Wanted],
        *,
        draft: str = "",
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        self._waiting = tuple(waiting)
        said = of_consent(waiting[0], place_in_queue(1, len(waiting)))
        super().__init__(look, said, clock=clock, parent=parent)
        self.form.fill(draft)
        self.form.allowed.connect(self.allowed)
        self.form.denied.connect(self.denied)
        self.form.denied_all.connect(self.denied_all)

    @property
    def waiting(self) -> tuple[Wanted, ...]:
        return self._waiting

    def draft(self) -> str:
        """The reason typed so far."""
        return self.form.draft()

    def show_wanted(self, wanted: Wanted) -> None:
        """More is known of the request that is shown."""
        self._waiting = (wanted, *self._waiting[1:])
        self.form.show_wanted(wanted)

    def _make_form(self, head: QWidget) -> ConsentForm:
        first = self._waiting[0]
        return ConsentForm(self._look, first, head=head, like=like(first, self._waiting), queued=len(self._waiting))
