"""The waterfall panel: a time ruler, the bars, hints for keyboard shortcuts, and how the run spent its time."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.steps import Step
from ui.base.step_presentation import translate
from ui.style.number_formats import duration
from ui.style.theme import Look, blend
from ui.timeline.waterfall.model import RowSampleSource, ShownRun, WaterfallModel
from ui.timeline.waterfall.time_scale import elapsed_label
from ui.timeline.waterfall.view import WaterfallView
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import hairline
from ui.widgets.paint import chip_width, draw_chip, draw_line
from ui.widgets.themed_widget import ThemedWidget

TICK_MS: Final = 1_000
TICK_ROOM: Final = 58
RUN_SHORTCUTS: Final = {-1: "[", 1: "]"}
SHORTCUTS: Final = (("W", "S"), "zoom"), (("A", "D"), "move"), (("F",), "fit step"), ((",", "."), "previous, next")


class TimeRuler(ThemedWidget):
    """The time ruler above the bars; dragging it pans the chart.

    Screen readers skip it, because each bar states its times.
    """

    accessible_role = None

    def __init__(self, look: Look, bars: WaterfallView, rows: WaterfallModel) -> None:
        super().__init__(look)
        self._bars = bars
        self._rows = rows
        self._drag_x: float | None = None
        self.setObjectName("waterfall.ruler")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        bars.scale_changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(200, self._look.size(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, font = self._look.theme, self._look.fonts.caption
        with QPainter(self) as painter:
            painter.fillRect(0, self.height() - 1, self.width(), 1, theme.line)
            draw_line(
                painter, QRect(20, 0, self._bars.name_width - 20, self.height()), translate("Name"), font, theme.second
            )
            bars, room = self._bars, self._look.size(TICK_ROOM)
            step = bars.scale.step(room)
            painter.setClipRect(bars.name_width, 0, self.width() - bars.name_width, self.height())
            for start, end in bars.waits.waits:
                left, right = round(bars.x_of(start)), round(bars.x_of(end))
                painter.fillRect(left, 0, right - left, self.height() - 1, blend(theme.waiting, theme.background, 0.16))
            last_x = -room
            for at in bars.scale.ticks(step, self._rows.started_at, bars.waits):
                x = round(bars.x_of(at))
                if x - last_x < room - 1:  # next to a shortened wait, there is no room for the label
                    continue
                last_x = x
                painter.fillRect(x, 0, 1, self.height() - 1, theme.line)
                rect = QRect(x + 5, 0, room, self.height())
                draw_line(painter, rect, elapsed_label(at - self._rows.started_at, step), font, theme.second)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._drag_x = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag_x is not None:
            self._bars.pan((self._drag_x - event.position().x()) / max(1, self._bars.scale.width))
            self._drag_x = event.position().x()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag_x = None


class ShortcutHints(ThemedWidget):
    """Shows the keyboard shortcuts of the chart as pictures of keys, as many as fit."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.setAccessibleName(", ".join(f"{' '.join(keys)}: {translate(text)}" for keys, text in SHORTCUTS))
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
        metrics, chip_height = QFontMetrics(fonts.second), QFontMetrics(fonts.caption).height() + 3
        for keys, text in SHORTCUTS:
            chip_widths = [max(chip_height, chip_width(key, fonts.caption)) for key in keys]
            text_width = metrics.horizontalAdvance(translate(text))
            if painter and x + sum(chip_widths) + 4 * len(keys) + 2 + text_width > self.width():
                break
            for key, width in zip(keys, chip_widths, strict=True):
                if painter:
                    rect = QRect(x, (self.height() - chip_height) // 2, width, chip_height)
                    draw_chip(painter, rect, key, fonts.caption, theme.second, theme.strong_line)
                x += width + 4
            if painter:
                draw_line(
                    painter, QRect(x + 2, 0, text_width + 2, self.height()), translate(text), fonts.second, theme.second
                )
            x += text_width + 16
        return x


class RunSwitcher(QWidget):
    """Shows the number of the run, and switches to the previous or next run."""

    run_requested = Signal(int)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._buttons = {
            by: Button(look, text, name=f"waterfall.{name}", tone="quiet", icon=icon)
            for by, text, name, icon in (
                (-1, self.tr("Previous run"), "previous", "chevron-left"),
                (1, self.tr("Next run"), "next", "chevron-right"),
            )
        }
        self._label = ElidedLabel("", look.fonts.strong, name="waterfall.run")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for by, button in self._buttons.items():
            button.set_icon_only(True)
            button.setToolTip(f"{button.accessibleName()} ({RUN_SHORTCUTS[by]})")
            button.clicked.connect(partial(self.run_requested.emit, by))
            layout.addWidget(button)
        layout.addSpacing(6)
        layout.addWidget(self._label, 1)

    def show_run(self, number: int, count: int, task: str) -> None:
        self._label.show_text(self.tr("Run {} of {}").format(number, count) + (f" · {task}" if task else ""))
        self._buttons[-1].setEnabled(number > 1)
        self._buttons[1].setEnabled(number < count)

    def restyle(self, look: Look) -> None:
        for button in self._buttons.values():
            button.restyle(look)
        self._label.setFont(look.fonts.strong)


class WaterfallPanel(QWidget):
    """The waterfall chart of a run. `run_requested` carries -1 to show the previous run, and 1 to show the next one."""

    step_chosen = Signal(object)
    run_requested = Signal(int)

    def __init__(self, look: Look, rows: RowSampleSource, *, clock: Clock = now, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("waterfall")
        self._rows = WaterfallModel(rows, clock, self)
        self._bars = WaterfallView(self._rows, look)
        self._ruler = TimeRuler(look, self._bars, self._rows)
        self._keys = ShortcutHints(look)
        self._totals = ElidedLabel("", look.fonts.second, "second", name="waterfall.totals")
        self._totals.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._refresh_timer = QTimer(self, interval=TICK_MS)
        self._refresh_timer.timeout.connect(self._refresh)
        self._run = 0
        self._row_range = (0, 0)
        self._switcher = RunSwitcher(look)
        self._shorten = CheckBox(look, self.tr("Shorten long waits"), name="waterfall.shorten")
        self._head = QWidget()
        head = QHBoxLayout(self._head)
        head.setContentsMargins(14, 6, 20, 6)
        head.addWidget(self._switcher, 1)
        head.addWidget(self._shorten, 0, Qt.AlignmentFlag.AlignRight)
        foot = QHBoxLayout()
        foot.setContentsMargins(20, 8, 20, 8)
        foot.addWidget(self._keys)
        foot.addStretch(1)
        foot.addWidget(self._totals)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addWidget(self._ruler)
        layout.addWidget(self._bars, 1)
        layout.addWidget(hairline())
        layout.addLayout(foot)
        self.setFocusProxy(self._bars)
        self._bars.chosen.connect(self.step_chosen)
        self._bars.run_requested.connect(self.run_requested)
        self._switcher.run_requested.connect(self.run_requested)
        self._shorten.toggled.connect(self._bars.shorten_waits)
        self._rows.progressed.connect(self._refit)

    @property
    def bars(self) -> WaterfallView:
        return self._bars

    @property
    def run(self) -> int:
        """The number of the run that is shown."""
        return self._run

    def show_run(self, session: str, run: ShownRun) -> None:
        """Show a run. If it is already shown, only add its new rows."""
        self._switcher.show_run(run.number, run.total, run.task)
        self._switcher.setVisible(run.total > 1)
        known = session == self._rows.session and run.first == self._row_range[0]
        self._run, self._row_range = run.number, (run.first, run.end)
        if known:
            self._rows.apply(run.end, ())
        else:
            self._rows.open(session, run.first, run.end)
            self._bars.fit_all()
        self._refit()

    def apply(self, changes: Sequence[Step]) -> None:
        """Apply new and changed steps; those of other runs are ignored."""
        first, end = self._row_range
        mine = [step for step in changes if step.row >= first and step.run == self._run]
        if mine and self._rows.session:
            self._row_range = (first, max(end, mine[-1].row + 1))
            self._rows.apply(self._row_range[1], mine)
            self._refit()

    def select_row(self, row: int) -> None:
        self._bars.select_row(row)

    def reveal_row(self, row: int) -> None:
        """Scroll to the bar of a row or, if it has none, of the next row with a bar."""
        self._bars.reveal_row(row)

    def restyle(self, look: Look) -> None:
        for part in (self._bars, self._ruler, self._keys, self._switcher, self._shorten):
            part.restyle(look)
        self._totals.setFont(look.fonts.second)

    def _refit(self) -> None:
        self._bars.update_scale()
        self._shorten.setVisible(self._bars.can_shorten_waits())
        self._head.setVisible(not self._shorten.isHidden() or not self._switcher.isHidden())
        spent = self._rows.totals()
        text = " · ".join(f"{translate(name)} {duration(spent[name]) or '0s'}" for name in ("thinking", "tools", "you"))
        self._totals.show_text(text if self._rows.is_complete else f"{text}…")
        going = self._rows.is_running
        if going != self._refresh_timer.isActive():
            self._refresh_timer.start() if going else self._refresh_timer.stop()

    def _refresh(self) -> None:
        if self.isVisible():
            self._refit()

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._bars.update_scale()
