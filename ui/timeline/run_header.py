"""The header of the run page: title, status, facts such as folder and cost, and the actions of the run."""

from typing import Final, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from ui.base.pausing import PAUSING, displayed_status
from ui.style.icons import set_icon
from ui.style.theme import Look
from ui.text.visible import visible
from ui.timeline.header_facts import FactLine, header_facts
from ui.timeline.status_pill import StatusPill
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import hairline
from ui.widgets.tool_button import tool_button

HALTED_STATUSES: Final = frozenset({"stopped", "paused"})
NARROW_WIDTH: Final = 520


class _Progress(NamedTuple):
    """The progress of a session when it was last shown; if it has changed, the git branch may have changed too."""

    session: str = ""
    turns: int = 0
    status: str = ""


class RunHeader(QWidget):
    """Shows the title, status and usage of a session, and buttons to fork, compare, export, pause, resume and stop."""

    stop = Signal()
    pause = Signal()
    resume = Signal()
    fork = Signal()
    compare = Signal()
    export = Signal()
    branch_requested = Signal(str)
    """The folder whose git branch should be read again."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._branch = ""
        self._folder = ""
        self._shown = _Progress()
        self.pausing: set[str] = set()  # active sessions that pause after their current turn
        self._title = ElidedLabel("", look.fonts.title, name="run.title")
        self._title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._pill = StatusPill(look)
        self._facts = FactLine(look)
        fork_tooltip = self.tr("Fork: start a new session from the selected step")
        self._fork = tool_button("run.fork", self.tr("Fork at the selected step"), fork_tooltip)
        self._fork.clicked.connect(self.fork)
        self._compare = tool_button("run.compare", self.tr("Compare with another session"))
        self._compare.clicked.connect(self.compare)
        export_tooltip = self.tr("Export this session (Ctrl+Shift+X)")
        self._export = tool_button("run.export", self.tr("Export this session"), export_tooltip)
        self._export.clicked.connect(self.export)
        self._pause = Button(look, self.tr("Pause"), name="run.pause", icon="pause")
        self._pause.clicked.connect(self.pause)
        self._resume = Button(look, self.tr("Resume"), name="run.resume", icon="play")
        self._resume.setToolTip(self.tr("Resume this run"))
        self._resume.clicked.connect(self.resume)
        self._stop = Button(look, self.tr("Stop"), name="run.stop", tone="stop", icon="square")
        self._stop.setToolTip(self.tr("Stop this run (Ctrl+.)"))
        self._stop.clicked.connect(self.stop)
        self._buttons = (self._pause, self._resume, self._stop)
        self._lay_out()
        self.restyle(look)

    def _lay_out(self) -> None:
        title_row = QHBoxLayout()
        title_row.setSpacing(10)
        title_row.addWidget(self._title)
        title_row.addWidget(self._pill)
        title_row.addStretch(1)
        for widget in (self._fork, self._compare, self._export, *self._buttons):
            title_row.addWidget(widget)
        for button in self._buttons:
            button.hide()
        header_layout = QVBoxLayout()
        header_layout.setContentsMargins(20, 11, 20, 9)
        header_layout.setSpacing(3)
        header_layout.addLayout(title_row)
        header_layout.addWidget(self._facts)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(header_layout)
        layout.addWidget(hairline())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def look(self) -> Look:
        return self._look

    def show_branch(self, folder: str, name: str) -> None:
        """Set the git branch of the session's folder; it becomes visible with the next `show_facts`."""
        if folder == self._folder:
            self._branch = name

    def _show_pausing(self) -> None:
        pausing = self._shown.session in self.pausing
        self._pause.setText(self.tr("Pausing…") if pausing else self.tr("Pause"))
        self._pause.setToolTip(
            self.tr("The run pauses after this turn") if pausing else self.tr("Pause after this turn (Ctrl+Shift+P)")
        )
        self._pause.setEnabled(not pausing)

    def show_session(self, row: SessionRow, duration_us: int) -> None:
        if row.folder != self._folder:
            self._folder, self._branch = row.folder, ""
        self._title.show_text(visible(row.title))
        self._pill.show_status(displayed_status(row))
        self._stop.setVisible(row.status in ACTIVE_STATUSES or row.status == "paused")
        self._pause.setVisible(row.status == "running" or row.id in self.pausing)
        self._resume.setVisible(row.status == "paused")
        self.show_facts(row, duration_us)
        before = self._shown
        self._shown = _Progress(row.id, row.turns, displayed_status(row))
        self._show_pausing()
        last_status = before.status if before.session == row.id else ""
        if last_status == "running" and self._shown.status == PAUSING:
            announce(self._pause, self._pause.toolTip())
        if last_status in {*ACTIVE_STATUSES, PAUSING} and row.status in HALTED_STATUSES:
            # Because the user stopped or paused the run here; other ends are announced by the window.
            announce(self, self._pill.accessibleName())
        if self._shown != before:
            self.branch_requested.emit(row.folder)

    def show_facts(self, row: SessionRow, duration_us: int) -> None:
        self._facts.show_facts(header_facts(row, duration_us, self._branch))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._pill.set_icon_only(self.width() < self._look.size(NARROW_WIDTH))

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._pill.restyle(look)
        self._facts.restyle(look)
        for tool, name in ((self._fork, "git-fork"), (self._compare, "columns-2"), (self._export, "download")):
            set_icon(tool, name, look.theme.second, look.size(16))
        for button in self._buttons:
            button.restyle(look)
        # So that the header does not become lower when no button is visible.
        self._title.setMinimumHeight(self._stop.sizeHint().height())
