"""The header of the run page: title, status, facts such as folder and cost, and the actions of the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from ui.base.step_presentation import status_style, translate
from ui.style.icons import pixmap, set_icon
from ui.style.number_formats import amount, duration, money, short_folder
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import hairline
from ui.widgets.themed_widget import ThemedWidget
from ui.widgets.tooltip import tooltip_text

ACTIVE_STATUSES: Final = frozenset({"running", "waiting"})
HALTED_STATUSES: Final = frozenset({"stopped", "paused"})
ICON: Final = 14
GAP: Final = 16
NARROW_WIDTH: Final = 520
MIN_FOLDER_WIDTH: Final = 110  # pixels; if the folder gets less, other facts are left out
DROP_ORDER: Final = ("footprints", "git-branch", "coins", "cpu")


class HeaderFact(NamedTuple):
    icon: str
    text: str


def header_facts(row: SessionRow, duration_us: int, branch: str = "") -> list[HeaderFact]:
    """Return the facts shown below the title; `lasted` is the duration in microseconds."""
    if row.status in ACTIVE_STATUSES and row.max_turns:
        turns = f"{translate('turn')} {row.turns} {translate('of')} {row.max_turns}"
    else:
        turns = f"{row.turns} {translate('turn' if row.turns == 1 else 'turns')}" if row.turns else ""
    spent = f"{amount(row.tokens)} {translate('tok')}" if row.tokens else ""
    if spent and row.cost:
        spent += f" · {money(row.cost)}"
    facts = [
        HeaderFact("folder", visible(short_folder(row.folder, str(Path.home())))),
        HeaderFact("git-branch", visible(branch)),
        HeaderFact("cpu", visible(row.model)),
        HeaderFact("timer", duration(duration_us)),
        HeaderFact("footprints", turns),
        HeaderFact("coins", spent),
    ]
    return [fact for fact in facts if fact.text]


class FactLine(ThemedWidget):
    """A line of icons with text; the tooltip shows all facts, even those left out for lack of space."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._facts: list[HeaderFact] = []
        self.setObjectName("run.facts")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_facts(self, facts: list[HeaderFact]) -> None:
        if facts != self._facts:
            self._facts = facts
            self.setAccessibleName(", ".join(fact.text for fact in facts))
            self.setToolTip(tooltip_text(" · ".join(fact.text for fact in facts)))
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._look.fonts.second).height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        with QPainter(self) as painter:
            metrics, icon_size = QFontMetrics(look.fonts.second), look.size(ICON)
            painter.setFont(look.fonts.second)
            fitting = self.fit_facts(lambda fact: metrics.horizontalAdvance(fact.text) + icon_size + 6)
            x = 0
            for fact, fact_width in fitting:
                picture = pixmap(fact.icon, look.theme.third, icon_size, self.devicePixelRatioF())
                painter.drawPixmap(x, (self.height() - icon_size) // 2, picture)
                text = metrics.elidedText(fact.text, Qt.TextElideMode.ElideMiddle, fact_width - icon_size - 5)
                painter.setPen(look.theme.second)
                painter.drawText(x + icon_size + 6, (self.height() + metrics.ascent() - metrics.descent()) // 2, text)
                x += fact_width + GAP

    def fit_facts(self, width_of: Callable[[HeaderFact], int]) -> list[tuple[HeaderFact, int]]:
        """Return the facts that fit, with their widths.

        If space is short, the provider is dropped from the model name, then facts are left out in the order of
        `DROP_ORDER`, and finally the folder is elided.
        """
        facts, available_width = list(self._facts), self.width()
        min_width = self._look.size(MIN_FOLDER_WIDTH)

        def overflow() -> int:
            widths = [width_of(fact) for fact in facts]
            return sum(widths) + GAP * (len(widths) - 1) - available_width

        if overflow() > 0:
            facts = [fact._replace(text=fact.text.rpartition("/")[2]) if fact.icon == "cpu" else fact for fact in facts]
        for name in DROP_ORDER:
            folder_width = width_of(facts[0]) if facts else 0
            if overflow() - max(0, folder_width - min_width) > 0:
                facts = [fact for fact in facts if fact.icon != name]
        excess = max(0, overflow())
        return [(fact, width_of(fact) - (0 if index else excess)) for index, fact in enumerate(facts)]


class StatusPill(ThemedWidget):
    """The status of the session as a pill with an icon and a label."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._status = "done"
        self._short = False
        self.setObjectName("run.status")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_icon_only(self, short: bool) -> None:
        """Show only the icon, for narrow windows."""
        if short != self._short:
            self._short = short
            self.updateGeometry()
            self.update()

    def show_status(self, status: str) -> None:
        self._status = status
        self.setToolTip(self._word())
        self.setAccessibleName(self._word())
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._look.fonts.second)
        word = 0 if self._short else metrics.horizontalAdvance(self._word()) + 6
        return QSize(word + self._look.size(ICON) + 16, metrics.height() + 7)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, side = self._look.theme, self._look.size(ICON)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            look = status_style(self._status)
            color = theme.color(look.token)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(color, theme.background, 0.18 if theme.dark else 0.14))
            painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
            picture = pixmap(look.icon, color, side, self.devicePixelRatioF())
            painter.drawPixmap(8, (self.height() - side) // 2, picture)
            if self._short:
                return
            painter.setFont(self._look.fonts.second)
            painter.setPen(color)
            rect = self.rect().adjusted(8 + side + 5, 0, 0, 0)
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._word())

    def _word(self) -> str:
        return translate(status_style(self._status).label)


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
        self._branch_key: tuple[str, int, str] = ("", 0, "")
        self._title = ElidedLabel("", look.fonts.title, name="run.title")
        self._title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._pill = StatusPill(look)
        self._shown_status = ("", "")  # the session and its status
        self._facts = FactLine(look)
        self._fork = QToolButton()
        self._fork.setObjectName("run.fork")
        self._fork.setToolTip(self.tr("Fork: start a new session from the selected step"))
        self._fork.setAccessibleName(self.tr("Fork at the selected step"))
        self._fork.clicked.connect(self.fork)
        self._compare = QToolButton()
        self._compare.setObjectName("run.compare")
        self._compare.setToolTip(self.tr("Compare with another session"))
        self._compare.setAccessibleName(self.tr("Compare with another session"))
        self._compare.clicked.connect(self.compare)
        self._export = QToolButton()
        self._export.setObjectName("run.export")
        self._export.setToolTip(self.tr("Export this session (Ctrl+Shift+X)"))
        self._export.setAccessibleName(self.tr("Export this session"))
        self._export.clicked.connect(self.export)
        self._pause = Button(look, self.tr("Pause"), name="run.pause", icon="pause")
        self._pause.setToolTip(self.tr("Pause after this turn"))
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
        """Set the git branch of the session's folder; it is shown with the next `show_facts`."""
        if folder == self._folder:
            self._branch = name

    def show_session(self, row: SessionRow, duration_us: int) -> None:
        if row.folder != self._folder:
            self._folder, self._branch = row.folder, ""
        self._title.show_text(visible(row.title))
        self._pill.show_status(row.status)
        before, self._shown_status = self._shown_status, (row.id, row.status)
        if row.status in HALTED_STATUSES and before in {(row.id, status) for status in ACTIVE_STATUSES}:
            announce(self, self._pill.accessibleName())  # the user asked for it; other ends are announced by the window
        self._stop.setVisible(row.status in ACTIVE_STATUSES or row.status == "paused")
        self._pause.setVisible(row.status == "running")
        self._resume.setVisible(row.status == "paused")
        self.show_facts(row, duration_us)
        branch_key = (row.id, row.turns, row.status)
        if branch_key != self._branch_key:  # the agent may have switched the branch
            self._branch_key = branch_key
            self.branch_requested.emit(row.folder)

    def show_facts(self, row: SessionRow, lasted: int) -> None:
        self._facts.show_facts(header_facts(row, lasted, self._branch))

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
        self._title.setMinimumHeight(self._stop.sizeHint().height())  # keeps the height when no button is visible
