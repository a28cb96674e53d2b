"""The list of sessions as a view: two heights of row, keys that move freely, Enter that chooses."""

from typing import Final

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from ui.sessions.delegate import SessionsDelegate
from ui.sessions.model import SessionsModel
from ui.widgets.words import ENTER_KEYS

WIDTH: Final = 264
OWN_KEYS: Final = frozenset({Qt.Key.Key_F2, Qt.Key.Key_Delete, Qt.Key.Key_Backspace})
FIRST_KEYS: Final = frozenset({Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Home, Qt.Key.Key_PageDown})


class SessionsView(QTableView):
    """One column of rows; the keyboard moves freely and Enter chooses."""

    entered_row = Signal(QModelIndex)
    trash_wanted = Signal()
    undo_wanted = Signal()
    menu_wanted = Signal(QPoint)

    def __init__(self, model: SessionsModel, delegate: SessionsDelegate, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows, self._painter = model, delegate
        self.setObjectName("sessions.list")
        self.setProperty("surface", "sessions")  # the delegate fills what is chosen
        self.setAccessibleName(self.tr("Sessions"))
        self.setModel(model)
        self.setItemDelegate(delegate)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(8)
        self.verticalScrollBar().setSingleStep(24)
        model.modelReset.connect(self.fit_rows)
        model.rowsInserted.connect(lambda _parent, first, last: self._fit_headings(first, last))

    def fit_rows(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._painter.row_height())
        # A reset keeps the former heights by position, so every row is looked at.
        header, headings = self.verticalHeader(), set(self._rows.headings())
        heights = (self._painter.row_height(), self._painter.heading_height())
        for number in range(self._rows.rowCount()):
            height = heights[number in headings]
            if header.sectionSize(number) != height:
                header.resizeSection(number, height)

    def _fit_headings(self, first: int, last: int) -> None:
        height = self._painter.heading_height()
        for number in self._rows.headings():
            if first <= number <= last:
                self.verticalHeader().resizeSection(number, height)

    def chosen(self) -> list[QModelIndex]:
        """The lines that are meant: those selected, else the one that has the keyboard."""
        selected = self.selectedIndexes()
        return selected if len(selected) > 1 else [self.currentIndex()]

    def rename(self) -> None:
        """Write a new name where the old one stands."""
        index = self.currentIndex()
        if self._rows.flags(index) & Qt.ItemFlag.ItemIsEditable:
            self.edit(index)

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        self._painter.several = len(self.selectedIndexes()) > 1
        self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """By the menu key it opens at the line that has the keyboard, by the mouse where that is."""
        index = self.indexAt(event.pos())
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
            place = self.visualRect(index).center()
        else:
            place = event.pos()
            if index.isValid() and index not in self.selectedIndexes():
                self.setCurrentIndex(index)
        if index.isValid():
            self.menu_wanted.emit(self.viewport().mapToGlobal(place))
        event.accept()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 320)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard = True
        if self._act(event):
            event.accept()
            return
        if event.key() in ENTER_KEYS and self.currentIndex().isValid():
            self.entered_row.emit(self.currentIndex())
            event.accept()
            return
        if event.key() in FIRST_KEYS and not self.currentIndex().isValid():
            self.go_to_first()
            event.accept()
            return
        super().keyPressEvent(event)

    def _act(self, event: QKeyEvent) -> bool:
        """The keys that do something with a line."""
        if event.matches(QKeySequence.StandardKey.Undo):
            self.undo_wanted.emit()
        elif event.key() == Qt.Key.Key_F2:
            self.rename()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and not event.modifiers():
            self.trash_wanted.emit()
        else:
            return False
        return True

    def event(self, event: QEvent) -> bool:
        """The list's own keys come before the window's."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and (event.matches(QKeySequence.StandardKey.Undo) or event.key() in OWN_KEYS)
        ):
            event.accept()
            return True
        return super().event(event)

    def stand_on(self, index: QModelIndex) -> None:
        """This line and no other: `setCurrentIndex` adds to the selection while the Ctrl of a shortcut is held."""
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def go_to_first(self) -> None:
        """Qt would stop at the heading, which cannot be entered."""
        headings = set(self._rows.headings())
        first = next((number for number in range(self._rows.rowCount()) if number not in headings), -1)
        self.setCurrentIndex(self._rows.index(first))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._painter.keyboard = False
        super().mousePressEvent(event)

    def updateGeometries(self) -> None:
        super().updateGeometries()
        # The bar brings its own room at the edge.
        self._painter.right_margin = 2 if self.verticalScrollBar().maximum() > 0 else 8
