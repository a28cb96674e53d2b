"""The Usage page: totals, a plot by day, a table and a CSV export."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final, NamedTuple, cast

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFileDialog, QScrollArea, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from core.domain.problems import Problem
from core.store.usage import UsageRow
from core.timeline.usage_export import usage_csv
from core.timeline.usage_totals import UsageGrouping, group_usage, sum_usage
from ui.base.bridge import Bridge
from ui.base.panel_page import PanelPage, ShowToast, StartTask
from ui.style.number_formats import duration
from ui.style.theme import Look
from ui.usage.bars import make_bars, ranked_models
from ui.usage.formatting import Measure, cost_text, tokens_text
from ui.usage.legend import UsageLegend
from ui.usage.plot import UsagePlot
from ui.usage.table import UsageModel, UsageTable
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.labels import hairline, label
from ui.widgets.segmented_control import SegmentedControl
from ui.widgets.time_formats import start_of_day, to_local_time

RANGES: Final = {"7": 7, "30": 30, "90": 90, "all": 0}


class RangeLimits(NamedTuple):
    """The start and the end of a range, in microseconds since the epoch; 0 means no limit."""

    since: int
    until: int


class UsagePanel(PanelPage):
    """The page. It reads the usage from the engine when it is opened and when the range changes."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start_task: StartTask,
        show_toast: ShowToast,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__()
        self._look = look
        self._bridge = bridge
        self._start = start_task
        self._show_toast = show_toast
        self._clock = clock
        self._rows: Sequence[UsageRow] = ()
        self._title = label(self.tr("Usage"), look.fonts.title, name="usage.title")
        ranges = {"7": self.tr("7 days"), "30": self.tr("30 days"), "90": self.tr("90 days"), "all": self.tr("All")}
        self._range = SegmentedControl(look, self.tr("Range"), ranges, name="usage.range")
        self._range.select("30")
        self._export = Button(look, self.tr("Export CSV…"), name="usage.export", icon="share")
        self._figures = label("", look.fonts.text, name="usage.figures", wrap=True)
        self._empty = label("", look.fonts.text, "second", name="usage.empty", wrap=True)
        self._empty.hide()
        groupings = {"day": self.tr("By day"), "model": self.tr("By model"), "folder": self.tr("By folder")}
        self._by = SegmentedControl(look, self.tr("Group by"), groupings, name="usage.by")
        measures = {"tokens": self.tr("Tokens"), "cost": self.tr("Cost"), "time": self.tr("Time")}
        self._measure = SegmentedControl(look, self.tr("Measure"), measures, name="usage.measure")
        self._plot = UsagePlot(look)
        self._legend = UsageLegend(look)
        unknown_text = self.tr("The prices of these models are not known, so their cost cannot be shown.")
        self._unknown = label(unknown_text, look.fonts.text, "second", name="usage.unknown", wrap=True)
        self._model = UsageModel()
        self._table = UsageTable(look, self._model)
        self._lay_out()
        self._range.chosen.connect(lambda _: self.refresh())
        self._by.chosen.connect(lambda _: self._show_table())
        self._measure.chosen.connect(lambda _: self._show_plot())
        self._export.clicked.connect(self.export)

    def activate(self, about: tuple[str, ...]) -> None:
        if self.window().focusWidget() is self:  # the page has just been opened; now the arrow keys can scroll it
            self._scroll.setFocus(Qt.FocusReason.OtherFocusReason)
        self.refresh()

    def refresh(self) -> None:
        """Read the usage of the chosen range again."""
        limits = self._range_limits()

        async def look() -> None:
            rows = await self._bridge.ask(lambda engine: engine.model_usage(limits.since, limits.until))
            if limits == self._range_limits():  # otherwise, the user has chosen another range meanwhile
                self.show_used(rows)

        self._start(look(), "read the usage")

    def show_used(self, rows: Sequence[UsageRow]) -> None:
        self._rows = rows
        totals = sum_usage(rows)
        parts = [
            tokens_text(totals),
            self.tr("cost {}").format(cost_text(totals)),
            self.tr("{} of model time").format(duration(totals.time) or "0s"),
            self.tr("1 reply") if totals.replies == 1 else self.tr("{} replies").format(f"{totals.replies:,}"),
        ]
        self._figures.setText(" · ".join(parts))
        self._empty.setText(
            self.tr("No usage yet. Start a session to see its tokens, cost and time here.")
            if self._range.selected == "all"
            else self.tr("No usage in this period. Choose a longer range or start a session.")
        )
        for widget in (self._figures, self._measure, self._by, self._table):
            widget.setVisible(bool(rows))
        self._empty.setVisible(not rows)
        self._export.setEnabled(bool(rows))
        self._show_plot()
        self._show_table()

    def export(self) -> None:
        """Let the user choose a file, and write the usage to it as CSV."""
        dialog = QFileDialog(self, self.tr("Export usage"))
        dialog.setObjectName("usage.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.selectFile("journeyman-usage.csv")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.write)
        dialog.open()

    def write(self, path: str) -> None:
        """Write the usage of the chosen range as CSV, one line for each day, model and folder."""

        async def export() -> None:
            try:
                await asyncio.to_thread(Path(path).write_text, usage_csv(self._rows), encoding="utf-8")
            except OSError as error:
                message = self.tr("The usage could not be exported to {}.").format(path)
                raise Problem(message, f"{error.strerror or error}.", self.tr("Choose another location.")) from error
            self._show_toast(self.tr("Exported the usage to {}.").format(path))

        self._start(export(), "export the usage")

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._figures.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.text)
        self._unknown.setFont(look.fonts.text)
        for widget in (self._range, self._measure, self._plot, self._legend, self._by, self._export, self._table):
            widget.restyle(look)

    def _range_limits(self) -> RangeLimits:
        days, today = RANGES[self._range.selected], to_local_time(self._clock())
        if not days:
            return RangeLimits(since=0, until=0)
        return RangeLimits(
            since=start_of_day(today - timedelta(days=days - 1)), until=start_of_day(today + timedelta(days=1))
        )

    def _show_plot(self) -> None:
        measure = cast(Measure, self._measure.selected)
        unknown = measure == "cost" and bool(self._rows) and not sum_usage(self._rows).priced
        drawn = bool(self._rows) and not unknown
        self._unknown.setVisible(unknown)
        self._plot.setVisible(drawn)
        self._legend.setVisible(drawn)
        if drawn:
            models = ranked_models(self._rows, measure)
            self._legend.show_names(models)
            today = to_local_time(self._clock()).date()
            bars = make_bars(self._rows, self._first_day(today), today, self._plot.room, models)
            self._plot.show_bars(bars, measure)

    def _first_day(self, today: date) -> date:
        """Return the first day that the plot shows."""
        days = RANGES[self._range.selected]
        first = today - timedelta(days=days - 1) if days else date.fromisoformat(self._rows[0].day)
        return min(first, today)

    def _show_table(self) -> None:
        by = cast(UsageGrouping, self._by.selected)
        self._model.show_sums(group_usage(self._rows, by), by)

    def _lay_out(self) -> None:
        header = CompactRow(QMargins(20, 11, 20, 11), spacing=8)
        header.row.addWidget(self._title)
        header.row.addStretch(1)
        header.row.addWidget(self._range)
        header.row.addWidget(self._export)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(20, 16, 20, 20)
        column.setSpacing(12)
        column.addWidget(self._figures)
        column.addWidget(self._empty)
        column.addWidget(self._measure, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._plot)
        column.addWidget(self._unknown)
        column.addWidget(self._legend)
        column.addSpacing(8)
        column.addWidget(self._by, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._table)
        column.addStretch(1)
        scroll = self._scroll = QScrollArea()
        scroll.setObjectName("usage.scroll")
        scroll.setAccessibleName(self.tr("Usage"))
        scroll.setWidgetResizable(True)
        scroll.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(header)
        layout.addWidget(hairline())
        layout.addWidget(scroll, 1)

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_plot()
