"""A base class for lists of painted rows: a table view with one column and pixel scrolling."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from ui.widgets.auto_hide_scroll_bar import AutoHideScrollBar


class SingleColumnTable(QTableView):
    """A single-column table without headers or grid. The subclass or its owner sets the row heights."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBar(AutoHideScrollBar(self))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header = self.verticalHeader()
        header.hide()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(0)  # allows height 0, which rows have that are collapsed into another row

    def set_row_height(self, height: int) -> None:
        """Set the height of rows that have not been measured yet. The view also scrolls in steps of this height."""
        self.verticalHeader().setDefaultSectionSize(height)
        self.verticalScrollBar().setSingleStep(height)
