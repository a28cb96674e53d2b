"""The top of a run's page: what it is called, how it stands, what it came to, and what can be done with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from ui.figures import amount, duration, money, short_folder
from ui.icons import pixmap, put_icon
from ui.looks import status_look, words
from ui.theme import Look, blend
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.painted import Painted
from ui.widgets.tip import tip
from ui.widgets.words import hairline

GOING: Final = frozenset({"running", "waiting"})
ICON: Final = 14
GAP: Final = 16
NARROW: Final = 520
FOLDER: Final = 110  # of a folder's name, before anything else gives way for it
GIVE_WAY: Final = ("footprints", "git-branch", "coins", "cpu")


class Fact(NamedTuple):
    icon: str
    text: str


def facts(row: SessionRow, lasted: int, branch: str = "") -> list[Fact]:
    """What stands under the title."""
    if row.status in GOING and row.max_rounds:
        rounds = f"{words('round')} {row.rounds} {words('of')} {row.max_rounds}"
    else:
        rounds = f"{row.rounds} {words('round' if row.rounds == 1 else 'rounds')}" if row.rounds else ""
    spent = f"{amount(row.tokens)} {words('tok')}" if row.tokens else ""
    if spent and row.cost:
        spent += f" · {money(row.cost)}"
    shown = [
        Fact("folder", visible(short_folder(row.folder, str(Path.home())))),
        Fact("git-branch", visible(branch)),
        Fact("cpu", visible(row.model)),
        Fact("timer", duration(lasted)),
        Fact("footprints", rounds),
        Fact("coins", spent),
    ]
    return [fact for fact in shown if fact.text]


class FactLine(Painted):
    """Small icons with words, on one line; all of them are told where the pointer rests."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._facts: list[Fact] = []
        self.setObjectName("run.facts")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_facts(self, shown: list[Fact]) -> None:
        if shown != self._facts:
            self._facts = shown
            self.setAccessibleName(", ".join(fact.text for fact in shown))
            self.setToolTip(tip(" · ".join(fact.text for fact in shown)))
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._look.fonts.second).height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        with QPainter(self) as painter:
            metrics, side = QFontMetrics(look.fonts.second), look.size(ICON)
            painter.setFont(look.fonts.second)
            shown = self.fitting(lambda fact: metrics.horizontalAdvance(fact.text) + side + 6)
            x = 0
            for fact, room in shown:
                picture = pixmap(fact.icon, look.theme.third, side, self.devicePixelRatioF())
                painter.drawPixmap(x, (self.height() - side) // 2, picture)
                text = metrics.elidedText(fact.text, Qt.TextElideMode.ElideMiddle, room - side - 5)
                painter.setPen(look.theme.second)
                painter.drawText(x + side + 6, (self.height() + metrics.ascent() - metrics.descent()) // 2, text)
                x += room + GAP

    def fitting(self, width_of: Callable[[Fact], int]) -> list[tuple[Fact, int]]:
        """What there is room for: the model loses its server's name, then facts give way, then the folder is cut."""
        shown, room = list(self._facts), self.width()
        least = self._look.size(FOLDER)

        def over() -> int:
            widths = [width_of(fact) for fact in shown]
            return sum(widths) + GAP * (len(widths) - 1) - room

        if over() > 0:
            shown = [fact._replace(text=fact.text.rpartition("/")[2]) if fact.icon == "cpu" else fact for fact in shown]
        for name in GIVE_WAY:
            first = width_of(shown[0]) if shown else 0
            if over() - max(0, first - least) > 0:
                shown = [fact for fact in shown if fact.icon != name]
        cut = max(0, over())
        return [(fact, width_of(fact) - (0 if place else cut)) for place, fact in enumerate(shown)]


class Pill(Painted):
    """How the session stands: a glyph and a word on a quiet fill."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._status, self._short = "done", False
        self.setObjectName("run.status")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def shorten(self, short: bool) -> None:
        """Only the glyph, where there is no room for the word."""
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
            look = status_look(self._status)
            colour = theme.colour(look.token)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(colour, theme.background, 0.18 if theme.dark else 0.14))
            painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
            picture = pixmap(look.icon, colour, side, self.devicePixelRatioF())
            painter.drawPixmap(8, (self.height() - side) // 2, picture)
            if self._short:
                return
            painter.setFont(self._look.fonts.second)
            painter.setPen(colour)
            place = self.rect().adjusted(8 + side + 5, 0, 0, 0)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._word())

    def _word(self) -> str:
        return words(status_look(self._status).word)


class RunHeader(QWidget):
    """Title, status, figures, and the buttons that fork, pause and stop the run."""

    stop = Signal()
    pause = Signal()
    resume = Signal()
    fork = Signal()
    compare = Signal()
    export = Signal()
    branch_wanted = Signal(str)
    """The folder whose branch may have changed."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._branch = ""
        self._folder = ""
        self._asked: tuple[str, int, str] = ("", 0, "")
        self._title = ElidedLabel("", look.fonts.title, name="run.title")
        self._title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._pill = Pill(look)
        self._facts = FactLine(look)
        self._fork = QToolButton()
        self._fork.setObjectName("run.fork")
        self._fork.setToolTip(self.tr("Fork here: a new session that begins with everything up to the chosen step"))
        self._fork.setAccessibleName(self.tr("Fork at the chosen step"))
        self._fork.clicked.connect(self.fork)
        self._compare = QToolButton()
        self._compare.setObjectName("run.compare")
        self._compare.setToolTip(self.tr("Compare with another session"))
        self._compare.setAccessibleName(self.tr("Compare with another session"))
        self._compare.clicked.connect(self.compare)
        self._export = QToolButton()
        self._export.setObjectName("run.export")
        self._export.setToolTip(self.tr("Export this session (E)"))
        self._export.setAccessibleName(self.tr("Export this session"))
        self._export.clicked.connect(self.export)
        self._pause = Button(look, self.tr("Pause"), name="run.pause", icon="pause")
        self._pause.setToolTip(self.tr("Pause after this round"))
        self._pause.clicked.connect(self.pause)
        self._resume = Button(look, self.tr("Go on"), name="run.resume", icon="play")
        self._resume.setToolTip(self.tr("Let this run go on"))
        self._resume.clicked.connect(self.resume)
        self._stop = Button(look, self.tr("Stop"), name="run.stop", tone="stop", icon="square")
        self._stop.setToolTip(self.tr("Stop this run (Ctrl+.)"))
        self._stop.clicked.connect(self.stop)
        self._buttons = (self._pause, self._resume, self._stop)
        self._lay_out()
        self.restyle(look)

    def _lay_out(self) -> None:
        upper = QHBoxLayout()
        upper.setSpacing(10)
        upper.addWidget(self._title)
        upper.addWidget(self._pill)
        upper.addStretch(1)
        for part in (self._fork, self._compare, self._export, *self._buttons):
            upper.addWidget(part)
        for button in self._buttons:
            button.hide()
        inner = QVBoxLayout()
        inner.setContentsMargins(20, 11, 20, 9)
        inner.setSpacing(3)
        inner.addLayout(upper)
        inner.addWidget(self._facts)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(inner)
        layout.addWidget(hairline())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def look(self) -> Look:
        return self._look

    def show_branch(self, folder: str, name: str) -> None:
        """The git branch of a folder; it shows with the next figures."""
        if folder == self._folder:
            self._branch = name

    def show_session(self, row: SessionRow, lasted: int) -> None:
        if row.folder != self._folder:
            self._folder, self._branch = row.folder, ""
        self._title.show_text(visible(row.title))
        self._pill.show_status(row.status)
        self._stop.setVisible(row.status in GOING or row.status == "paused")
        self._pause.setVisible(row.status == "running")
        self._resume.setVisible(row.status == "paused")
        self.show_facts(row, lasted)
        if (asked := (row.id, row.rounds, row.status)) != self._asked:  # the agent may have changed it
            self._asked = asked
            self.branch_wanted.emit(row.folder)

    def show_facts(self, row: SessionRow, lasted: int) -> None:
        self._facts.show_facts(facts(row, lasted, self._branch))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._pill.shorten(self.width() < self._look.size(NARROW))

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._pill.restyle(look)
        self._facts.restyle(look)
        for tool, name in ((self._fork, "git-fork"), (self._compare, "columns-2"), (self._export, "download")):
            put_icon(tool, name, look.theme.second, look.size(16))
        for button in self._buttons:
            button.restyle(look)
        self._title.setMinimumHeight(self._stop.sizeHint().height())  # the line is as high where no button stands
