"""The run page of a session: header, tabs, minimap, steps, and the bar of an interrupted run."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpacerItem, QStackedWidget, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.problems import ErrorDetails
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from ui.style.theme import Look
from ui.text.answer_images import AnswerImages
from ui.text.visible import visible
from ui.timeline.failed_request_bar import FailedRequestBar
from ui.timeline.find_bar import FindSource, RunFindBar
from ui.timeline.header_facts import ACTIVE_STATUSES
from ui.timeline.interruption_bar import InterruptionBar
from ui.timeline.minimap import Minimap, SampleSource
from ui.timeline.reply_widgets import ReplyText
from ui.timeline.row_menu import TEXT_KINDS, RowState, row_menu
from ui.timeline.run_end_card import RunEnd
from ui.timeline.run_header import RunHeader
from ui.timeline.step_pages import StepSource
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.timeline_view import TimelineView
from ui.timeline.waterfall.model import ShownRun
from ui.widgets.button import Button
from ui.widgets.tab_strip import TabFigure, TabStrip

TICK_MS: Final = 1_000
SEARCHED_ROWS: Final = 40
STEPS_TAB: Final = "steps"
CHART_TAB: Final = "timeline"
MIN_HEIGHT: Final = 96  # pixels; minimum height of the tab contents, although hidden tabs may need more
NARROW_WIDTH: Final = 660  # pixels; below this width the find button is only an icon


class RunPageSource(StepSource, SampleSource, FindSource, Protocol):
    """The data source of the run page."""


class SelectedStep(NamedTuple):
    """A step as it was when it was selected.

    `session` can be a sub-agent's; `root_row` is the row of the session on display under which the step is nested.
    """

    session: str
    step: Step
    root_row: int


class RunPage(QWidget):
    """The run page. It emits the user's actions as signals; other panels are added as tabs."""

    stop = Signal()
    pause = Signal()
    resume = Signal()
    compare = Signal()
    export = Signal()
    fork = Signal(int)
    """The sequence number of the last event to copy to the new session; 0 for all events."""
    replay_requested = Signal(int)
    """The row before which the replay waits."""
    interruption_resolved = Signal(str)
    """`retry`, `skip` or `abort`: what to do with calls that may have run."""
    step_chosen = Signal(object)
    step_opened = Signal(object)
    link_clicked = Signal(str)
    """The URL of a clicked link; the receiver asks the user before opening it."""
    rated = Signal(int, str, str)
    changes_requested = Signal(str)
    review_requested = Signal()
    retry_requested = Signal()
    edit_requested = Signal(object, str, str)
    """The step of a message that the user wants to edit and resend, its text, and a line for each attachment."""
    rerun_requested = Signal(object)
    """The step of a message that the user wants to try with another model."""
    file_requested = Signal(str, int)
    """The path of a file to open in the editor, and the line; 0 for none."""
    rewind_requested = Signal(int, str)
    """The sequence number of the event to revert all files to, and the name of its step for the user."""
    tab_chosen = Signal(str)
    branch_requested = Signal(str)
    model_change_requested = Signal()
    settings_requested = Signal()
    chart_row_requested = Signal(int)
    """A row that was chosen in the minimap while the chart of a run is shown."""

    def __init__(self, look: Look, rows: RunPageSource, *, clock: Clock = now, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run")
        self._row = SessionRow("")
        self._selected: SelectedStep | None = None
        self._missing_folder = ""
        self._model = TimelineModel(rows, clock, self)
        self._header = RunHeader(look)
        self._find = RunFindBar(look, rows)
        self._tabs = TabStrip(look, self._find, name="run.tabs", accessible_name=self.tr("Run views"))
        self._strip = Minimap(look, rows, clock=clock)
        self._view = TimelineView(self._model, look)
        self._bar = InterruptionBar(look)
        self._failed_bar = FailedRequestBar(look)
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(look.size(MIN_HEIGHT))
        self._panels: dict[str, QWidget] = {}
        self._latest = Button(look, self.tr("Jump to latest"), name="timeline.latest", icon="arrow-down", parent=self)
        self._latest.hide()
        self._unseen = 0
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._refresh_figures)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        self._reserved = QSpacerItem(0, 0)  # see `reserve_bottom`
        outer = QHBoxLayout()
        outer.setContentsMargins(20, 0, 20, 8)
        outer.addWidget(self._bar)
        outer.addWidget(self._failed_bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self._header, self._tabs, self._strip):
            layout.addWidget(part)
        layout.addWidget(self._stack, 1)
        layout.addSpacerItem(self._reserved)
        layout.addLayout(outer)
        self.add_tab(STEPS_TAB, self.tr("Steps"), self._view)
        self._latest.raise_()

    def _connect(self) -> None:
        self._header.stop.connect(self.stop)
        self._header.pause.connect(self.pause)
        self._header.resume.connect(self.resume)
        self._header.branch_requested.connect(self.branch_requested)
        self._header.compare.connect(self.compare)
        self._header.export.connect(self.export)
        self._header.fork.connect(lambda: self.fork.emit(self._fork_at()))
        self._header.resume.connect(self.focus_tab)
        self._header.pause.connect(self.focus_tab)
        self._bar.resolved.connect(self.interruption_resolved)
        self._bar.focus_released.connect(self.focus_tab)
        self._failed_bar.focus_released.connect(self.focus_tab)
        self._failed_bar.retry_requested.connect(self.resume)
        self._failed_bar.model_change_requested.connect(self.model_change_requested)
        self._failed_bar.settings_requested.connect(self.settings_requested)
        self._view.chosen.connect(self._choose)
        self._view.opened.connect(self.step_opened)
        self._view.link_clicked.connect(self.link_clicked)
        self._view.unseen_changed.connect(self._show_new_count)
        self._view.visible_rows_changed.connect(self._strip.frame_rows)
        self._view.rated.connect(self.rated)
        self._view.changes_requested.connect(self.changes_requested)
        self._view.review_requested.connect(self.review_requested)
        self._view.retry_requested.connect(self.retry_requested)
        self._view.retry_requested.connect(self.focus_tab)
        self._view.model_change_requested.connect(self.model_change_requested)
        self._view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._view.customContextMenuRequested.connect(self._open_row_menu)
        self._strip.row_requested.connect(self._go_to_row)
        self._find.match_selected.connect(self._show_found)
        self._find.matches_cleared.connect(self._view.replies.clear_highlights)
        self._find.closed.connect(self.focus_tab)
        self._latest.clicked.connect(self._view.follow)
        self._tabs.chosen.connect(self._show_tab)
        self._tabs.clicked.connect(self.focus_tab)

    def add_tab(self, name: str, text: str, panel: QWidget) -> None:
        """Add a tab to the right of the existing ones."""
        self._panels[name] = panel
        self._stack.addWidget(panel)
        self._tabs.add(name, text)
        self._order_focus()

    def _order_focus(self) -> None:
        """Let Tab go from the contents of the tab to the bars below it, as they are on screen."""
        last: QWidget = self._stack
        part = self._stack.nextInFocusChain()
        while part not in (None, self._stack):
            last = part if self._stack.isAncestorOf(part) else last
            part = part.nextInFocusChain()
        for button in (*self._bar.findChildren(Button), *self._failed_bar.findChildren(Button)):
            QWidget.setTabOrder(last, button)
            last = button

    def show_tab(self, name: str) -> None:
        self._tabs.select(name)

    def focus_tab(self) -> None:
        """Focus the panel of the current tab."""
        self._panels[self.current_tab].setFocus()

    def focus_interruption(self) -> bool:
        """Focus the first choice for an interrupted step; return False if there is none."""
        return self._bar.focus_choice()

    @property
    def current_tab(self) -> str:
        return self._tabs.current()

    def show_minimap(self, visible: bool) -> None:
        """Show or hide the map of the session, which takes room from the steps in a low window."""
        self._strip.setVisible(visible)

    def show_figures(self, name: str, figures: list[TabFigure]) -> None:
        """Show small figures next to the title of a tab."""
        self._tabs.show_figures(name, figures)

    def set_run_end_source(self, end_of: Callable[[Step], RunEnd]) -> None:
        """Set the function that provides the data of the run end cards, and refresh the cards."""
        self._view.set_run_end_source(end_of)

    def reserve_bottom(self, height: int) -> None:
        """Leave room for what floats above the bottom of the page."""
        layout = self.layout()
        if layout and self._reserved.sizeHint().height() != height:
            policy = QSizePolicy.Policy
            self._reserved.changeSize(0, height, policy.Minimum, policy.Preferred)  # a low window keeps its height
            layout.invalidate()

    @property
    def images(self) -> AnswerImages:
        """The images of the answers."""
        return self._view.replies.images

    def open_find(self) -> None:
        self._find.open()

    def _show_tab(self, name: str) -> None:
        if name in self._panels:
            self._stack.setCurrentWidget(self._panels[name])
            self._show_new_count(self._unseen)
            self.tab_chosen.emit(name)

    def _go_to_row(self, row: int) -> None:
        """Show the row that was chosen in the minimap. The chart of a run shows it itself."""
        if self.current_tab == CHART_TAB:
            self.chart_row_requested.emit(row)
        else:
            self.show_tab(STEPS_TAB)
            self._view.go_to_row(row)

    def _show_found(self, row: int, query: str) -> None:
        """Select the row of a match, highlight the words in its reply, and scroll to the first of them."""
        self.show_tab(STEPS_TAB)
        self._view.select_row(row)
        rect, screen = self._view.replies.highlight(row, query), self._view.viewport().rect()
        if rect and not screen.contains(rect):
            bar = self._view.verticalScrollBar()
            bar.setValue(bar.value() + rect.center().y() - screen.center().y())

    def _choose(self, step: Step) -> None:
        position = self._view.selected_position
        session = self._model.address_at(position).session
        self._selected = SelectedStep(session, step, self._model.root_row(position))
        self.step_chosen.emit(step)

    @property
    def selected(self) -> SelectedStep | None:
        return self._selected

    def apply_sub_agent_update(self, row: SessionRow, steps: Sequence[Step]) -> None:
        """Apply an update of a sub-agent of one of the sessions shown."""
        self._model.apply_sub_agent_update(row, steps, at_tail=self._view.following)

    def mark_folder(self, folder: str, *, missing: bool) -> None:
        """Set whether a folder is missing."""
        self._missing_folder = folder if missing else ""

    def repeat_obstacle(self) -> str:
        """Return why no message of this session can be edited or tried with another model, or an empty string."""
        if self._row.imported_from:
            return self.tr("The messages of an imported session cannot be sent again.")
        if self._row.folder and self._row.folder == self._missing_folder:
            return self.tr("The folder of this session is gone.")
        if self._row.status in ACTIVE_STATUSES:
            return self.tr("Pause or stop the run first.")
        return "" if self._row.runs else self.tr("This session has no message of yours.")

    def edit_message(self) -> None:
        """Edit and resend the selected message, or else the last one."""
        if not self.repeat_obstacle() and (message := self._message()):
            self.edit_requested.emit(message, *self._model.message_text(message))

    def rerun_message(self) -> None:
        """Try the selected message, or else the last one, with another model."""
        if not self.repeat_obstacle() and (message := self._message()):
            self.rerun_requested.emit(message)

    def _message(self) -> Step | None:
        """Return the selected message, or else the last one."""
        step = self._selected_root_step()
        return step if step and step.kind == "user" else self._model.last_message()

    def _selected_root_step(self) -> Step | None:
        """Return the selected step, or the one of this session under which it is nested."""
        return self._model.step_of_row(self._selected.root_row) if self._selected else None

    def _open_row_menu(self, position: QPoint) -> None:
        index = self._view.indexAt(position).row()
        step = self._model.step_at(index)
        if step is None:
            return
        session = self._model.address_at(index).session
        own = session == self._row.id
        reply = self._view.replies.shown.get(step.row) if own else None
        selected_text = reply.selected_text() if reply else ""
        links = reply.links() if reply else []
        self._view.select_row(step.row, session)
        state = RowState(step, own, selected_text, self.repeat_obstacle(), self._rewind_obstacle(), links)
        actions: dict[str, Callable[[], object]] = {
            "edit": self.edit_message,
            "model": self.rerun_message,
            "copy": lambda: _copy(selected_text or self._plain_text(step, index, reply)),
            "markdown": lambda: _copy(self._model.full_text(session, step)),
            "file": lambda: self.file_requested.emit(step.object, 0),
            "similar": lambda: self._find.open_with(step.object),
            "fork": lambda: self.fork.emit(step.last_seq),
            "replay": lambda: self.replay_requested.emit(step.row),
            "rewind": lambda: self.rewind_requested.emit(
                step.last_seq, self.tr("after step {}").format(step.number) if step.number else self.tr("at this step")
            ),
        }
        menu = row_menu(self._header.look, state, lambda name: actions[name](), self.link_clicked.emit, self)
        menu.popup(self._view.viewport().mapToGlobal(position))

    def _plain_text(self, step: Step, position: int, reply: ReplyText | None) -> str:
        """Return the text of a row without Markdown; `reply` is the widget that shows it."""
        if reply:
            return reply.toPlainText()
        return self._model.text_of(position) if step.kind in TEXT_KINDS else step.object

    def _rewind_obstacle(self) -> str:
        """Return why the files cannot be reverted, or an empty string."""
        if self._row.imported_from:
            return self.tr("The files of an imported session cannot be reverted.")
        if self._row.folder and self._row.folder == self._missing_folder:
            return self.tr("The folder of this session is gone.")
        return self.tr("Pause or stop the run first.") if self._row.status in ACTIVE_STATUSES else ""

    def _fork_at(self) -> int:
        step = self._selected_root_step()
        return step.last_seq if step else 0

    @property
    def view(self) -> TimelineView:
        return self._view

    @property
    def model(self) -> TimelineModel:
        return self._model

    def show_session(self, row: SessionRow) -> None:
        """Show a session, or refresh the header if it is shown already."""
        opens = row.id != self._model.session
        self._row = row
        if opens:
            self._selected = None
            self._model.open(row.id, row.rows)
            self._find.set_session(row.id)
            self._find_interruption()
        self._header.show_session(row, self._lasted())
        going = row.status in ACTIVE_STATUSES
        self._strip.show_rows(row.id, row.rows, in_progress=going)
        if going != self._tick.isActive():
            self._tick.start() if going else self._tick.stop()

    def apply(self, changes: Sequence[Step]) -> None:
        """Apply new and changed steps. For a finished reply, call this before `end_draft`."""
        self._model.apply(changes)
        for step in changes:
            if step.kind == "interrupted":
                self._bar.show_step(step if step.status == "waiting" else None)

    def show_failed_request(self, error: ErrorDetails | None) -> None:
        """Show the error that paused the run; None hides it."""
        self._failed_bar.show_error(error)

    def show_draft(self, text: str) -> None:
        """Show the part of a streaming reply that has arrived so far."""
        self._model.show_draft(text)

    def show_activity(self, activity: str) -> None:
        """Show what the provider does before the reply begins."""
        self._model.show_activity(activity)

    def end_draft(self) -> None:
        self._model.end_draft()

    def select_row(self, row: int, session: str = "") -> None:
        """Select a row of this session, or of an expanded sub-agent's."""
        self._view.select_row(row, session)

    def run_of_row(self, row: int) -> int:
        """Return the number of a row's run; of the latest run if `row` is negative."""
        step = self._model.step_of_row(row if row >= 0 else self._model.count - 1)
        return step.run if step else 0

    def run_to_show(self, number: int) -> ShownRun:
        """Return what the waterfall chart shows of a run."""
        first, end = self._model.first_row(number), self._model.first_row(number + 1)
        messages = (step.object for step in self._model.opening(number) if step.kind == "user")
        return ShownRun(number, max(number, self._row.runs), first, end, visible(next(messages, "")))

    def restyle(self, look: Look) -> None:
        for widget in (self._header, self._tabs, self._find, self._strip):
            widget.restyle(look)
        self._stack.setMinimumHeight(look.size(MIN_HEIGHT))
        self._view.restyle(look)
        self._bar.restyle(look)
        self._failed_bar.restyle(look)
        self._latest.restyle(look)

    def _find_interruption(self) -> None:
        """Show the bar if an interruption is open. It is near the end, because the run cannot continue."""
        interruption = None
        for row in range(max(0, self._model.count - SEARCHED_ROWS), self._model.count):
            step = self._model.step_of_row(row)
            if step and step.kind == "interrupted":
                interruption = step if step.status == "waiting" else None
        self._bar.show_step(interruption)

    def show_branch(self, folder: str, name: str) -> None:
        """Show the git branch of the session's folder."""
        self._header.show_branch(folder, name)
        self._header.show_facts(self._row, self._lasted())

    def _lasted(self) -> int:
        header = self._model.header(self._row.runs) if self._row.runs else None
        return self._model.duration_of(header) if header else 0

    def _refresh_figures(self) -> None:
        if self.isVisible():
            self._header.show_facts(self._row, self._lasted())
            self._strip.show_rows(self._row.id, self._row.rows, in_progress=True)

    def _show_new_count(self, rows: int) -> None:
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

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._find.set_icon_only(self.width() < self._header.look.size(NARROW_WIDTH))
        self._place_latest()


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
