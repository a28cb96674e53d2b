"""The version history of a memory, with the diff of each change and a button to undo it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from core.domain.memory import MemoryChange
from core.timeline.text_diff import diff_texts
from ui.diff.diff_delegate import ROW_HEIGHT
from ui.diff.diff_view import DiffView
from ui.memory.texts import change_text, tr, wrap_for_diff
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import label
from ui.widgets.time_formats import to_local_time

VISIBLE_ROWS = 6  # changes that are visible without scrolling
MAX_DIFF_LINES = 8  # lines of a diff that are visible without scrolling


def diff_height(look: Look, lines: DiffView) -> int:
    """Return the height of a diff view in pixels, at most that of MAX_DIFF_LINES lines."""
    return look.size(ROW_HEIGHT) * min(MAX_DIFF_LINES, lines.rows.rowCount()) + 6


class VersionHistory(QWidget):
    """Lists the changes, newest first, and shows the diff of the selected one."""

    undo_requested = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._changes: Sequence[MemoryChange] = ()
        self.setObjectName("memory.versions")
        self._list = QListWidget()
        self._list.setObjectName("memory.versions.list")
        self._list.setAccessibleName(tr("Versions"))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._reason = label("", look.fonts.second, "second", name="memory.versions.why", wrap=True)
        self._lines = DiffView(look)
        self._lines.setObjectName("memory.versions.lines")
        self._undo = Button(look, tr("Undo this change"), name="memory.versions.back", icon="undo-2")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._list)
        column.addWidget(self._reason)
        column.addWidget(self._lines)
        column.addWidget(self._undo, 0, Qt.AlignmentFlag.AlignLeft)
        self._list.currentRowChanged.connect(lambda _: self._show())
        self._undo.clicked.connect(lambda: self.undo_requested.emit(self.selected_number))
        self.restyle(look)

    @property
    def selected_number(self) -> int:
        """The number of the selected change; 0 for none."""
        row = self._list.currentRow()
        return self._changes[-1 - row].number if 0 <= row < len(self._changes) else 0

    def show_changes(self, changes: Sequence[MemoryChange]) -> None:
        """Show the changes, which are given oldest first."""
        self._changes = changes
        self._list.clear()
        for change in reversed(changes):
            day = to_local_time(change.at).strftime("%d %b %Y").lstrip("0")
            self._list.addItem(QListWidgetItem(f"{change_text(change)} · {day}"))
        self._update_list_height()
        self._list.setCurrentRow(0)
        self._show()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._list.setFont(look.fonts.second)
        self._reason.setFont(look.fonts.second)
        self._lines.restyle(look)
        self._undo.restyle(look)
        self._update_list_height()

    def _update_list_height(self) -> None:
        row_height = max(1, self._list.sizeHintForRow(0)) if self._changes else 1
        self._list.setFixedHeight(row_height * min(VISIBLE_ROWS, len(self._changes)) + 4)

    def _show(self) -> None:
        number = self.selected_number
        selected = next((change for change in self._changes if change.number == number), None)
        after = selected.content.text if selected and selected.content else ""
        earlier = [change.content.text for change in self._changes if change.number < number and change.content]
        self._show_diff(earlier[-1] if earlier else "", after)
        reason = visible(selected.reason) if selected else ""
        self._reason.setText(reason)
        self._reason.setVisible(bool(reason))
        is_undone = any(change.action == "undone" and change.undoes == number for change in self._changes)
        self._undo.setVisible(selected is not None and number > 1 and not is_undone)

    def _show_diff(self, before: str, after: str) -> None:
        """Show what a change has done to the text; hide the diff if it has no text before or after, or the same."""
        differs = bool(after and before and after != before)
        self._lines.setVisible(differs)
        if differs:
            self._lines.show_diff(
                diff_texts(wrap_for_diff(before), wrap_for_diff(after)), side_by_side=False, can_revert=False
            )
            self._lines.setFixedHeight(diff_height(self._look, self._lines))
