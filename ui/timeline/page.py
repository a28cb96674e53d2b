"""The page of a session's runs: header, tabs, journey strip, steps, and what an interruption asks."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from ui.theme import Look
from ui.timeline.endings import RunEnd
from ui.timeline.find import FindInRun, Found
from ui.timeline.header import GOING, RunHeader
from ui.timeline.interrupted import InterruptedBar
from ui.timeline.model import TimelineModel
from ui.timeline.pages import Rows
from ui.timeline.strip import JourneyStrip, Sampled
from ui.timeline.view import TimelineView
from ui.widgets.button import Button
from ui.widgets.tabs import Figure, TabLine

TICK_MS: Final = 1_000
TAIL_ROWS: Final = 40
STEPS: Final = "steps"
LEAST: Final = 96  # height of what a tab shows: those that are not seen would make the window higher
NARROW: Final = 660  # below this finding is only an icon beside the tabs


class RunRows(Rows, Sampled, Found, Protocol):
    """Everything the page reads."""


class RunPage(QWidget):
    """Plain values in; what the person wants comes out as signals. Other panels stand in tabs of it."""

    stop = Signal()
    pause = Signal()
    resume = Signal()
    compare = Signal()
    export = Signal()
    fork = Signal(int)
    """The entry up to which the new session is the same; 0 for all of them."""
    settle = Signal(str)
    """again, skip or end: what becomes of calls that may have run."""
    step_chosen = Signal(object)
    step_opened = Signal(object)
    link = Signal(str)
    """An address in a reply that was clicked; nothing opens by itself."""
    judged = Signal(int, str, str)
    changes_wanted = Signal(str)
    review_wanted = Signal()
    again_wanted = Signal()
    tab_chosen = Signal(str)
    branch_wanted = Signal(str)

    def __init__(self, look: Look, rows: RunRows, *, clock: Clock = now, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run")
        self._row = SessionRow("")
        self._chosen: Step | None = None
        self._model = TimelineModel(rows, clock, self)
        self._header = RunHeader(look)
        self._find = FindInRun(look, rows)
        self._tabs = TabLine(look, self._find, name="run.tabs", said=self.tr("Views of the run"))
        self._strip = JourneyStrip(look, rows, clock=clock)
        self._view = TimelineView(self._model, look)
        self._bar = InterruptedBar(look)
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(look.size(LEAST))
        self._panels: dict[str, QWidget] = {}
        self._latest = Button(look, self.tr("Jump to latest"), name="timeline.latest", icon="arrow-down", parent=self)
        self._latest.hide()
        self._unseen = 0
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
        for part in (self._header, self._tabs, self._strip):
            layout.addWidget(part)
        layout.addWidget(self._stack, 1)
        layout.addLayout(around)
        self.add_tab(STEPS, self.tr("Steps"), self._view)
        self._latest.raise_()

    def _connect(self) -> None:
        self._header.stop.connect(self.stop)
        self._header.pause.connect(self.pause)
        self._header.resume.connect(self.resume)
        self._header.branch_wanted.connect(self.branch_wanted)
        self._header.compare.connect(self.compare)
        self._header.export.connect(self.export)
        self._header.fork.connect(lambda: self.fork.emit(self._fork_at()))
        self._bar.settle.connect(self.settle)
        self._view.chosen.connect(self._choose)
        self._view.opened.connect(self.step_opened)
        self._view.link.connect(self.link)
        self._view.news.connect(self._tell_news)
        self._view.seen.connect(self._strip.frame)
        self._view.judged.connect(self.judged)
        self._view.changes_wanted.connect(self.changes_wanted)
        self._view.review_wanted.connect(self.review_wanted)
        self._view.again_wanted.connect(self.again_wanted)
        self._strip.wanted.connect(self._go_to_row)
        self._find.found.connect(self._show_found)
        self._find.lost.connect(self._view.replies.unmark)
        self._find.closed.connect(self.focus_tab)
        self._latest.clicked.connect(self._view.follow)
        self._tabs.chosen.connect(self._show_tab)
        self._tabs.clicked.connect(self.focus_tab)

    # tabs

    def add_tab(self, name: str, text: str, panel: QWidget) -> None:
        """Another view of the run, beside the steps."""
        self._panels[name] = panel
        self._stack.addWidget(panel)
        self._tabs.add(name, text)

    def show_tab(self, name: str) -> None:
        self._tabs.choose(name)

    def focus_tab(self) -> None:
        """Bring the keyboard to what is looked at."""
        self._panels[self.tab].setFocus()

    @property
    def tab(self) -> str:
        return self._tabs.current()

    def show_figures(self, name: str, figures: list[Figure]) -> None:
        """The small figures beside the name of a tab."""
        self._tabs.show_figures(name, figures)

    def tell_ends(self, end_of: Callable[[Step], RunEnd]) -> None:
        """What the cards at the ends of runs show."""
        self._view.tell_ends(end_of)

    def find_words(self) -> None:
        self._find.open()

    def _show_tab(self, name: str) -> None:
        if name in self._panels:
            self._stack.setCurrentWidget(self._panels[name])
            self._tell_news(self._unseen)
            self.tab_chosen.emit(name)

    def _go_to_row(self, row: int) -> None:
        self.show_tab(STEPS)
        self._view.go_to_row(row)

    def _show_found(self, row: int, words: str) -> None:
        """A reply may be longer than the screen: the words in it are marked and brought there."""
        self.show_tab(STEPS)
        self._view.select_row(row)
        place, screen = self._view.replies.mark(row, words), self._view.viewport().rect()
        if place and not screen.contains(place):
            bar = self._view.verticalScrollBar()
            bar.setValue(bar.value() + place.center().y() - screen.center().y())

    def _choose(self, step: Step) -> None:
        self._chosen = step
        self.step_chosen.emit(step)

    @property
    def chosen(self) -> Step | None:
        """The step the person looks at, as it was when they chose it."""
        return self._chosen

    def origin(self, step: Step) -> tuple[str, Step]:
        """The session a step belongs to, and the step as that one has it: it may be of a sub-agent."""
        session, row = self._model.origin(step.row)
        return session, step._replace(row=row)

    def hear_child(self, row: SessionRow, steps: Sequence[Step]) -> None:
        """What a sub-agent of a session that stands here does."""
        self._model.hear_child(row, steps, at_tail=self._view.following)

    def _fork_at(self) -> int:
        chosen = self._chosen and self._model.step_of_row(self._model.root_row(self._chosen.row))
        return chosen.last if chosen else 0

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
            self._chosen = None
            self._model.open(row.id, row.rows)
            self._find.set_session(row.id)
            self._look_for_interruption()
        self._header.show_session(row, self._lasted())
        going = row.status in GOING
        self._strip.show_rows(row.id, row.rows, going=going)
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

    def run_rows(self, row: int) -> tuple[int, int]:
        """The rows of the run that a row belongs to, of the latest run for none: the first, and where it ends."""
        model = self._model
        step = model.step_of_row(model.root_row(row) if row >= 0 else model.count - 1)
        run = step.run if step else 0
        return model.first_row(run), model.first_row(run + 1)

    def restyle(self, look: Look) -> None:
        for part in (self._header, self._tabs, self._find, self._strip):
            part.restyle(look)
        self._stack.setMinimumHeight(look.size(LEAST))
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

    def show_branch(self, folder: str, name: str) -> None:
        """The git branch of a folder."""
        self._header.show_branch(folder, name)
        self._header.show_facts(self._row, self._lasted())

    def _lasted(self) -> int:
        header = self._model.header(self._row.runs) if self._row.runs else None
        return self._model.lasted(header) if header else 0

    def _count_on(self) -> None:
        if self.isVisible():
            self._header.show_facts(self._row, self._lasted())
            self._strip.show_rows(self._row.id, self._row.rows, going=True)

    def _tell_news(self, rows: int) -> None:
        self._unseen = rows
        if rows:
            self._latest.setText(self.tr("%n new · Jump to latest", "", rows))
            self._latest.setAccessibleName(self._latest.text())
            self._place_latest()
        self._latest.setVisible(rows > 0 and self._stack.currentWidget() is self._view)

    def _place_latest(self) -> None:
        self._latest.resize(self._latest.sizeHint())
        box = self._stack.geometry()
        self._latest.move(box.center().x() - self._latest.width() // 2, box.bottom() - self._latest.height() - 14)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._find.shorten(self.width() < self._header.look.size(NARROW))
        self._place_latest()
