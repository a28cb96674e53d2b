"""The chosen step: what it did and why, its output, and its entries as they are stored."""

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
from ui.icons import pixmap, put_icon
from ui.looks import kind_look
from ui.theme import Look
from ui.timeline.changed import FILES, Changed, ChangedLines, PaneRows, changed_by, pictures_of
from ui.timeline.described import Described, describe
from ui.timeline.live import Live
from ui.timeline.output import FittedWords, OutputTab, WordsView
from ui.timeline.sent import SentTab, request_of
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.picture import PictureView
from ui.widgets.words import hairline, label, surface

WIDTH: Final = 384
NAME_WIDTH: Final = 92
BLOCK_LIMIT: Final = 4_000
HEAD_LINES: Final = 12
RAW_LIMIT: Final = 256 * 1024
PARTS: Final = ("summary", "output", "context", "raw")


class StepPane(QFrame):
    """`show_step` fills it; `folded` says that the person wants it out of the way."""

    folded = Signal()
    row_wanted = Signal(int)
    changes_wanted = Signal(str)
    child_wanted = Signal(str, str)
    """The session that gave work to a sub-agent, and the call with which it did."""

    def __init__(self, look: Look, rows: PaneRows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._rows = look, rows
        self._session, self._step = "", Step(0, "tool", "done", 0)
        self._request = 0
        self.live = Live()
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
        put_icon(self._fold, "panel-right-close", look.theme.second, look.size(16))
        self._fold.setToolTip(self.tr("Hide this pane (Q)"))
        self._fold.setAccessibleName(self.tr("Hide this pane"))
        self._fold.clicked.connect(self.folded)
        upper = QHBoxLayout()
        upper.setContentsMargins(16, 6, 10, 6)
        upper.setSpacing(10)
        for part in (self._icon, self._title, self._fold):
            upper.addWidget(part)
        self._tabs = QTabBar()
        self._tabs.setObjectName("step.tabs")
        self._tabs.setAccessibleName(self.tr("Parts of the step"))
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
        self._raw = WordsView(look, "step.raw")
        self._raw.setAccessibleName(self.tr("Entries of the journal"))
        self._stack = QStackedWidget()
        around_raw = QWidget()
        raw = QVBoxLayout(around_raw)
        raw.setContentsMargins(16, 14, 8, 12)
        raw.addWidget(self._raw)
        self.sent = SentTab(look)
        self.sent.item_chosen.connect(self._go_to)
        for page in (self._summary, self._output, self.sent, around_raw):
            self._stack.addWidget(page)
        self._tabs.currentChanged.connect(self._show_tab)
        tabs = QHBoxLayout()
        tabs.setContentsMargins(8, 0, 8, 0)
        tabs.addWidget(self._tabs, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for row in (upper, tabs):
            layout.addLayout(row)
            layout.addWidget(hairline())
        layout.addWidget(self._stack, 1)

    def show_step(self, session: str, step: Step) -> None:
        """Show a step; the open tab stays open."""
        self._session, self._step = session, step
        look = kind_look(step.kind)
        colour = self._look.theme.colour(look.token)
        self._icon.setPixmap(pixmap(look.icon, colour, self._look.size(16), self.devicePixelRatioF()))
        told = describe(self._rows, session, step, max(0, step.ended - step.began))
        self._title.show_text(visible(told.title))
        head = self._output.show_source(session, told.output) or self._tail()
        self._raw.show_words(told.raw[:RAW_LIMIT])
        self._request = request_of(self._rows, session, step)
        self._show_tabs(output=told.output is not None, context=self._request > 0, raw=True)
        self._show_summary(self._summarise(told, head))
        self._show_tab(self._tabs.currentIndex())

    @property
    def session(self) -> str:
        """The session of the step that is shown; empty where none is."""
        return self._session

    def parts(self) -> list[str]:
        """The parts there are of this step besides the summary."""
        return [name for tab, name in enumerate(PARTS) if tab and self._tabs.isTabVisible(tab)]

    def show_part(self, name: str) -> None:
        self._tabs.setCurrentIndex(PARTS.index(name))

    def _show_tab(self, tab: int) -> None:
        """What the model was sent is read only where it is looked at."""
        self._stack.setCurrentIndex(tab)
        if PARTS[tab] == "context" and self._session and self._request:
            self.sent.ask(self._session, self._request)

    def _go_to(self, seq: int) -> None:
        row = self._rows.row_of(self._session, seq)
        if row is not None:
            self.row_wanted.emit(row)

    def show_live(self) -> None:
        """The running command has printed more."""
        if not (tail := self._tail()):
            return
        shown = self._summary.findChild(FittedWords, "step.head")
        if shown is None:
            self.show_step(self._session, self._step)
        else:
            shown.show_words(tail)
            shown.fit()

    def _tail(self) -> str:
        going = self._session and self._step.status == "running"
        return self.live.tail(self._session, self._step.key) if going else ""

    def update_step(self, step: Step) -> None:
        """The step that is shown has changed."""
        if self._session and step.row == self._step.row:
            self.show_step(self._session, step)

    def clear(self) -> None:
        """No step is chosen."""
        self._session = ""
        self._icon.clear()
        self._title.show_text(self.tr("No step chosen"))
        self._show_tabs(output=False, context=False, raw=False)
        self.sent.forget()
        self._tabs.setCurrentIndex(0)
        hint = self.tr("Choose a row to see what was done, why, and what came of it.")
        page, layout = self._page()
        layout.addWidget(label(hint, self._look.fonts.second, "second", wrap=True))
        layout.addStretch(1)
        self._show_summary(page)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.bold)
        self._tabs.setFont(look.fonts.strong)
        put_icon(self._fold, "panel-right-close", look.theme.second, look.size(16))
        self._output.restyle(look)
        self.sent.restyle(look)
        self._raw.setFont(look.fonts.mono)
        if self._session:
            self.show_step(self._session, self._step)
        else:
            self.clear()

    # parts of the summary

    def _summarise(self, told: Described, head: str) -> QWidget:
        page, layout = self._page()
        if told.block:
            layout.addWidget(self._well(told.block[:BLOCK_LIMIT], "step.block", self.tr("What was done")))
            layout.addWidget(hairline())
        facts = QFormLayout()
        facts.setHorizontalSpacing(8)
        facts.setVerticalSpacing(5)
        facts.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for name, said in told.facts:
            caption = label(name, self._look.fonts.second, "second")
            caption.setFixedWidth(self._look.size(NAME_WIDTH))
            caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            facts.addRow(caption, self._words(said, name))
        layout.addLayout(facts)
        if self._step.kind == "delegate":
            watch = Button(self._look, self.tr("Watch it beside"), name="step.child", icon="columns-2")
            watch.clicked.connect(lambda: self.child_wanted.emit(self._session, self._step.key))
            layout.addWidget(watch, 0, Qt.AlignmentFlag.AlignLeft)
        self._add_pictures(layout)
        for changed in changed_by(self._rows, self._session, self._step)[:FILES]:
            self._add_changed(layout, changed)
        if head.strip():
            layout.addWidget(hairline())
            layout.addWidget(label(self.tr("Output"), self._look.fonts.label, "second"))
            lines = head.rstrip("\n").split("\n")
            shown = "\n".join(lines[:HEAD_LINES])[:BLOCK_LIMIT]
            more = len(lines) > HEAD_LINES or len(shown) < len("\n".join(lines[:HEAD_LINES]))
            layout.addWidget(self._well(shown + ("\n…" if more else ""), "step.head", self.tr("Output")))
        layout.addStretch(1)
        return page

    def _add_pictures(self, layout: QVBoxLayout) -> None:
        """What came along with a message or a result, to look at."""
        for seen in pictures_of(self._rows, self._session, self._step):
            view = PictureView(self._look, seen.body, visible(seen.name))
            if view.can_show():
                layout.addWidget(view)

    def _add_changed(self, layout: QVBoxLayout, changed: Changed) -> None:
        """The beginning of a difference, and the way to all of it."""
        look = self._look
        layout.addWidget(hairline())
        figures = " ".join(f"{sign}{count}" for sign, count in (("+", changed.added), ("−", changed.removed)) if count)
        upper = QHBoxLayout()
        upper.addWidget(ElidedLabel(visible(changed.path), look.fonts.mono, name="step.changed.path"), 1)
        upper.addWidget(label(figures, look.fonts.caption, "second"))
        layout.addLayout(upper)
        if changed.picture:
            layout.addWidget(PictureView(look, changed.picture, ""))
        if changed.found is not None and changed.found.blocks:
            frame = surface("well")
            inside = QVBoxLayout(frame)
            inside.setContentsMargins(6, 6, 6, 6)
            inside.addWidget(ChangedLines(look, changed.found, "step.changed.lines"))
            layout.addWidget(frame)
        more = Button(look, self.tr("Show in Changes"), name="step.changed.all", tone="quiet", icon="file-pen-line")
        more.clicked.connect(lambda _=False, path=changed.path: self.changes_wanted.emit(path))
        layout.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _show_tabs(self, *, output: bool, context: bool, raw: bool) -> None:
        for tab, wanted in enumerate((output, context, raw), 1):
            # Telling Qt what it knows makes it forget to lay the tabs out.
            if self._tabs.isTabVisible(tab) != wanted:
                self._tabs.setTabVisible(tab, wanted)

    def _show_summary(self, page: QWidget) -> None:
        self._summary.setWidget(page)
        page.setAutoFillBackground(False)  # the scroll area fills it with another ground than the pane's

    def _page(self) -> tuple[QWidget, QVBoxLayout]:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(12)
        return page, layout

    def _well(self, text: str, name: str, heard: str) -> QFrame:
        frame = surface("well")
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(10, 8, 10, 8)
        said = FittedWords(self._look, text, name)
        said.setAccessibleName(heard)
        layout.addWidget(said)
        return frame

    def _words(self, text: str, heard: str) -> FittedWords:
        said = FittedWords(self._look, text)
        said.setAccessibleName(heard)
        said.setFont(self._look.fonts.second)
        return said

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Q and not event.modifiers():
            self.folded.emit()
        else:
            super().keyPressEvent(event)
