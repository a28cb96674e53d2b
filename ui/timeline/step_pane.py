"""The step pane: summary, output, context and raw events of the selected step."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import kind_style
from ui.style.icons import pixmap, set_icon
from ui.style.theme import Look
from ui.text.visible import visible
from ui.timeline.context_tab import ContextTab, find_request
from ui.timeline.live_output import LiveOutput
from ui.timeline.output_tab import OutputTab, TextView
from ui.timeline.step_changes import StepPaneSource
from ui.timeline.step_details import describe_step
from ui.timeline.summary_tab import SummaryTab
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import hairline
from ui.widgets.tool_button import tool_button

RAW_LIMIT: Final = 256 * 1024
SUMMARY: Final = "summary"
OUTPUT: Final = "output"
CONTEXT: Final = "context"
RAW: Final = "raw"


class StepPane(QFrame):
    """Shows a step; emits `hide_requested` when the user hides the pane."""

    hide_requested = Signal()
    shown = Signal()
    """The pane has become visible; it was not updated while it was hidden."""
    row_requested = Signal(int)
    changes_requested = Signal(str)
    sub_agent_requested = Signal(str, str)
    """The session that delegated to a sub-agent, and the id of its tool call."""

    def __init__(self, look: Look, rows: StepPaneSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._rows = rows
        self._session = ""
        self._step = Step(0, "tool", "done", 0)
        self._request = 0
        self._covers_steps = False
        self._tab_names: list[str] = []  # names of the tabs from left to right
        self.live_output = LiveOutput()
        self.setObjectName("step")
        self.setAccessibleName(self.tr("Step details"))
        self.setProperty("surface", "panel")
        self.setMinimumWidth(280)
        self._build()
        self.clear()

    def _build(self) -> None:
        self._tabs = QTabBar()
        self._tabs.setObjectName("step.tabs")
        self._tabs.setAccessibleName(self.tr("Step details"))
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        self._tabs.setUsesScrollButtons(False)
        self._tabs.setFont(self._look.fonts.strong)
        self._stack = QStackedWidget()
        self._summary = SummaryTab(self._look, self._rows)
        self._summary.changes_requested.connect(self.changes_requested)
        self._summary.sub_agent_requested.connect(self.sub_agent_requested)
        self._output = OutputTab(self._look, self._rows)
        self.context_tab = ContextTab(self._look)
        self.context_tab.item_chosen.connect(self._request_row_of)
        self._add_tab(SUMMARY, self.tr("Summary"), self._summary)
        self._add_tab(OUTPUT, self.tr("Output"), self._output)
        self._add_tab(CONTEXT, self.tr("Context"), self.context_tab)
        self._add_tab(RAW, self.tr("Raw"), self._create_raw_page())
        self._tabs.currentChanged.connect(self._show_tab)
        tab_row = QHBoxLayout()
        tab_row.setContentsMargins(8, 0, 8, 0)
        tab_row.addWidget(self._tabs, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for row in (self._create_title_row(), tab_row):
            layout.addLayout(row)
            layout.addWidget(hairline())
        layout.addWidget(self._stack, 1)

    def _create_title_row(self) -> QHBoxLayout:
        self._icon = QLabel()
        self._title = ElidedLabel("", self._look.fonts.bold, name="step.title")
        self._leave_button = tool_button("step.fold", "", "")
        self.show_way_back(False)
        self._leave_button.clicked.connect(self.hide_requested)
        row = QHBoxLayout()
        row.setContentsMargins(16, 6, 10, 6)
        row.setSpacing(10)
        for widget in (self._icon, self._title, self._leave_button):
            row.addWidget(widget)
        return row

    def _create_raw_page(self) -> QWidget:
        self._raw = TextView(self._look, "step.raw")
        self._raw.setAccessibleName(self.tr("Events as JSON"))
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 8, 12)
        layout.addWidget(self._raw)
        return page

    def _add_tab(self, name: str, title: str, page: QWidget) -> None:
        self._tab_names.append(name)
        self._tabs.addTab(title)
        self._stack.addWidget(page)

    def show_way_back(self, covers_steps: bool) -> None:
        """Set whether the pane covers the steps: the button at the top goes back to them, and else hides the pane."""
        self._covers_steps = covers_steps
        name, tooltip, icon = self.tr("Hide this pane"), self.tr("{} (Q)"), "panel-right-close"
        if covers_steps:
            name, tooltip, icon = self.tr("Back to the steps"), self.tr("{} (Esc or Q)"), "chevron-left"
        self._leave_button.setAccessibleName(name)
        self._leave_button.setToolTip(tooltip.format(name))
        set_icon(self._leave_button, icon, self._look.theme.second, self._look.size(16))

    def show_step(self, session: str, step: Step) -> None:
        """Show a step in the current tab."""
        self._session, self._step = session, step
        look = kind_style(step.kind)
        color = self._look.theme.color(look.token)
        self._icon.setPixmap(pixmap(look.icon, color, self._look.size(16), self.devicePixelRatioF()))
        details = describe_step(self._rows, session, step, max(0, step.ended_at - step.started_at))
        self._title.show_text(visible(details.title))
        head = self._output.show_source(session, details.output_source) or self._output_tail()
        self._raw.show_text(details.events_json[:RAW_LIMIT])
        self._request = find_request(self._rows, session, step)
        self._set_tab_visible(OUTPUT, details.output_source is not None)
        self._set_tab_visible(CONTEXT, self._request > 0)
        self._set_tab_visible(RAW, True)
        self._summary.show_step(session, step, details, head)
        self._show_tab(self._tabs.currentIndex())

    @property
    def session(self) -> str:
        """The session of the step shown; empty if none is shown."""
        return self._session

    def visible_tabs(self) -> list[str]:
        """Return the names of the tabs that the step shown has in addition to the summary."""
        return [name for tab, name in enumerate(self._tab_names) if name != SUMMARY and self._tabs.isTabVisible(tab)]

    def show_tab(self, name: str) -> None:
        self._tabs.setCurrentIndex(self._tab_names.index(name))

    def _show_tab(self, tab: int) -> None:
        """Show a tab. The context is loaded only when its tab is shown."""
        self._stack.setCurrentIndex(tab)
        if self._tab_names[tab] == CONTEXT and self._session and self._request:
            self.context_tab.load(self._session, self._request)

    def _request_row_of(self, seq: int) -> None:
        row = self._rows.row_of(self._session, seq)
        if row is not None:
            self.row_requested.emit(row)

    def show_live(self) -> None:
        """Refresh the output of a running call."""
        tail = self._output_tail()
        if tail and not self._summary.update_output(tail):
            self.show_step(self._session, self._step)

    def _output_tail(self) -> str:
        running = self._session and self._step.status == "running"
        return self.live_output.output_tail(self._session, self._step.key) if running else ""

    def update_step(self, step: Step) -> None:
        """Refresh the pane if it shows this step."""
        if self._session and step.row == self._step.row:
            self.show_step(self._session, step)

    def clear(self) -> None:
        """Show a hint in place of a step, because no step is selected."""
        self._session = ""
        self._icon.clear()
        self._title.show_text(self.tr("No step selected"))
        for name in (OUTPUT, CONTEXT, RAW):
            self._set_tab_visible(name, False)
        self.context_tab.clear()
        self.show_tab(SUMMARY)
        self._summary.show_placeholder()

    def _set_tab_visible(self, name: str, visible: bool) -> None:
        tab = self._tab_names.index(name)
        # Setting an unchanged visibility would make Qt skip the layout of the tabs.
        if self._tabs.isTabVisible(tab) != visible:
            self._tabs.setTabVisible(tab, visible)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.bold)
        self._tabs.setFont(look.fonts.strong)
        self.show_way_back(self._covers_steps)
        self._summary.restyle(look)
        self._output.restyle(look)
        self.context_tab.restyle(look)
        self._raw.setFont(look.fonts.mono)
        if self._session:
            self.show_step(self._session, self._step)
        else:
            self.clear()

    # Overridden Qt methods

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        closes = event.key() == Qt.Key.Key_Q or (event.key() == Qt.Key.Key_Escape and self._covers_steps)
        if closes and not event.modifiers():
            self.hide_requested.emit()
        else:
            super().keyPressEvent(event)
