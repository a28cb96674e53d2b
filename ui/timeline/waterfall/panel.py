"""The waterfall panel: a time ruler, the bars, hints for keyboard shortcuts, and how the run spent its time."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.domain.clock import Clock, now
from core.domain.steps import Step
from ui.base.step_presentation import translate
from ui.style.number_formats import duration
from ui.style.theme import Look, blend
from ui.timeline.folds import RowRange
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
KEY_GAP: Final = 4  # pixels after a key
TEXT_GAP: Final = 2  # additional pixels before the text of a shortcut
HINT_GAP: Final = 14  # pixels between two shortcuts


class Shortcut(NamedTuple):
    """Keys that do related things, and what they do."""

    keys: tuple[str, ...]
    text: str


SHORTCUTS: Final = (
    Shortcut(("W", "S"), "zoom"),
    Shortcut(("A", "D"), "move"),
    Shortcut(("F",), "fit step"),
    Shortcut((",", "."), "previous, next"),
)


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
        name_width = self._bars.name_width
        with QPainter(self) as painter:
            painter.fillRect(0, self.height() - 1, self.width(), 1, theme.line)
            name_rect = QRect(MARGIN, 0, name_width - MARGIN, self.height())
            draw_line(painter, name_rect, translate("Name"), font, theme.second)
            painter.setClipRect(name_width, 0, self.width() - name_width, self.height())
            self._paint_waits(painter)
            self._paint_ticks(painter)

    def _paint_waits(self, painter: QPainter) -> None:
        color = blend(self._look.theme.waiting, self._look.theme.background, 0.16)
        for wait in self._bars.waits.waits:
            left, right = round(self._bars.x_of(wait.start)), round(self._bars.x_of(wait.end))
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
        hints = (f"{' '.join(shortcut.keys)}: {translate(shortcut.text)}" for shortcut in SHORTCUTS)
        self.setAccessibleName(", ".join(hints))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        width = self._text_rects()[-1].right() + 1 + HINT_GAP
        return QSize(width, QFontMetrics(self._look.fonts.second).height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        fonts, theme = self._look.fonts, self._look.theme
        with QPainter(self) as painter:
            for shortcut, text_rect in zip(SHORTCUTS, self._text_rects(), strict=True):
                if text_rect.right() > self.width():
                    break
                draw_line(painter, text_rect, translate(shortcut.text), fonts.second, theme.second)
                key_rects = self._key_rects(shortcut, text_rect.left())
                for key, key_rect in zip(shortcut.keys, key_rects, strict=True):
                    draw_chip(painter, key_rect, key, fonts.caption, theme.second, theme.strong_line)

    def _text_rects(self) -> list[QRect]:
        """Return the rectangle of the text of each shortcut, which follows its keys."""
        metrics = QFontMetrics(self._look.fonts.second)
        rects = []
        x = 0
        for shortcut in SHORTCUTS:
            x += self._keys_width(shortcut)
            width = metrics.horizontalAdvance(translate(shortcut.text)) + 2
            rects.append(QRect(x, 0, width, self.height()))
            x += width + HINT_GAP
        return rects

    def _key_rects(self, shortcut: Shortcut, text_left: int) -> list[QRect]:
        """Return the rectangles of the keys of a shortcut, whose text begins at `text_left`."""
        height = self._key_height()
        rects = []
        x = text_left - self._keys_width(shortcut)
        for key in shortcut.keys:
            width = self._key_width(key)
            rects.append(QRect(x, (self.height() - height) // 2, width, height))
            x += width + KEY_GAP
        return rects

    def _keys_width(self, shortcut: Shortcut) -> int:
        """Return the width from the first key of a shortcut to its text."""
        return sum(self._key_width(key) + KEY_GAP for key in shortcut.keys) + TEXT_GAP

    def _key_width(self, key: str) -> int:
        return max(self._key_height(), chip_width(key, self._look.fonts.caption))

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

    def show_run(self, run: ShownRun) -> None:
        """Show the number and the task of a run. Without another run to switch to, hide the widget."""
        text = self.tr("Run {} of {}").format(run.number, run.run_count)
        self._label.show_text(f"{text} · {run.task}" if run.task else text)
        self._previous.setEnabled(run.number > 1)
        self._next.setEnabled(run.number < run.run_count)
        self.setVisible(run.run_count > 1)

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
        self._shortcut_hints = ShortcutHints(look)
        self._totals = ElidedLabel("", look.fonts.second, "second", name="waterfall.totals")
        self._totals.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._refresh_timer = QTimer(self, interval=REFRESH_MS)
        self._refresh_timer.timeout.connect(self._refresh)
        self._run = 0
        self._shown_rows = RowRange(0, 0)
        self._switcher = RunSwitcher(look)
        self._shorten = CheckBox(look, self.tr("Shorten long waits"), name="waterfall.shorten")
        self._lay_out()
        self.setFocusProxy(self._bars)
        self._bars.chosen.connect(self.step_chosen)
        self._bars.run_requested.connect(self.run_requested)
        self._switcher.run_requested.connect(self.run_requested)
        self._shorten.toggled.connect(self._bars.shorten_waits)
        self._rows.progressed.connect(self._update_contents)

    def _lay_out(self) -> None:
        self._head = QWidget()
        head = QHBoxLayout(self._head)
        head.setContentsMargins(14, 6, MARGIN, 6)
        head.addWidget(self._switcher, 1)
        head.addWidget(self._shorten, 0, Qt.AlignmentFlag.AlignRight)
        foot = QHBoxLayout()
        foot.setContentsMargins(MARGIN, 8, MARGIN, 8)
        foot.addWidget(self._shortcut_hints)
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

    @property
    def bars(self) -> WaterfallView:
        return self._bars

    @property
    def run(self) -> int:
        """The number of the run that is shown."""
        return self._run

    def show_run(self, session: str, run: ShownRun) -> None:
        """Show a run. If it is already shown, only add its new rows."""
        self._switcher.show_run(run)
        is_shown = session == self._rows.session and run.rows.first == self._shown_rows.first
        self._run = run.number
        self._shown_rows = run.rows
        if is_shown:
            self._rows.apply(run.rows.end, ())
        else:
            self._rows.open(session, run.rows)
            self._bars.fit_all()
        self._update_contents()

    def apply(self, changes: Sequence[Step]) -> None:
        """Apply new and changed steps; those of other runs are ignored."""
        first, end = self._shown_rows
        own_changes = [step for step in changes if step.row >= first and step.run == self._run]
        if own_changes and self._rows.session:
            self._shown_rows = RowRange(first, max(end, own_changes[-1].row + 1))
            self._rows.apply(self._shown_rows.end, own_changes)
            self._update_contents()

    def select_row(self, row: int) -> None:
        self._bars.select_row(row)

    def reveal_row(self, row: int) -> None:
        """Scroll to the bar of a row or, if it has none, of the next row with a bar."""
        self._bars.reveal_row(row)

    def restyle(self, look: Look) -> None:
        for part in (self._bars, self._ruler, self._shortcut_hints, self._switcher, self._shorten):
            part.restyle(look)
        self._totals.setFont(look.fonts.second)

    def _update_contents(self) -> None:
        self._bars.update_scale()
        self._shorten.setVisible(self._bars.can_shorten_waits())
        self._head.setVisible(not self._shorten.isHidden() or not self._switcher.isHidden())
        spent = self._rows.totals()
        totals = [f"{translate(name)} {duration(spent[name]) or '0s'}" for name in ("thinking", "tools", "you")]
        text = " · ".join(totals)
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
