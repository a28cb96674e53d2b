"""The usage table, with one row for each day, model or folder."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from core.timeline.usage_totals import UsageGrouping, UsageTotals
from ui.style.number_formats import amount, duration
from ui.style.theme import Look
from ui.usage.formatting import cost_text, long_date, model_label, tr
from ui.widgets.tooltip import tooltip_text

Index = QModelIndex | QPersistentModelIndex
TOP: Final = QModelIndex()
NUMBERS: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
WORDS: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


COLUMNS: Final = ("", "Replies", "Input", "Cached input", "Output", "Cost", "Model time")
MIN_NAME_WIDTH: Final = 120  # pixels at 100% text size
FIRST: Final = {"day": "Day", "model": "Model", "folder": "Folder"}


class UsageModel(QAbstractTableModel):
    """The table model: one row for each day, model or folder."""

    def __init__(self) -> None:
        super().__init__()
        self._sums: Sequence[UsageTotals] = ()
        self._by: UsageGrouping = "day"

    def show_sums(self, sums: Sequence[UsageTotals], by: UsageGrouping) -> None:
        self.beginResetModel()
        self._sums, self._by = sums, by
        self.endResetModel()

    def rowCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else len(self._sums)

    def columnCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return NUMBERS if section else WORDS
        return tr(COLUMNS[section] or FIRST[self._by]) if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        totals, column = self._sums[index.row()], index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return NUMBERS if column else WORDS
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip_text(self._tooltip(totals, column))
        return self._cell_texts(totals)[column] if role == Qt.ItemDataRole.DisplayRole else None

    def _cell_texts(self, totals: UsageTotals) -> tuple[str, ...]:
        tokens = (totals.input, totals.cached, totals.output)
        return (
            self._row_label(totals),
            f"{totals.replies:,}",
            *(amount(count) if totals.counted else tr("unknown") for count in tokens),
            cost_text(totals),
            duration(totals.time),
        )

    def _row_label(self, totals: UsageTotals) -> str:
        if self._by == "day":
            return long_date(totals.name)
        return model_label(totals.name)

    def _tooltip(self, totals: UsageTotals, column: int) -> str:
        if 2 <= column <= 4 and not totals.counted:
            return tr("The agent does not report its tokens.")
        exact = {0: self._row_label(totals), 2: f"{totals.input:,}", 3: f"{totals.cached:,}", 4: f"{totals.output:,}"}
        if column == 5 and totals.unpriced:
            return tr("The price is not known for {} of these replies.").format(totals.unpriced)
        return exact.get(column, "")


class UsageTable(QTableView):
    """A table that is as high as its rows, because the page scrolls, and not the table."""

    def __init__(self, look: Look, model: UsageModel) -> None:
        super().__init__()
        self.setModel(model)
        self.setObjectName("usage.table")
        self.setAccessibleName(tr("Usage"))
        self.setProperty("surface", "figures")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)  # see `_fit`
        header.setMinimumSectionSize(72)
        model.modelReset.connect(self._fit)
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)
        self.horizontalHeader().setFont(look.fonts.second)
        self.verticalHeader().setDefaultSectionSize(QFontMetrics(look.fonts.text).height() + 12)
        self._fit()

    def _fit(self) -> None:
        """Give the names the width that the figures leave, but enough to read them; then the table scrolls sideways."""
        header = self.horizontalHeader()
        figures = header.length() - header.sectionSize(0)
        width = max(self.viewport().width() - figures, self._look.size(MIN_NAME_WIDTH))
        header.resizeSection(0, width)
        lines = self.model().rowCount() * self.verticalHeader().defaultSectionSize()
        bar = self.horizontalScrollBar().sizeHint().height() if width + figures > self.viewport().width() else 0
        self.setFixedHeight(lines + header.sizeHint().height() + bar + 4)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
