"""The step pane: summary, output, context and raw events of the selected step."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.domain.steps import Step
from ui.base.step_presentation import kind_style
from ui.style.icons import pixmap, set_icon
from ui.style.theme import Look
from ui.text.visible import visible
from ui.timeline.context_tab import ContextTab, find_request
from ui.timeline.live_output import LiveOutput
from ui.timeline.output_tab import FittedTextView, OutputTab, TextView
from ui.timeline.step_changes import (
    MAX_FILES,
    DiffPreview,
    StepFileChange,
    StepPaneSource,
    attached_images,
    file_changes_of,
)
from ui.timeline.step_details import StepDetails, describe_step
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.image_view import ImageView
from ui.widgets.labels import hairline, label, styled_frame

WIDTH: Final = 384
NAME_WIDTH: Final = 92
TEXT_LIMIT: Final = 4_000
HEAD_LINES: Final = 12
RAW_LIMIT: Final = 256 * 1024
TABS: Final = ("summary", "output", "context", "raw")


class StepPane(QFrame):
    """Shows the step passed to `show_step`; emits `hide_requested` if the user hides the pane."""

    hide_requested = Signal()
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
        self.live_output = LiveOutput()
        self.setObjectName("step")
        self.setProperty("surface", "panel")
        self.setMinimumWidth(280)
        self._build()
        self.clear()

    def _build(self) -> None:
        look = self._look
        self._icon = QLabel()
        self._title = ElidedLabel("", look.fonts.bold, name="step.title")
        self._fold = QToolButton()
        self._fold.setObjectName("step.fold")
        set_icon(self._fold, "panel-right-close", look.theme.second, look.size(16))
        self._fold.setToolTip(self.tr("Hide this pane (Q)"))
        self._fold.setAccessibleName(self.tr("Hide this pane"))
        self._fold.clicked.connect(self.hide_requested)
        title_row = QHBoxLayout()
        title_row.setContentsMargins(16, 6, 10, 6)
        title_row.setSpacing(10)
        for widget in (self._icon, self._title, self._fold):
            title_row.addWidget(widget)
        self._tabs = QTabBar()
        self._tabs.setObjectName("step.tabs")
        self._tabs.setAccessibleName(self.tr("Step details"))
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        self._tabs.setUsesScrollButtons(False)
        self._tabs.setFont(look.fonts.strong)
        for name in (self.tr("Summary"), self.tr("Output"), self.tr("Context"), self.tr("Raw")):
            self._tabs.addTab(name)
        self._summary = QScrollArea()
        self._summary.setObjectName("step.summary")
        self._summary.setAccessibleName(self.tr("Summary"))
        self._summary.setWidgetResizable(True)
        self._summary.setFrameShape(QFrame.Shape.NoFrame)
        self._summary.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._output = OutputTab(look, self._rows)
        self._raw = TextView(look, "step.raw")
        self._raw.setAccessibleName(self.tr("Events as JSON"))
        self._stack = QStackedWidget()
        raw_page = QWidget()
        raw_layout = QVBoxLayout(raw_page)
        raw_layout.setContentsMargins(16, 14, 8, 12)
        raw_layout.addWidget(self._raw)
        self.context_tab = ContextTab(look)
        self.context_tab.item_chosen.connect(self._go_to)
        for page in (self._summary, self._output, self.context_tab, raw_page):
            self._stack.addWidget(page)
        self._tabs.currentChanged.connect(self._show_tab)
        tabs = QHBoxLayout()
        tabs.setContentsMargins(8, 0, 8, 0)
        tabs.addWidget(self._tabs, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for row in (title_row, tabs):
            layout.addLayout(row)
            layout.addWidget(hairline())
        layout.addWidget(self._stack, 1)

    def show_step(self, session: str, step: Step) -> None:
        """Show a step; the current tab is kept."""
        self._session, self._step = session, step
        look = kind_style(step.kind)
        color = self._look.theme.color(look.token)
        self._icon.setPixmap(pixmap(look.icon, color, self._look.size(16), self.devicePixelRatioF()))
        details = describe_step(self._rows, session, step, max(0, step.ended_at - step.started_at))
        self._title.show_text(visible(details.title))
        head = self._output.show_source(session, details.output_source) or self._output_tail()
        self._raw.show_text(details.events_json[:RAW_LIMIT])
        self._request = find_request(self._rows, session, step)
        self._show_tabs(output=details.output_source is not None, context=self._request > 0, raw=True)
        self._show_summary(self._build_summary(details, head))
        self._show_tab(self._tabs.currentIndex())

    @property
    def session(self) -> str:
        """The session of the step shown; empty if none is shown."""
        return self._session

    def visible_tabs(self) -> list[str]:
        """Return the names of the tabs that this step has besides the summary."""
        return [name for tab, name in enumerate(TABS) if tab and self._tabs.isTabVisible(tab)]

    def show_tab(self, name: str) -> None:
        self._tabs.setCurrentIndex(TABS.index(name))

    def _show_tab(self, tab: int) -> None:
        """Show a tab; the context is loaded only when its tab is shown."""
        self._stack.setCurrentIndex(tab)
        if TABS[tab] == "context" and self._session and self._request:
            self.context_tab.load(self._session, self._request)

    def _go_to(self, seq: int) -> None:
        row = self._rows.row_of(self._session, seq)
        if row is not None:
            self.row_requested.emit(row)

    def show_live(self) -> None:
        """Refresh the output of a running call."""
        if not (tail := self._output_tail()):
            return
        output_view = self._summary.findChild(FittedTextView, "step.head")
        if output_view is None:
            self.show_step(self._session, self._step)
        else:
            output_view.show_text(tail)
            output_view.fit_height()

    def _output_tail(self) -> str:
        running = self._session and self._step.status == "running"
        return self.live_output.output_tail(self._session, self._step.key) if running else ""

    def update_step(self, step: Step) -> None:
        """Refresh the pane if this is the step shown."""
        if self._session and step.row == self._step.row:
            self.show_step(self._session, step)

    def clear(self) -> None:
        """Show the placeholder for no selection."""
        self._session = ""
        self._icon.clear()
        self._title.show_text(self.tr("No step selected"))
        self._show_tabs(output=False, context=False, raw=False)
        self.context_tab.clear()
        self._tabs.setCurrentIndex(0)
        hint = self.tr("Select a step to see what was done, why, and the result.")
        page, layout = self._page()
        layout.addWidget(label(hint, self._look.fonts.second, "second", wrap=True))
        layout.addStretch(1)
        self._show_summary(page)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.bold)
        self._tabs.setFont(look.fonts.strong)
        set_icon(self._fold, "panel-right-close", look.theme.second, look.size(16))
        self._output.restyle(look)
        self.context_tab.restyle(look)
        self._raw.setFont(look.fonts.mono)
        if self._session:
            self.show_step(self._session, self._step)
        else:
            self.clear()

    # parts of the summary

    def _build_summary(self, details: StepDetails, head: str) -> QWidget:
        page, layout = self._page()
        if details.full_object:
            layout.addWidget(self._well(details.full_object[:TEXT_LIMIT], "step.block", self.tr("What was done")))
            layout.addWidget(hairline())
        facts = QFormLayout()
        facts.setHorizontalSpacing(8)
        facts.setVerticalSpacing(5)
        facts.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for name, value in details.facts:
            caption = label(name, self._look.fonts.second, "second")
            caption.setFixedWidth(self._look.size(NAME_WIDTH))
            caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            facts.addRow(caption, self._create_text_view(value, name))
        layout.addLayout(facts)
        if self._step.kind == "delegate":
            open_child = Button(self._look, self.tr("Open in split view"), name="step.child", icon="columns-2")
            open_child.clicked.connect(lambda: self.sub_agent_requested.emit(self._session, self._step.key))
            layout.addWidget(open_child, 0, Qt.AlignmentFlag.AlignLeft)
        self._add_pictures(layout)
        for changed in file_changes_of(self._rows, self._session, self._step)[:MAX_FILES]:
            self._add_changed(layout, changed)
        if head.strip():
            layout.addWidget(hairline())
            layout.addWidget(label(self.tr("Output"), self._look.fonts.label, "second"))
            lines = head.rstrip("\n").split("\n")
            output_text = "\n".join(lines[:HEAD_LINES])[:TEXT_LIMIT]
            more = len(lines) > HEAD_LINES or len(output_text) < len("\n".join(lines[:HEAD_LINES]))
            layout.addWidget(self._well(output_text + ("\n…" if more else ""), "step.head", self.tr("Output")))
        layout.addStretch(1)
        return page

    def _add_pictures(self, layout: QVBoxLayout) -> None:
        """Add the images attached to a message or a result."""
        for image in attached_images(self._rows, self._session, self._step):
            view = ImageView(self._look, image.data, visible(image.name))
            if view.is_valid():
                layout.addWidget(view)

    def _add_changed(self, layout: QVBoxLayout, changed: StepFileChange) -> None:
        """Add a preview of a changed file and a button to see all changes."""
        look = self._look
        layout.addWidget(hairline())
        figures = " ".join(f"{sign}{count}" for sign, count in (("+", changed.added), ("−", changed.removed)) if count)
        file_row = QHBoxLayout()
        file_row.addWidget(ElidedLabel(visible(changed.path), look.fonts.mono, name="step.changed.path"), 1)
        file_row.addWidget(label(figures, look.fonts.caption, "second"))
        layout.addLayout(file_row)
        if changed.image:
            layout.addWidget(ImageView(look, changed.image, ""))
        if changed.diff is not None and changed.diff.blocks:
            frame = styled_frame("well")
            frame_layout = QVBoxLayout(frame)
            frame_layout.setContentsMargins(6, 6, 6, 6)
            frame_layout.addWidget(DiffPreview(look, changed.diff, "step.changed.lines"))
            layout.addWidget(frame)
        more = Button(look, self.tr("Show in Changes"), name="step.changed.all", tone="quiet", icon="file-pen-line")
        more.clicked.connect(lambda _=False, path=changed.path: self.changes_requested.emit(path))
        layout.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _show_tabs(self, *, output: bool, context: bool, raw: bool) -> None:
        for tab, tab_visible in enumerate((output, context, raw), 1):
            # Skip unchanged visibility: setting it again makes Qt skip the layout of the tabs.
            if self._tabs.isTabVisible(tab) != tab_visible:
                self._tabs.setTabVisible(tab, tab_visible)

    def _show_summary(self, page: QWidget) -> None:
        self._summary.setWidget(page)
        page.setAutoFillBackground(False)  # the scroll area would fill it with a background other than the pane's

    def _page(self) -> tuple[QWidget, QVBoxLayout]:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(12)
        return page, layout

    def _well(self, text: str, name: str, accessible_name: str) -> QFrame:
        frame = styled_frame("well")
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(10, 8, 10, 8)
        view = FittedTextView(self._look, text, name)
        view.setAccessibleName(accessible_name)
        layout.addWidget(view)
        return frame

    def _create_text_view(self, text: str, accessible_name: str) -> FittedTextView:
        view = FittedTextView(self._look, text)
        view.setAccessibleName(accessible_name)
        view.setFont(self._look.fonts.second)
        return view

    # Qt overrides

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Q and not event.modifiers():
            self.hide_requested.emit()
        else:
            super().keyPressEvent(event)
