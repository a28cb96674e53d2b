"""The view of the list of sessions, with its row heights and keyboard handling."""

from typing import Final

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from ui.sessions.sessions_delegate import SessionsDelegate
from ui.sessions.sessions_model import SessionsModel
from ui.widgets.labels import ENTER_KEYS

WIDTH: Final = 264
OWN_KEYS: Final = frozenset({Qt.Key.Key_F2, Qt.Key.Key_Delete, Qt.Key.Key_Backspace})
ENTRY_KEYS: Final = frozenset({Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Home, Qt.Key.Key_PageDown})

TAB_REASONS: Final = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class SessionsView(QTableView):
    """A single-column table. Arrow keys move the focus, and Enter opens the session."""

    row_activated = Signal(QModelIndex)
    trash_requested = Signal()
    undo_requested = Signal()
    menu_requested = Signal(QPoint)

    def __init__(self, model: SessionsModel, delegate: SessionsDelegate, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = model
        self._painter = delegate
        self.setObjectName("sessions.list")
        # Disables Qt's selection color, because the delegate paints the selection.
        self.setProperty("surface", "sessions")
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
        # After a reset, each row still has the height of the row that was at its position, so all heights are checked.
        header, headings = self.verticalHeader(), set(self._rows.heading_rows())
        heights = (self._painter.row_height(), self._painter.heading_height())
        for number in range(self._rows.rowCount()):
            height = heights[number in headings]
            if header.sectionSize(number) != height:
                header.resizeSection(number, height)

    def _fit_headings(self, first: int, last: int) -> None:
        height = self._painter.heading_height()
        for number in self._rows.heading_rows():
            if first <= number <= last:
                self.verticalHeader().resizeSection(number, height)

    def action_indexes(self) -> list[QModelIndex]:
        """Return the selected indexes if there are several, otherwise the focused one."""
        selected = self.selectedIndexes()
        return selected if len(selected) > 1 else [self.currentIndex()]

    def rename(self) -> None:
        """Edit the name of the focused session in place."""
        index = self.currentIndex()
        if self._rows.flags(index) & Qt.ItemFlag.ItemIsEditable:
            self.edit(index)

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        self._painter.multiple_selected = len(self.selectedIndexes()) > 1
        self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the menu at the mouse position or, after the menu key, at the focused row."""
        index = self.indexAt(event.pos())
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
            position = self.visualRect(index).center()
        else:
            position = event.pos()
            if index.isValid() and index not in self.selectedIndexes():
                self.setCurrentIndex(index)
        if index.isValid():
            self.menu_requested.emit(self.viewport().mapToGlobal(position))
        event.accept()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 320)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard_used = True
        if self._handle_action_key(event):
            event.accept()
            return
        if event.key() in ENTER_KEYS and self.currentIndex().isValid():
            self.row_activated.emit(self.currentIndex())
            event.accept()
            return
        if event.key() in ENTRY_KEYS and not self.currentIndex().isValid():
            self.go_to_first()
            event.accept()
            return
        super().keyPressEvent(event)

    def _handle_action_key(self, event: QKeyEvent) -> bool:
        """Handle a key that acts on sessions, such as Delete; return whether it was such a key."""
        if event.matches(QKeySequence.StandardKey.Undo):
            self.undo_requested.emit()
        elif event.key() == Qt.Key.Key_F2:
            self.rename()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and not event.modifiers():
            self.trash_requested.emit()
        else:
            return False
        return True

    def event(self, event: QEvent) -> bool:
        """Make the keys of the list take precedence over shortcuts of the window."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and (event.matches(QKeySequence.StandardKey.Undo) or event.key() in OWN_KEYS)
        ):
            event.accept()
            return True
        return super().event(event)

    def select_only(self, index: QModelIndex) -> None:
        """Select only this row.

        `setCurrentIndex` would extend the selection if Ctrl is held, which is the case for a shortcut.
        """
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def go_to_first(self) -> None:
        """Focus the first session. Qt's Home key would stop at the heading, which cannot get the focus."""
        headings = set(self._rows.heading_rows())
        first = next((number for number in range(self._rows.rowCount()) if number not in headings), -1)
        self.setCurrentIndex(self._rows.index(first))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Outline the focused row when the list gets the focus by keyboard."""
        if event.reason() in TAB_REASONS:
            self._painter.keyboard_used = True
        super().focusInEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._painter.keyboard_used = False
        super().mousePressEvent(event)

    def updateGeometries(self) -> None:
        super().updateGeometries()
        # There is no margin at the right, because the scroll bar adds space there.
        self._painter.right_margin = 2 if self.verticalScrollBar().maximum() > 0 else 8
