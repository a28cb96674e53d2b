"""The figures of use as a table."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from core.timeline.spending import By, Sum
from ui.figures import amount, duration
from ui.theme import Look
from ui.usage.words import cost, day_words, model_words, tr
from ui.widgets.tip import tip

Index = QModelIndex | QPersistentModelIndex
TOP: Final = QModelIndex()
NUMBERS: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
WORDS: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


COLUMNS: Final = ("", "Replies", "Input", "of it cached", "Output", "Cost", "Time of the models")
FIRST: Final = {"day": "Day", "model": "Model", "folder": "Folder"}


class UsageModel(QAbstractTableModel):
    """One line for each day, model or folder."""

    def __init__(self) -> None:
        super().__init__()
        self._sums: Sequence[Sum] = ()
        self._by: By = "day"

    def show_sums(self, sums: Sequence[Sum], by: By) -> None:
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
        one, column = self._sums[index.row()], index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return NUMBERS if column else WORDS
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self._tip(one, column))
        return self._words(one)[column] if role == Qt.ItemDataRole.DisplayRole else None

    def _words(self, one: Sum) -> tuple[str, ...]:
        return (
            self._name(one), f"{one.replies:,}", amount(one.input), amount(one.cached), amount(one.output), cost(one),
            duration(one.time),
        )  # fmt: skip

    def _name(self, one: Sum) -> str:
        if self._by == "day":
            return day_words(one.name)
        return model_words(one.name)

    def _tip(self, one: Sum, column: int) -> str:
        exact = {0: self._name(one), 2: f"{one.input:,}", 3: f"{one.cached:,}", 4: f"{one.output:,}"}
        if column == 5 and one.unpriced:
            return tr("The price of {} replies is not known.").format(one.unpriced)
        return exact.get(column, "")


class UsageTable(QTableView):
    """As high as its lines: the page scrolls, not the table."""

    def __init__(self, look: Look, model: UsageModel) -> None:
        super().__init__()
        self.setModel(model)
        self.setObjectName("usage.table")
        self.setAccessibleName(tr("Figures of use"))
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
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(72)
        model.modelReset.connect(self._fit)
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        self.setFont(look.fonts.text)
        self.horizontalHeader().setFont(look.fonts.second)
        self.verticalHeader().setDefaultSectionSize(QFontMetrics(look.fonts.text).height() + 12)
        self._fit()

    def _fit(self) -> None:
        lines = self.model().rowCount() * self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(lines + self.horizontalHeader().sizeHint().height() + 4)
