"""The centre for one session: its run in several views, what it asks, and the place to write to it."""

from collections.abc import Sequence
from typing import Final, Protocol

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.exchanged import agent_of
from core.domain.question import Answer
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.queue import QueuedLine
from core.timeline.past import REQUESTS
from ui.ask.frame import SHARE
from ui.ask.place import Asked, AskPlace, Dialog
from ui.changes.panel import ChangesPanel, Contents
from ui.composer.panel import ComposerPanel
from ui.context.panel import ContextPanel
from ui.decisions.panel import DecisionsPanel
from ui.scan import Lines, PastScan
from ui.theme import Look
from ui.timeline.endings import Made, RunEnd, Verdict
from ui.timeline.page import STEPS, RunPage, RunRows
from ui.timeline.waterfall.panel import WaterfallPanel
from ui.timeline.waterfall.rows import Stretches

TIMELINE: Final = "timeline"
CHANGES: Final = "changes"
CONTEXT: Final = "context"
DECISIONS: Final = "decisions"


class SessionRows(RunRows, Stretches, Lines, Contents, Protocol):
    """Everything that the views of a session read."""

    def queued(self, session: str, goes_on: bool) -> list[QueuedLine]: ...

    def proposed_by(self, session: str) -> dict[str, int]: ...


class SessionView(QWidget):
    """One step is chosen in all views at once; what should happen is said in signals of the panels."""

    answered = Signal(str, Answer)
    review_wanted = Signal(str)
    """The kind of proposals of the shown session that are to be decided on."""

    def __init__(self, look: Look, rows: SessionRows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._rows = look, rows
        self.page = RunPage(look, rows)
        self.waterfall = WaterfallPanel(look, rows)
        self.changes = ChangesPanel(look, rows)
        self.context = ContextPanel(look)
        self.decisions = DecisionsPanel(look, rows)
        self.scan = PastScan(rows, parent=self)
        self.requests = PastScan(rows, REQUESTS, self)
        self._chosen_row = -1
        self.composer = ComposerPanel(look)
        self.asking = AskPlace(look)
        self._row = SessionRow("")
        self._proposed: dict[str, int] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.page, 1)
        self._column.addWidget(self.asking)
        self._column.addWidget(self.composer)
        self.page.add_tab(TIMELINE, self.tr("Timeline"), self.waterfall)
        self.page.add_tab(CHANGES, self.tr("Changes"), self.changes)
        self.page.add_tab(CONTEXT, self.tr("Context"), self.context)
        self.page.add_tab(DECISIONS, self.tr("Decisions"), self.decisions)
        self._connect()

    def _connect(self) -> None:
        page = self.page
        page.step_opened.connect(self._open_step)
        page.step_chosen.connect(lambda step: self._note_row(page.model.root_row(step.row)))
        page.tab_chosen.connect(self._fill_tab)
        page.changes_wanted.connect(self.show_changes)
        page.review_wanted.connect(lambda: self.review_wanted.emit("memory" if "memory" in self._proposed else "skill"))
        page.tell_ends(self._end_of)
        self.waterfall.step_chosen.connect(self._choose_elsewhere)
        self.changes.row_wanted.connect(self.show_row)
        self.decisions.row_wanted.connect(self.show_row)
        self.scan.changed.connect(self._hear_past)
        self.requests.changed.connect(lambda: self._fill_tab(CONTEXT) if self.page.tab == CONTEXT else None)
        self.asking.answered.connect(self.answered)
        self.asking.put_off.connect(self._leave_question)
        self.asking.left.connect(self._leave_question)

    @property
    def session(self) -> str:
        return self._row.id

    @property
    def dialog(self) -> Dialog | None:
        return self.asking.dialog

    @property
    def wide(self) -> bool:
        """Does what is shown want the room of the step pane as well?"""
        return self.page.tab == CHANGES

    def stop_reading(self) -> None:
        """The file is about to be closed."""
        self.scan.stop()
        self.requests.stop()

    def show_session(self, row: SessionRow) -> None:
        other = row.id != self._row.id
        self._row = row
        if other:
            self._chosen_row = -1
        if row.status != "running":
            self._count_proposals()
        self.page.show_session(row)
        self.scan.follow(row.id, row.seq)
        if other or self.page.tab == CONTEXT:
            self._fill_tab(self.page.tab)
        self.composer.set_running(row.status in {"running", "waiting"})
        self.composer.set_closed(self._closed(row))
        self.composer.set_model(row.model)
        going = row.status in {"running", "waiting", "paused", "interrupted"}
        self.composer.show_queue(self._rows.queued(row.id, going), going=row.status in {"running", "waiting"})
        self.composer.set_mode(row.mode)

    def _closed(self, row: SessionRow) -> str:
        """Why nothing can be said here; empty where it can."""
        if row.source:
            return self.tr("Imported from {}, to be read. Fork it to go on from here.").format(agent_of(row.source))
        return self.tr("Say first what becomes of the interrupted step.") if row.status == "interrupted" else ""

    def apply(self, changes: Sequence[Step]) -> None:
        self.page.apply(changes)
        if self.page.tab == TIMELINE:
            self.waterfall.apply(changes)

    def show_questions(self, asked: Sequence[Asked]) -> None:
        """The oldest open question, or request for consent, of this session stands above the composer."""
        self._fit_question()
        self.asking.show_asked(self._row.id, self._row.title, asked)

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
        for part in (self.page, self.waterfall, self.changes, self.context, self.decisions, self.composer, self.asking):
            part.restyle(look)

    def focus_composer(self) -> None:
        """Bring the keyboard to where a message is written."""
        self.page.show_tab(STEPS)
        self.composer.focus_input()

    def _leave_question(self) -> None:
        """The keyboard goes on where the person is."""
        if self.page.tab == STEPS:
            self.composer.focus_input()
        else:
            self.page.focus_tab()

    # one selection, several views

    def _note_row(self, row: int) -> None:
        self._chosen_row = row

    def _choose_elsewhere(self, step: Step) -> None:
        """Chosen in another view: the steps follow, and tell the rest of the window."""
        self._chosen_row = step.row
        self.page.select_row(step.row)

    def show_row(self, row: int) -> None:
        """Look at a row among the steps."""
        self.page.show_tab(STEPS)
        self.page.select_row(row)

    def _fill_tab(self, name: str) -> None:
        """A view is brought up to date when it is looked at; only the steps are written to."""
        self.composer.setVisible(name == STEPS)
        self.asking.bar(name != STEPS)
        if name == TIMELINE:
            first, end = self.page.run_rows(self._chosen_row)
            self.waterfall.show_run(self._row.id, first, end)
            self.waterfall.select_row(self._chosen_row)
        elif name == CHANGES:
            self.changes.show_past(self._row, self.scan.past, reading=not self.scan.done)
        elif name == CONTEXT:
            going = self._row.status in {"running", "waiting"}
            self.requests.follow(self._row.id, self._row.seq)
            self.context.show_past(self.requests.past, reading=not self.requests.done, going=going)
        elif name == DECISIONS:
            self.decisions.show_past(self._row.id, self.scan.past, reading=not self.scan.done)

    def show_changes(self, path: str) -> None:
        """Look at what changed in a file; at all of them for none."""
        self.page.show_tab(CHANGES)
        self.changes.show_file(path)

    def _hear_past(self) -> None:
        """More is known of what a person looks back on."""
        past = self.scan.past
        added, removed = past.totals()
        lines = [(f"+{added}", "done")] * bool(added) + [(f"−{removed}", "failed")] * bool(removed)
        if not lines and past.files:
            lines = [(str(len(past.files)), "second")]
        self.page.show_figures(CHANGES, lines)
        count = f"{len(past.choices):,}" if past.choices else ""
        self.page.show_figures(DECISIONS, [(count, "second")] if count else [])
        self.page.tell_ends(self._end_of)
        if self.page.tab in {CHANGES, DECISIONS}:
            self._fill_tab(self.page.tab)

    def _count_proposals(self) -> None:
        """They come after a run, and are settled long after it."""
        proposed = self._rows.proposed_by(self._row.id)
        if proposed != self._proposed:
            self._proposed = proposed
            self.page.tell_ends(self._end_of)

    def _end_of(self, step: Step) -> RunEnd:
        """What the card at the end of a run shows."""
        past = self.scan.past
        files = tuple(Made(f.path, f.added, f.removed, f.new and f.kept) for f in past.of_run(step.run))
        verdict = Verdict(*past.verdicts.get(step.run, ("", "")))
        waiting = sum(self._proposed.values()) if step.run == self._row.runs else 0  # beside the last run
        latest = step.run == self._row.runs and not self._row.source
        again = latest and self._row.status == step.status == "failed"
        return RunEnd(self.page.model.header(step.run), files, verdict, waiting, past.troubles.get(step.run), again)

    def _open_step(self, step: Step) -> None:
        """Enter on a row that waits opens its question as a dialog."""
        card = self.asking.card
        if card and step.status == "waiting" and step.key == card.name():
            self.asking.open_dialog()

    def open_question(self) -> None:
        """The question of the card in a window of its own."""
        self.asking.open_dialog()

    def _fit_question(self) -> None:
        """It takes none of the room that the others need: the window would grow, or what is above it be flattened."""
        spare = self.height() - self.page.minimumSizeHint().height() - self.composer.minimumSizeHint().height()
        self.asking.fit(min(self.height(), int(spare / SHARE)))

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_question()
