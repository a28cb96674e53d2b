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

REFRESH_MS: Final = 1_000
TIME_LABEL_WIDTH: Final = 58
MARGIN: Final = 20
KEY_GAP, TEXT_GAP, HINT_GAP = 4, 2, 14  # after a key, before the text of a shortcut, after the text
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
                painter,
                QRect(MARGIN, 0, self._bars.name_width - MARGIN, self.height()),
                translate("Name"),
                font,
                theme.second,
            )
            painter.setClipRect(self._bars.name_width, 0, self.width() - self._bars.name_width, self.height())
            self._paint_waits(painter)
            self._paint_ticks(painter)

    def _paint_waits(self, painter: QPainter) -> None:
        color = blend(self._look.theme.waiting, self._look.theme.background, 0.16)
        for start, end in self._bars.waits.waits:
            left, right = round(self._bars.x_of(start)), round(self._bars.x_of(end))
            painter.fillRect(left, 0, right - left, self.height() - 1, color)

    def _paint_ticks(self, painter: QPainter) -> None:
        bars, zero, theme = self._bars, self._rows.started_at, self._look.theme
        label_width = self._look.size(TIME_LABEL_WIDTH)
        interval = bars.scale.tick_interval(label_width)
        last_x = -label_width
        for at in bars.scale.ticks(interval, zero, bars.waits):
            x = round(bars.x_of(at))
            if x - last_x < label_width - 1:  # next to a shortened wait, there is no room for the label
                continue
            last_x = x
            painter.fillRect(x, 0, 1, self.height() - 1, theme.line)
            rect = QRect(x + 5, 0, label_width, self.height())
            draw_line(painter, rect, elapsed_label(at - zero, interval), self._look.fonts.caption, theme.second)

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
        width = self._text_places()[-1].right() + 1 + HINT_GAP
        return QSize(width, QFontMetrics(self._look.fonts.second).height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        fonts, theme = self._look.fonts, self._look.theme
        with QPainter(self) as painter:
            for (keys, text), place in zip(SHORTCUTS, self._text_places(), strict=True):
                if place.right() > self.width():
                    break
                draw_line(painter, place, translate(text), fonts.second, theme.second)
                for key, chip in zip(keys, self._key_places(keys, place.left()), strict=True):
                    draw_chip(painter, chip, key, fonts.caption, theme.second, theme.strong_line)

    def _text_places(self) -> list[QRect]:
        """Return where the text of each shortcut is drawn, after its keys."""
        metrics, places, x = QFontMetrics(self._look.fonts.second), list[QRect](), 0
        for keys, text in SHORTCUTS:
            x += sum(width + KEY_GAP for width in self._key_widths(keys)) + TEXT_GAP
            width = metrics.horizontalAdvance(translate(text)) + 2
            places.append(QRect(x, 0, width, self.height()))
            x += width + HINT_GAP
        return places

    def _key_places(self, keys: Sequence[str], end: int) -> list[QRect]:
        """Return where the keys of a shortcut are drawn whose text begins at `end`."""
        widths, height = self._key_widths(keys), self._key_height()
        x = end - TEXT_GAP - sum(width + KEY_GAP for width in widths)
        places = []
        for width in widths:
            places.append(QRect(x, (self.height() - height) // 2, width, height))
            x += width + KEY_GAP
        return places

    def _key_widths(self, keys: Sequence[str]) -> list[int]:
        return [max(self._key_height(), chip_width(key, self._look.fonts.caption)) for key in keys]

    def _key_height(self) -> int:
        return QFontMetrics(self._look.fonts.caption).height() + 3


class RunSwitcher(QWidget):
    """Shows the number of the run. `run_requested` carries -1 for the previous run, and 1 for the next one."""

    run_requested = Signal(int)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._previous = Button(
            look, self.tr("Previous run"), name="waterfall.previous", tone="quiet", icon="chevron-left"
        )
        self._next = Button(look, self.tr("Next run"), name="waterfall.next", tone="quiet", icon="chevron-right")
        self._label = ElidedLabel("", look.fonts.strong, name="waterfall.run")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for button, shortcut, offset in ((self._previous, "[", -1), (self._next, "]", 1)):
            button.set_icon_only(True)
            button.setToolTip(f"{button.accessibleName()} ({shortcut})")
            button.clicked.connect(partial(self.run_requested.emit, offset))
            layout.addWidget(button)
        layout.addSpacing(6)
        layout.addWidget(self._label, 1)

    def show_run(self, number: int, count: int, task: str) -> None:
        self._label.show_text(self.tr("Run {} of {}").format(number, count) + (f" · {task}" if task else ""))
        self._previous.setEnabled(number > 1)
        self._next.setEnabled(number < count)

    def restyle(self, look: Look) -> None:
        self._previous.restyle(look)
        self._next.restyle(look)
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
        self._refresh_timer = QTimer(self, interval=REFRESH_MS)
        self._refresh_timer.timeout.connect(self._refresh)
        self._run = 0
        self._row_range = (0, 0)
        self._switcher = RunSwitcher(look)
        self._shorten = CheckBox(look, self.tr("Shorten long waits"), name="waterfall.shorten")
        self._head = QWidget()
        head = QHBoxLayout(self._head)
        head.setContentsMargins(14, 6, MARGIN, 6)
        head.addWidget(self._switcher, 1)
        head.addWidget(self._shorten, 0, Qt.AlignmentFlag.AlignRight)
        foot = QHBoxLayout()
        foot.setContentsMargins(MARGIN, 8, MARGIN, 8)
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
        self._rows.progressed.connect(self._update_contents)

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
        self._update_contents()

    def apply(self, changes: Sequence[Step]) -> None:
        """Apply new and changed steps; those of other runs are ignored."""
        first, end = self._row_range
        mine = [step for step in changes if step.row >= first and step.run == self._run]
        if mine and self._rows.session:
            self._row_range = (first, max(end, mine[-1].row + 1))
            self._rows.apply(self._row_range[1], mine)
            self._update_contents()

    def select_row(self, row: int) -> None:
        self._bars.select_row(row)

    def reveal_row(self, row: int) -> None:
        """Scroll to the bar of a row or, if it has none, of the next row with a bar."""
        self._bars.reveal_row(row)

    def restyle(self, look: Look) -> None:
        for part in (self._bars, self._ruler, self._keys, self._switcher, self._shorten):
            part.restyle(look)
        self._totals.setFont(look.fonts.second)

    def _update_contents(self) -> None:
        self._bars.update_scale()
        self._shorten.setVisible(self._bars.can_shorten_waits())
        self._head.setVisible(not self._shorten.isHidden() or not self._switcher.isHidden())
        spent = self._rows.totals()
        text = " · ".join(f"{translate(name)} {duration(spent[name]) or '0s'}" for name in ("thinking", "tools", "you"))
        self._totals.show_text(text if self._rows.is_complete else f"{text}…")
        if not self._rows.is_running:
            self._refresh_timer.stop()
        elif not self._refresh_timer.isActive():
            self._refresh_timer.start()

    def _refresh(self) -> None:
        if self.isVisible():
            self._update_contents()

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._bars.update_scale()
