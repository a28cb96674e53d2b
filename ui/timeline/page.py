"""The page of a session's runs: header, steps, the way back to the latest, and what an interruption asks."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from ui.theme import Look
from ui.timeline.header import GOING, RunHeader
from ui.timeline.interrupted import InterruptedBar
from ui.timeline.model import TimelineModel
from ui.timeline.pages import Rows
from ui.timeline.view import TimelineView
from ui.widgets.button import Button

TICK_MS: Final = 1_000
TAIL_ROWS: Final = 40


class RunPage(QWidget):
    """Plain values in; what the person wants comes out as signals."""

    stop = Signal()
    settle = Signal(str)
    """again, skip or end: what becomes of calls that may have run."""
    step_chosen = Signal(object)
    step_opened = Signal(object)
    link = Signal(str)
    """An address in a reply that was clicked; nothing opens by itself."""

    def __init__(self, look: Look, rows: Rows, *, clock: Clock = now, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run")
        self._row = SessionRow("")
        self._model = TimelineModel(rows, clock, self)
        self._header = RunHeader(look)
        self._view = TimelineView(self._model, look)
        self._bar = InterruptedBar(look)
        self._latest = Button(look, self.tr("Jump to latest"), name="timeline.latest", icon="arrow-down", parent=self)
        self._latest.hide()
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._count_on)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        around = QHBoxLayout()
        around.setContentsMargins(20, 0, 20, 8)
        around.addWidget(self._bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._header)
        layout.addWidget(self._view, 1)
        layout.addLayout(around)
        self._latest.raise_()

    def _connect(self) -> None:
        self._header.stop.connect(self.stop)
        self._bar.settle.connect(self.settle)
        self._view.chosen.connect(self.step_chosen)
        self._view.opened.connect(self.step_opened)
        self._view.link.connect(self.link)
        self._view.news.connect(self._tell_news)
        self._latest.clicked.connect(self._view.follow)

    @property
    def view(self) -> TimelineView:
        return self._view

    @property
    def model(self) -> TimelineModel:
        return self._model

    def show_session(self, row: SessionRow) -> None:
        """Show a session; for the one that is shown already, its line has changed."""
        opens = row.id != self._model.session
        self._row = row
        if opens:
            self._model.open(row.id, row.rows)
            self._look_for_interruption()
        self._header.show_session(row, self._lasted())
        going = row.status in GOING
        if going != self._tick.isActive():
            self._tick.start() if going else self._tick.stop()

    def apply(self, changes: Sequence[Step]) -> None:
        """Rows that are new or changed. When a reply is finished, call this before `end_draft`."""
        self._model.apply(changes)
        for step in changes:
            if step.kind == "interrupted":
                self._bar.show_step(step if step.status == "waiting" else None)

    def draft(self, text: str) -> None:
        """The reply being streamed, as far as it has come."""
        self._model.draft(text)

    def end_draft(self) -> None:
        self._model.end_draft()

    def select_row(self, row: int) -> None:
        self._view.select_row(row)

    def restyle(self, look: Look) -> None:
        self._header.restyle(look)
        self._view.restyle(look)
        self._bar.restyle(look)
        self._latest.restyle(look)

    def _look_for_interruption(self) -> None:
        """An open interruption stands at the end: nothing follows it until it is settled."""
        found = None
        for row in range(max(0, self._model.count - TAIL_ROWS), self._model.count):
            step = self._model.step_of_row(row)
            if step and step.kind == "interrupted":
                found = step if step.status == "waiting" else None
        self._bar.show_step(found)

    def _lasted(self) -> int:
        header = self._model.header(self._row.runs) if self._row.runs else None
        return self._model.lasted(header) if header else 0

    def _count_on(self) -> None:
        if self.isVisible():
            self._header.show_facts(self._row, self._lasted())

    def _tell_news(self, rows: int) -> None:
        if rows:
            self._latest.setText(self.tr("%n new · Jump to latest", "", rows))
            self._latest.setAccessibleName(self._latest.text())
            self._place_latest()
        self._latest.setVisible(rows > 0)

    def _place_latest(self) -> None:
        self._latest.resize(self._latest.sizeHint())
        box = self._view.geometry()
        self._latest.move(box.center().x() - self._latest.width() // 2, box.bottom() - self._latest.height() - 14)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_latest()
