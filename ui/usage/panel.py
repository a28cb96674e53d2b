"""What models were asked for and what it cost: figures, a picture by day, a table, and a file for other programs."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final, cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from core.domain.problems import Trouble
from core.store.usage import Used
from core.timeline.spending import By, as_csv, grouped, total
from ui.bridge import Bridge
from ui.figures import amount, duration
from ui.page import Page, Say, Start
from ui.theme import Look
from ui.usage.bars import bars, names
from ui.usage.legend import UsageLegend
from ui.usage.plot import UsagePlot
from ui.usage.table import UsageModel, UsageTable
from ui.usage.words import Measure, cost
from ui.widgets.button import Button
from ui.widgets.segments import Segments
from ui.widgets.times import midnight_of, moment
from ui.widgets.words import hairline, label

RANGES: Final = {"7": 7, "30": 30, "90": 90, "all": 0}


class UsagePanel(Page):
    """Asks the engine for the figures whenever it is opened, and when another range is chosen."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start: Start,
        tell: Callable[[Trouble], None],
        say: Say,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__()
        self._look, self._bridge, self._start, self._tell, self._say = look, bridge, start, tell, say
        self._clock = clock
        self._rows: Sequence[Used] = ()
        self._title = label(self.tr("Usage"), look.fonts.title, name="usage.title")
        ranges = [("7", self.tr("7 days")), ("30", self.tr("30 days")), ("90", self.tr("90 days"))]
        self._range = Segments(look, self.tr("Range"), [*ranges, ("all", self.tr("All"))], name="usage.range")
        self._range.choose("30")
        self._export = Button(look, self.tr("Export CSV"), name="usage.export", icon="share")
        self._figures = label("", look.fonts.text, name="usage.figures", wrap=True)
        self._empty = label("", look.fonts.text, "second", name="usage.empty", wrap=True)
        self._empty.hide()
        bys = [("day", self.tr("By day")), ("model", self.tr("By model")), ("folder", self.tr("By folder"))]
        self._by = Segments(look, self.tr("Figures"), bys, name="usage.by")
        measures = [("tokens", self.tr("Tokens")), ("cost", self.tr("Cost")), ("time", self.tr("Time"))]
        self._measure = Segments(look, self.tr("Plot"), measures, name="usage.measure")
        self._plot = UsagePlot(look)
        self._legend = UsageLegend(look)
        self._unknown = label(
            self.tr("No price is known of these models, so their cost is unknown."),
            look.fonts.text, "second", name="usage.unknown", wrap=True,
        )  # fmt: skip
        self._model = UsageModel()
        self._table = UsageTable(look, self._model)
        self._lay_out()
        self._range.chosen.connect(lambda _: self.ask())
        self._by.chosen.connect(lambda _: self._show_table())
        self._measure.chosen.connect(lambda _: self._show_plot())
        self._export.clicked.connect(self.export)

    def open_on(self, about: tuple[str, ...]) -> None:
        self.ask()

    def ask(self) -> None:
        """Bring the figures up to date."""
        since = self._since()

        async def look() -> None:
            rows = await self._bridge.ask(lambda engine: engine.used(since))
            if since == self._since():
                self.show_used(rows)

        self._start(look(), "look at the use")

    def show_used(self, rows: Sequence[Used]) -> None:
        self._rows = rows
        whole = total(rows)
        parts = [
            self.tr("{} tokens").format(amount(whole.tokens)),
            self.tr("cost {}").format(cost(whole)),
            self.tr("{} of models").format(duration(whole.time) or "0s"),
            self.tr("{} replies").format(f"{whole.replies:,}"),
        ]
        self._figures.setText(" · ".join(parts))
        self._empty.setText(
            self.tr("No model was asked for anything. Start a run; what it uses is counted here.")
            if self._range.choice == "all"
            else self.tr("No model was asked for anything in these days. Choose a longer range, or start a run.")
        )
        for part in (self._figures, self._measure, self._by, self._table):
            part.setVisible(bool(rows))
        self._empty.setVisible(not rows)
        self._export.setEnabled(bool(rows))
        self._show_plot()
        self._show_table()

    def export(self) -> None:
        """To a file that the person names."""
        dialog = QFileDialog(self, self.tr("Export the figures"))
        dialog.setObjectName("usage.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.selectFile("journeyman-usage.csv")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.write)
        dialog.open()

    def write(self, path: str) -> None:
        """What is shown, day by day."""
        try:
            Path(path).write_text(as_csv(self._rows), encoding="utf-8")
        except OSError as error:
            what = self.tr("The figures could not be written to {}.").format(path)
            self._tell(Trouble(what, f"{error.strerror or error}.", self.tr("Choose another place.")))
        else:
            self._say(self.tr("The figures are in {}.").format(path))

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._figures.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.text)
        self._unknown.setFont(look.fonts.text)
        for part in (self._range, self._measure, self._plot, self._legend, self._by, self._export, self._table):
            part.restyle(look)

    def _since(self) -> int:
        days = RANGES[self._range.choice]
        return midnight_of(moment(self._clock()) - timedelta(days=days - 1)) if days else 0

    def _show_plot(self) -> None:
        measure = cast(Measure, self._measure.choice)
        unknown = measure == "cost" and bool(self._rows) and not total(self._rows).priced
        drawn = bool(self._rows) and not unknown
        self._unknown.setVisible(unknown)
        self._plot.setVisible(drawn)
        self._legend.setVisible(drawn)
        if drawn:
            models = names(self._rows, measure)
            self._legend.show_names(models)
            self._plot.show_bars(bars(self._rows, *self._days(), self._plot.room, models), measure)

    def _days(self) -> tuple[date, date]:
        """The first and the last day of the plot."""
        today, days = moment(self._clock()).date(), RANGES[self._range.choice]
        first = today - timedelta(days=days - 1) if days else date.fromisoformat(self._rows[0].day)
        return min(first, today), today

    def _show_table(self) -> None:
        by = cast(By, self._by.choice)
        self._model.show_sums(grouped(self._rows, by), by)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(20, 11, 20, 11)
        head.setSpacing(8)
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._range)
        head.addWidget(self._export)
        inside = QWidget()
        column = QVBoxLayout(inside)
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
        scroll = QScrollArea()
        scroll.setObjectName("usage.scroll")
        scroll.setAccessibleName(self.tr("Usage"))
        scroll.setWidgetResizable(True)
        scroll.setWidget(inside)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        whole.addWidget(hairline())
        whole.addWidget(scroll, 1)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_plot()
