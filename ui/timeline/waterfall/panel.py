"""The Timeline tab: a ruler, the bars of one run, the keys, and where its time went."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QRect, QSize, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.steps import Step
from ui.figures import duration
from ui.looks import words
from ui.theme import Look
from ui.timeline.waterfall.bars import Bars
from ui.timeline.waterfall.rows import RunBars, Stretches
from ui.timeline.waterfall.scale import since
from ui.widgets.elided import ElidedLabel
from ui.widgets.paint import chip_width, draw_chip, draw_line
from ui.widgets.painted import Painted
from ui.widgets.words import hairline

TICK_MS: Final = 1_000
TICK_ROOM: Final = 58
KEYS: Final = (("W", "S"), "zoom"), (("A", "D"), "move"), (("F",), "fit step"), ((",", "."), "previous, next")


class Ruler(Painted):
    """Marks of time over the bars; a drag along it moves time."""

    def __init__(self, look: Look, bars: Bars, rows: RunBars) -> None:
        super().__init__(look)
        self._bars, self._rows = bars, rows
        self._held: float | None = None
        self.setObjectName("waterfall.ruler")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        bars.scale_changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(200, self._look.size(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, font = self._look.theme, self._look.fonts.caption
        with QPainter(self) as painter:
            painter.fillRect(0, self.height() - 1, self.width(), 1, theme.line)
            draw_line(painter, QRect(20, 0, self._bars.names - 20, self.height()), words("Name"), font, theme.second)
            scale = self._bars.scale
            step = scale.step(self._look.size(TICK_ROOM))
            painter.setClipRect(self._bars.names, 0, self.width() - self._bars.names, self.height())
            for at in scale.ticks(step, self._rows.began):
                x = round(scale.x(at))
                painter.fillRect(x, 0, 1, self.height() - 1, theme.line)
                place = QRect(x + 5, 0, self._look.size(TICK_ROOM), self.height())
                draw_line(painter, place, since(at - self._rows.began, step), font, theme.second)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._held = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._held is not None:
            self._bars.move((self._held - event.position().x()) / max(1, self._bars.scale.width))
            self._held = event.position().x()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._held = None


class KeyLine(Painted):
    """`W S zoom`: the keys of the bars, drawn as keys."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.setAccessibleName(", ".join(f"{' '.join(keys)}: {words(said)}" for keys, said in KEYS))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self._draw(None), QFontMetrics(self._look.fonts.second).height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._draw(painter)

    def _draw(self, painter: QPainter | None) -> int:
        fonts, theme, x = self._look.fonts, self._look.theme, 0
        metrics, tall = QFontMetrics(fonts.second), QFontMetrics(fonts.caption).height() + 3
        for keys, said in KEYS:
            for key in keys:
                width = max(tall, chip_width(key, fonts.caption))
                if painter:
                    place = QRect(x, (self.height() - tall) // 2, width, tall)
                    draw_chip(painter, place, key, fonts.caption, theme.second, theme.strong_line)
                x += width + 4
            room = metrics.horizontalAdvance(words(said))
            if painter:
                draw_line(painter, QRect(x + 2, 0, room + 2, self.height()), words(said), fonts.second, theme.second)
            x += room + 16
        return x


class WaterfallPanel(QWidget):
    """Shows the run of the chosen step."""

    step_chosen = Signal(object)

    def __init__(self, look: Look, rows: Stretches, *, clock: Clock = now, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("waterfall")
        self._rows = RunBars(rows, clock, self)
        self._bars = Bars(self._rows, look)
        self._ruler = Ruler(look, self._bars, self._rows)
        self._keys = KeyLine(look)
        self._totals = ElidedLabel("", look.fonts.second, "second", name="waterfall.totals")
        self._totals.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._count_on)
        self._run = (0, 0)
        foot = QHBoxLayout()
        foot.setContentsMargins(20, 8, 20, 8)
        foot.addWidget(self._keys)
        foot.addStretch(1)
        foot.addWidget(self._totals)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._ruler)
        layout.addWidget(self._bars, 1)
        layout.addWidget(hairline())
        layout.addLayout(foot)
        self.setFocusProxy(self._bars)
        self._bars.chosen.connect(self.step_chosen)
        self._rows.progressed.connect(self._refit)

    @property
    def bars(self) -> Bars:
        return self._bars

    def show_run(self, session: str, first: int, end: int) -> None:
        """The rows of one run; the same run again when it has grown."""
        if session == self._rows.session and first == self._run[0]:
            self._run = (first, end)
            self._rows.grow(end, ())
        else:
            self._run = (first, end)
            self._rows.open(session, first, end)
            self._bars.fit_all()

    def apply(self, changes: Sequence[Step]) -> None:
        """Rows that are new or changed."""
        first, end = self._run
        mine = [step for step in changes if step.row >= first]
        if mine and self._rows.session:
            self._run = (first, max(end, mine[-1].row + 1))
            self._rows.grow(self._run[1], mine)
            self._refit()

    def select_row(self, row: int) -> None:
        self._bars.select_row(row)

    def restyle(self, look: Look) -> None:
        for part in (self._bars, self._ruler, self._keys):
            part.restyle(look)
        self._totals.setFont(look.fonts.second)

    def _refit(self) -> None:
        self._bars.refit()
        spent = self._rows.totals()
        said = " · ".join(f"{words(name)} {duration(spent[name]) or '0s'}" for name in ("thinking", "tools", "you"))
        self._totals.show_text(said if self._rows.complete else f"{said} …")
        going = self._rows.going
        if going != self._tick.isActive():
            self._tick.start() if going else self._tick.stop()

    def _count_on(self) -> None:
        if self.isVisible():
            self._refit()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._bars.refit()
