"""Ensures that a focused list has a current row, because otherwise a screen reader has nothing to read."""

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QAbstractItemView


def keep_current_row(view: QAbstractItemView) -> None:
    """Make the first selectable row current whenever the list has the focus, but no current row.

    Qt itself does so only when a list gets the focus, but not when it is filled later or begins with a heading. Call
    this after the model has been set.
    """
    _CurrentRowFilter(view)


class _CurrentRowFilter(QObject):
    """The event filter of a list, which is also its parent."""

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        view.installEventFilter(self)
        for filled in (view.model().modelReset, view.model().rowsInserted, view.model().layoutChanged):
            filled.connect(self._choose_when_focused)

    def _choose_when_focused(self) -> None:
        if self._view.hasFocus():
            self._choose()

    def _choose(self) -> None:
        if not self._view.currentIndex().isValid() and (first := self._first()).isValid():
            self._view.selectionModel().setCurrentIndex(first, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _first(self) -> QModelIndex:
        rows, can_be_current = self._view.model(), Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        indexes = (rows.index(row, 0) for row in range(rows.rowCount()))
        return next((index for index in indexes if rows.flags(index) & can_be_current == can_be_current), QModelIndex())

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.gotFocus() and event.reason() != Qt.FocusReason.MouseFocusReason:
            self._choose()
        return False
