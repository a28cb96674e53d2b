"""A session on the desk with all that belongs to it: its views, its questions, and words that were not sent to it."""

from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.problems import Trouble
from ui.batch import Batch
from ui.known import Known
from ui.session_view import SessionView
from ui.theme import Look
from ui.unsent import Unsent
from ui.window_state import WindowState


class Side(QWidget):
    """`words` knows what has come of a session's next reply; `tell` is told what cannot be kept."""

    def __init__(
        self, look: Look, known: Known, state: WindowState,
        *, folder: Path, words: Callable[[str], str], tell: Callable[[Trouble], None],
    ) -> None:  # fmt: skip
        super().__init__()
        self._known, self._words = known, words
        self.name = ""
        self.view = SessionView(look, known.reading)
        self.unsent = Unsent(self.view.composer, state, folder, tell)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.view)

    def show_session(self, name: str) -> None:
        """Another session, or the same one as it is now; none for an empty name."""
        row = self._known.find(name)
        other, self.name = name != self.name, row.id if row else ""
        if row is None:
            return
        if other:
            self.unsent.show(row.id)
        self.view.show_session(row)
        self._show_questions()
        self._show_draft()

    def hear(self, batch: Batch, fresh: Collection[str]) -> None:
        """What happened in the session; a question that is `fresh` takes the keyboard where that disturbs nobody."""
        row = batch.touched.get(self.name)
        if row is not None:
            self.view.show_session(row)
            self.view.apply(batch.steps_of(self.name))
            self._show_questions()
            if self.name in fresh:
                self.view.focus_question()
        if row is not None or any(draft.session == self.name for draft in batch.drafts):
            self._show_draft()

    def drop_sessions(self, names: Collection[str]) -> None:
        """These are gone for good."""
        for name in names:
            self.unsent.drop(name)
        if self.name in names:
            self.name = ""

    def restyle(self, look: Look) -> None:
        self.view.restyle(look)

    def _show_questions(self) -> None:
        self.view.show_questions(self._known.asked_in(self.name))

    def _show_draft(self) -> None:
        if text := self._words(self.name):
            self.view.page.draft(text)
        else:
            self.view.page.end_draft()
