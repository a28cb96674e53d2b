"""The run page of a session: header, tabs, minimap, steps, and the bars that ask what to do about a stopped run."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpacerItem, QStackedWidget, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.problems import ErrorDetails
from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from core.domain.steps import Step
from ui.style.theme import Look
from ui.text.answer_images import AnswerImages
from ui.text.visible import visible
from ui.timeline.failed_request_bar import FailedRequestBar
from ui.timeline.find_bar import FindSource, RunFindBar
from ui.timeline.folds import RowRange
from ui.timeline.interruption_bar import InterruptionBar
from ui.timeline.jump_button import JumpToLatestButton
from ui.timeline.minimap import Minimap, SampleSource
from ui.timeline.row_menu import TEXT_KINDS, ClickedRow, RowAction, RowState, row_menu
from ui.timeline.run_end_card import RunEnd
from ui.timeline.run_header import RunHeader
from ui.timeline.session_obstacles import repeat_obstacle, rewind_obstacle
from ui.timeline.step_pages import StepSource
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.timeline_view import TimelineView
from ui.timeline.waterfall.model import ShownRun
from ui.widgets.focus_order import set_tab_order, tab_stops
from ui.widgets.tab_strip import TabCount, TabStrip

REFRESH_INTERVAL_MS: Final = 1_000
STEPS_TAB: Final = "steps"
CHART_TAB: Final = "timeline"
MIN_HEIGHT: Final = 96  # minimum height in pixels of the tab contents, which keeps a hidden tab from requiring more
NARROW_WIDTH: Final = 660  # pixels; in a narrower page, the find button is only an icon


class RunPageSource(StepSource, SampleSource, FindSource, Protocol):
    """The data source of the run page."""


class SelectedStep(NamedTuple):
    """The selected step in its current state.

    `session` may be a sub-agent. `root_row` is the row of the main session under which the step is nested, or the row
    of the step itself.
    """

    session: str
    step: Step
    root_row: int


class RunPage(QWidget):
    """The run page. It emits the user's actions as signals. Other panels are added as tabs."""

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
    details_requested = Signal()
    """The details of the selected step are to be shown, even if there is little room for them."""
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
        self._minimap = Minimap(look, rows, clock=clock)
        self._view = TimelineView(self._model, look)
        self._interruption_bar = InterruptionBar(look)
        self._failed_bar = FailedRequestBar(look)
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(MIN_HEIGHT)
        self._panels: dict[str, QWidget] = {}
        self._jump_button = JumpToLatestButton(look, self)
        self._new_rows = 0  # number of rows added since the user scrolled away from the end
        self._bottom_space = QSpacerItem(0, 0)  # the space that `reserve_bottom` sets
        self._refresh_timer = QTimer(self, interval=REFRESH_INTERVAL_MS)
        self._refresh_timer.timeout.connect(self._refresh_figures)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        bars = QHBoxLayout()
        bars.setContentsMargins(20, 0, 20, 8)
        bars.addWidget(self._interruption_bar)
        bars.addWidget(self._failed_bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self._header, self._tabs, self._minimap):
            layout.addWidget(part)
        layout.addWidget(self._stack, 1)
        layout.addSpacerItem(self._bottom_space)
        layout.addLayout(bars)
        self.add_tab(STEPS_TAB, self.tr("Steps"), self._view)
        self._jump_button.raise_()

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
        self._interruption_bar.resolved.connect(self.interruption_resolved)
        self._interruption_bar.focus_released.connect(self.focus_tab)
        self._failed_bar.focus_released.connect(self.focus_tab)
        self._failed_bar.retry_requested.connect(self.resume)
        self._failed_bar.model_change_requested.connect(self.model_change_requested)
        self._failed_bar.settings_requested.connect(self.settings_requested)
        self._view.chosen.connect(self._choose)
        self._view.opened.connect(self.step_opened)
        self._view.link_clicked.connect(self.link_clicked)
        self._view.unseen_changed.connect(self._show_new_count)
        self._view.visible_rows_changed.connect(self._minimap.frame_rows)
        self._view.rated.connect(self.rated)
        self._view.changes_requested.connect(self.changes_requested)
        self._view.review_requested.connect(self.review_requested)
        self._view.retry_requested.connect(self.retry_requested)
        self._view.retry_requested.connect(self.focus_tab)
        self._view.model_change_requested.connect(self.model_change_requested)
        self._view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._view.customContextMenuRequested.connect(self._open_row_menu)
        self._minimap.row_requested.connect(self._go_to_row)
        self._find.match_selected.connect(self._show_found)
        self._find.matches_cleared.connect(self._view.replies.clear_highlights)
        self._find.closed.connect(self.focus_tab)
        self._jump_button.clicked.connect(self._view.follow)
        self._tabs.chosen.connect(self._show_tab)
        self._tabs.clicked.connect(self.focus_tab)

    def add_tab(self, name: str, text: str, panel: QWidget) -> None:
        """Add a tab to the right of the existing ones."""
        self._panels[name] = panel
        self._stack.addWidget(panel)
        self._tabs.add(name, text)
        self._order_focus()

    def _order_focus(self) -> None:
        """Make Tab go from the contents of the current tab to the bars below, and from there to the composer."""
        panel = self._panels[self.current_tab]
        # Do not walk Qt's focus chain here: PySide would make each widget own the next one, and delete them together.
        stops_below = [stop for bar in self.bars for stop in tab_stops(bar)]
        set_tab_order(*tab_stops(panel)[-1:], *stops_below)

    def show_tab(self, name: str) -> None:
        self._tabs.select(name)

    def focus_tab(self) -> None:
        """Focus the panel of the current tab."""
        self._panels[self.current_tab].setFocus()

    def panel_has_focus(self) -> bool:
        """Return whether the panel of the current tab, or a part of it, has the focus in its window."""
        panel, focused = self._panels[self.current_tab], self.window().focusWidget()
        return focused is panel or panel.isAncestorOf(focused)

    def focus_interruption(self) -> bool:
        """Focus the bar about an interrupted step; return False if there is none."""
        return self._interruption_bar.focus_bar()

    def focus_decision(self) -> bool:
        """Focus the bar that asks how to continue a stopped run; return False if there is none."""
        return self._interruption_bar.focus_bar() or self._failed_bar.focus_bar()

    @property
    def current_tab(self) -> str:
        return self._tabs.current()

    def show_minimap(self, visible: bool) -> None:
        """Show or hide the minimap, which leaves too little room for the steps in a low window."""
        self._minimap.setVisible(visible)

    def show_counts(self, name: str, counts: list[TabCount]) -> None:
        """Show counts next to the title of a tab."""
        self._tabs.show_counts(name, counts)

    def set_run_end_source(self, end_of: Callable[[Step], RunEnd]) -> None:
        """Set the function that provides the data of the run end cards, and refresh the cards."""
        self._view.set_run_end_source(end_of)

    def reserve_bottom(self, height: int) -> None:
        """Keep a space at the bottom of the page for the messages that float above it."""
        layout = self.layout()
        if layout and self._bottom_space.sizeHint().height() != height:
            policy = QSizePolicy.Policy
            # In a low window, the space may shrink, so that the page does not become higher.
            self._bottom_space.changeSize(0, height, policy.Minimum, policy.Preferred)
            layout.invalidate()

    @property
    def bars(self) -> tuple[QWidget, ...]:
        """The bars at the bottom of the page. They ask the user what to do and must not be covered."""
        return self._interruption_bar, self._failed_bar

    @property
    def images(self) -> AnswerImages:
        """The images of the answers."""
        return self._view.replies.images

    def open_find(self) -> None:
        self._find.open()

    def _show_tab(self, name: str) -> None:
        if name in self._panels:
            self._stack.setCurrentWidget(self._panels[name])
            self._order_focus()
            self._show_new_count(self._new_rows)
            self.tab_chosen.emit(name)

    def _go_to_row(self, row: int) -> None:
        """Scroll to a row that was chosen in the minimap. If the chart of a run is shown, it shows the row instead."""
        if self.current_tab == CHART_TAB:
            self.chart_row_requested.emit(row)
        else:
            self.show_tab(STEPS_TAB)
            self._view.go_to_row(row)

    def _show_found(self, row: int, query: str) -> None:
        """Select the row of a search match, highlight the words in its reply, and scroll to the first of them."""
        self.show_tab(STEPS_TAB)
        self._view.select_row(row)
        rect, screen = self._view.replies.highlight(row, query), self._view.viewport().rect()
        if rect and not screen.contains(rect):
            bar = self._view.verticalScrollBar()
            bar.setValue(bar.value() + rect.center().y() - screen.center().y())

    def _choose(self, step: Step | None) -> None:
        """Select a step, or no step if `step` is None, so that the details are those of the latest step."""
        self._selected = None
        if step:
            position = self._view.selected_position
            session = self._model.address_at(position).session
            self._selected = SelectedStep(session=session, step=step, root_row=self._model.root_row(position))
        self.step_chosen.emit(step)

    @property
    def selected(self) -> SelectedStep | None:
        if self._selected is None:
            return None
        step = self._model.current_step(self._selected.session, self._selected.step)
        return self._selected._replace(step=step)

    def apply_sub_agent_update(self, row: SessionRow, steps: Sequence[Step]) -> None:
        """Apply an update of a sub-agent that one of the sessions shown has started."""
        self._model.apply_sub_agent_update(row, steps, at_tail=self._view.following)

    def mark_folder(self, folder: str, *, missing: bool) -> None:
        """Set whether a folder is missing, which disables actions of the session that has this folder."""
        self._missing_folder = folder if missing else ""

    def repeat_obstacle(self) -> str:
        """Return why no message of this session can be edited or tried with another model; "" if they can."""
        return repeat_obstacle(self._row, self._missing_folder)

    def edit_message(self) -> None:
        """Edit and resend the selected message, or else the last one."""
        if not self.repeat_obstacle() and (message := self._message()):
            contents = self._model.message_contents(message)
            self.edit_requested.emit(message, contents.text, contents.attachments)

    def rerun_message(self) -> None:
        """Try the selected message, or else the last one, with another model."""
        if not self.repeat_obstacle() and (message := self._message()):
            self.rerun_requested.emit(message)

    def _message(self) -> Step | None:
        """Return the selected message, or else the last one."""
        step = self._selected_root_step()
        return step if step and step.kind == "user" else self._model.last_message()

    def _selected_root_step(self) -> Step | None:
        """Return the selected step or, for a step of a sub-agent, the step of this session under which it is nested."""
        return self._model.step_of_row(self._selected.root_row) if self._selected else None

    def _open_row_menu(self, position: QPoint) -> None:
        row = self._clicked_row(self._view.indexAt(position).row())
        if row is None:
            return
        self._view.select_row(row.step.row, row.session)
        state = RowState(
            step=row.step,
            own=row.session == self._row.id,
            selected_text=row.selected_text,
            repeat_obstacle=self.repeat_obstacle(),
            rewind_obstacle=rewind_obstacle(self._row, self._missing_folder),
            links=row.reply.links() if row.reply else (),
        )
        on_action = partial(self._run_row_action, row)
        menu = row_menu(self._header.look, state, on_action, self.link_clicked.emit, self)
        menu.popup(self._view.viewport().mapToGlobal(position))

    def _clicked_row(self, position: int) -> ClickedRow | None:
        """Return the row at a position; None for the reply being streamed, which is not a step yet."""
        step = self._model.step_at(position)
        if step is None:
            return None
        session = self._model.address_at(position).session
        reply = self._view.replies.shown.get(step.row) if session == self._row.id else None
        selected_text = reply.selected_text() if reply else ""
        return ClickedRow(step=step, position=position, session=session, reply=reply, selected_text=selected_text)

    def _run_row_action(self, row: ClickedRow, action: RowAction) -> None:
        step = row.step
        match action:
            case RowAction.COPY:
                _copy(row.selected_text or self._plain_text(row))
            case RowAction.COPY_MARKDOWN:
                _copy(self._model.full_text(row.session, step))
            case RowAction.DETAILS:
                self.details_requested.emit()
            case RowAction.EDIT:
                self.edit_message()
            case RowAction.OTHER_MODEL:
                self.rerun_message()
            case RowAction.OPEN_FILE:
                self.file_requested.emit(step.object, 0)
            case RowAction.FIND_SIMILAR:
                self._find.open_with(step.object)
            case RowAction.FORK:
                self.fork.emit(step.last_seq)
            case RowAction.REPLAY:
                self.replay_requested.emit(step.row)
            case RowAction.REWIND:
                name = self.tr("after step {}").format(step.number) if step.number else self.tr("at this step")
                self.rewind_requested.emit(step.last_seq, name)

    def _plain_text(self, row: ClickedRow) -> str:
        """Return the text of a row without Markdown."""
        if row.reply:
            return row.reply.toPlainText()
        return self._model.text_of(row.position) if row.step.kind in TEXT_KINDS else row.step.object

    def _fork_at(self) -> int:
        """Return the sequence number of the last event to copy to a fork; 0 for all events."""
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
            self._interruption_bar.show_step(self._model.open_interruption())
        self._header.show_session(row, self._run_duration())
        is_active = row.status in ACTIVE_STATUSES
        self._minimap.show_rows(row.id, row.rows, in_progress=is_active)
        if not is_active:
            self._refresh_timer.stop()
        elif not self._refresh_timer.isActive():
            self._refresh_timer.start()

    def apply(self, changes: Sequence[Step]) -> None:
        """Apply new and changed steps.

        For a finished reply, call this before `end_draft`, so that it replaces the draft.
        """
        self._model.apply(changes)
        for step in changes:
            if step.kind == "interrupted":
                self._interruption_bar.show_step(step if step.status == "waiting" else None)

    def show_failed_request(self, error: ErrorDetails | None) -> None:
        """Show the error that paused the run; None hides it."""
        self._failed_bar.show_error(error)

    def share_pausing(self, sessions: set[str]) -> None:
        """Set the set of sessions that pause after their current turn, which the window keeps."""
        self._header.pausing = sessions

    def show_draft(self, text: str) -> None:
        """Show the text of a streaming reply that has arrived so far."""
        self._model.show_draft(text)

    def show_activity(self, activity: str) -> None:
        """Show what the provider does before it replies, such as loading a model."""
        self._model.show_activity(activity)

    def end_draft(self) -> None:
        self._model.end_draft()

    def select_row(self, row: int, session: str = "") -> None:
        """Select a row of this session, or of an expanded sub-agent's."""
        self._view.select_row(row, session)

    def run_of_row(self, row: int) -> int:
        """Return the number of the run to which a row belongs; for a negative `row`, that of the latest run."""
        step = self._model.step_of_row(row if row >= 0 else self._model.count - 1)
        return step.run if step else 0

    def run_to_show(self, number: int) -> ShownRun:
        """Return the data with which the waterfall chart shows a run."""
        messages = (step.object for step in self._model.opening(number) if step.kind == "user")
        return ShownRun(
            number=number,
            run_count=max(number, self._row.runs),
            rows=RowRange(self._model.first_row(number), self._model.first_row(number + 1)),
            task=visible(next(messages, "")),
        )

    def restyle(self, look: Look) -> None:
        for widget in (self._header, self._tabs, self._find, self._minimap):
            widget.restyle(look)
        self._view.restyle(look)
        self._interruption_bar.restyle(look)
        self._failed_bar.restyle(look)
        self._jump_button.restyle(look)

    def show_branch(self, folder: str, name: str) -> None:
        """Show the git branch of the session's folder."""
        self._header.show_branch(folder, name)
        self._header.show_facts(self._row, self._run_duration())

    def _run_duration(self) -> int:
        header = self._model.header(self._row.runs) if self._row.runs else None
        return self._model.duration_of(header) if header else 0

    def _refresh_figures(self) -> None:
        if self.isVisible():
            self._header.show_facts(self._row, self._run_duration())
            self._minimap.show_rows(self._row.id, self._row.rows, in_progress=True)

    def _show_new_count(self, rows: int) -> None:
        self._new_rows = rows
        self._jump_button.place(self._stack.geometry())
        self._jump_button.show_count(rows if self._stack.currentWidget() is self._view else 0)

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._find.set_icon_only(self.width() < self._header.look.size(NARROW_WIDTH))
        self._jump_button.place(self._stack.geometry())


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
