"""The centre for one session: its run, what it asks, and the place to write to it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.question import Answer
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from ui.ask.place import Asked, AskPlace, Dialog
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
        self.asking = AskPlace(look)
        self._row = SessionRow("")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.page, 1)
        self._column.addWidget(self.asking)
        self._column.addWidget(self.composer)
        self.page.step_opened.connect(self._open_step)
        self.asking.answered.connect(self.answered)
        self.asking.put_off.connect(self.composer.focus_input)
        self.asking.left.connect(self.composer.focus_input)

    @property
    def dialog(self) -> Dialog | None:
        return self.asking.dialog

    def show_session(self, row: SessionRow) -> None:
        self._row = row
        self.page.show_session(row)
        self.composer.set_running(row.status in {"running", "waiting"})
        self.composer.set_closed(
            self.tr("Say first what becomes of the interrupted step.") if row.status == "interrupted" else ""
        )
        self.composer.set_model(row.model)
        self.composer.set_mode(row.mode)

    def apply(self, changes: Sequence[Step]) -> None:
        self.page.apply(changes)

    def show_questions(self, asked: Sequence[Asked]) -> None:
        """The oldest open question, or request for consent, of this session stands above the composer."""
        self.asking.show_asked(self._row.title, asked)

    def focus_question(self, *, sent: bool = False) -> None:
        """Bring the keyboard to the question, unless the person is writing.

        A key may allow a call, so a consent takes it only from somebody who was `sent` there.
        """
        if sent or not (self.composer.draft() or (self.asking.is_consent() and self.composer.has_keyboard())):
            self.asking.take_keyboard()
        if sent:
            self.asking.highlight()

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (self.page, self.composer, self.asking):
            part.restyle(look)

    def _open_step(self, step: Step) -> None:
        """Enter on a row that waits opens its question as a dialog."""
        card = self.asking.card
        if card and step.status == "waiting" and step.key == card.name():
            self.asking.open_dialog()

    def open_question(self) -> None:
        """The question of the card in a window of its own."""
        self.asking.open_dialog()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.asking.fit(self.height())
