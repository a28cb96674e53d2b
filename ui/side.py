"""One side of the desk: a session with its views, its questions, its composer, and the tabs kept on this side."""

from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.problems import Trouble
from ui.batch import Batch
from ui.known import Known
from ui.session_tabs import SessionTabs
from ui.session_view import SessionView
from ui.theme import Look
from ui.unsent import Unsent
from ui.widgets.words import hairline
from ui.window_state import WindowState


class Side(QWidget):
    """`words` knows what has come of a session's next reply; `tell` is told what cannot be kept."""

    touched = Signal()
    """The person turned to this side."""

    def __init__(
        self, look: Look, known: Known, state: WindowState,
        *, folder: Path, words: Callable[[str], str], tell: Callable[[Trouble], None],
    ) -> None:  # fmt: skip
        super().__init__()
        self._known, self._words = known, words
        self.name = ""
        self.view = SessionView(look, known.reading)
        self.unsent = Unsent(self.view.composer, state, folder, tell)
        self.tabs = SessionTabs(look, known.row)
        self._below = hairline()
        self._below.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._below)
        column.addWidget(self.view, 1)
        self.tabs.kept.connect(lambda: self._below.setVisible(self.tabs.count() > 0))

    def call(self, name: str, words: str) -> None:
        """What this side is called: by tests and scripts, and by a screen reader."""
        self.setObjectName(name)
        self.setAccessibleName(words)

    def show_session(self, name: str) -> None:
        """Another session, or the same one as it is now."""
        row = self._known.find(name)
        if row is None:
            self.name = ""
            return
        other, self.name = row.id != self.name, row.id
        if other:
            self.unsent.show(row.id)
        self.view.show_session(row)
        self.show_questions()
        self._show_draft()

    def show_questions(self) -> None:
        self.view.show_questions(self._known.asked_in(self.name))

    def hear(self, batch: Batch, fresh: Collection[str]) -> None:
        """What happened in the session; a question that is `fresh` takes the keyboard where that disturbs nobody."""
        for name in batch.touched:
            self.tabs.refresh(name)
        row, page = batch.touched.get(self.name), self.view.page
        if row is not None:
            self.view.show_session(row)
            self.view.apply(batch.steps_of(self.name))
            self.show_questions()
            if self.name in fresh:
                self.view.focus_question()
        for child in batch.touched.values():
            if child.parent and child.parent in page.model.sessions:
                page.hear_child(child, batch.steps_of(child.id))
        if row is not None or any(draft.session == self.name for draft in batch.drafts):
            self._show_draft()

    def drop_sessions(self, names: Collection[str]) -> None:
        """These are gone for good."""
        for name in names:
            self.unsent.drop(name)
            self.tabs.close(name)
        if self.name in names:
            self.name = ""

    def restyle(self, look: Look) -> None:
        self.tabs.restyle(look)
        self.view.restyle(look)

    def _show_draft(self) -> None:
        if text := self._words(self.name):
            self.view.page.draft(text)
        else:
            self.view.page.end_draft()

    # Qt

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.touched.emit()
        super().mousePressEvent(event)
