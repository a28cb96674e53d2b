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
            filled.connect(self._ensure_current_row_if_focused)

    def _ensure_current_row_if_focused(self) -> None:
        if self._view.hasFocus():
            self._ensure_current_row()

    def _ensure_current_row(self) -> None:
        if not self._view.currentIndex().isValid() and (first := self._first_selectable()).isValid():
            self._view.selectionModel().setCurrentIndex(first, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _first_selectable(self) -> QModelIndex:
        """Return the index of the first row that can be selected; an invalid index if there is none."""
        model, needed_flags = self._view.model(), Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        for row in range(model.rowCount()):
            index = model.index(row, 0)
            if model.flags(index) & needed_flags == needed_flags:
                return index
        return QModelIndex()

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.gotFocus() and event.reason() != Qt.FocusReason.MouseFocusReason:
            self._ensure_current_row()
        return False
