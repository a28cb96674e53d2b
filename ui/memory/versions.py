"""The versions of one memory: what happened to it, what each changed, and a way to take one back."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from core.domain.memory import Change
from core.timeline.difference import difference
from ui.memory.words import change_words, in_lines, tr
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.difference_rows import ROW
from ui.widgets.difference_view import DifferenceView
from ui.widgets.times import moment
from ui.widgets.words import label

ROWS = 6  # shown at once
MOST = 8  # lines of a difference


def lines_height(look: Look, lines: DifferenceView) -> int:
    """As high as the difference of a sentence is."""
    return look.size(ROW) * min(MOST, lines.rows.rowCount()) + 6


class Versions(QWidget):
    """The newest first; the one that is chosen shows what it changed."""

    taken_back = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._changes: Sequence[Change] = ()
        self.setObjectName("memory.versions")
        self._list = QListWidget()
        self._list.setObjectName("memory.versions.list")
        self._list.setAccessibleName(tr("Versions"))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._why = label("", look.fonts.second, "second", name="memory.versions.why", wrap=True)
        self._lines = DifferenceView(look)
        self._lines.setObjectName("memory.versions.lines")
        self._back = Button(look, tr("Take this change back"), name="memory.versions.back", icon="undo-2")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._list)
        column.addWidget(self._why)
        column.addWidget(self._lines)
        column.addWidget(self._back, 0, Qt.AlignmentFlag.AlignLeft)
        self._list.currentRowChanged.connect(lambda _: self._show())
        self._back.clicked.connect(lambda: self.taken_back.emit(self.number))
        self.restyle(look)

    @property
    def number(self) -> int:
        """Of the change that is chosen; 0 for none."""
        place = self._list.currentRow()
        return self._changes[-1 - place].number if 0 <= place < len(self._changes) else 0

    def show_changes(self, changes: Sequence[Change]) -> None:
        """The oldest first, as they are kept."""
        self._changes = changes
        self._list.clear()
        for change in reversed(changes):
            day = moment(change.at).strftime("%d %b %Y").lstrip("0")
            self._list.addItem(QListWidgetItem(f"{change_words(change)} · {day}"))
        self._fit()
        self._list.setCurrentRow(0)
        self._show()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._list.setFont(look.fonts.second)
        self._why.setFont(look.fonts.second)
        self._lines.restyle(look)
        self._back.restyle(look)
        self._fit()

    def _fit(self) -> None:
        tall = max(1, self._list.sizeHintForRow(0)) if self._changes else 1
        self._list.setFixedHeight(tall * min(ROWS, len(self._changes)) + 4)

    def _show(self) -> None:
        change = next((one for one in self._changes if one.number == self.number), None)
        said = change.said.text if change and change.said else ""
        before = ""
        for one in self._changes:
            if change and one.number < change.number and one.said:
                before = one.said.text
        differs = bool(said and before and said != before)
        self._lines.setVisible(differs)
        if differs:
            changes = difference(in_lines(before), in_lines(said))
            self._lines.show_difference(changes, beside=False, undoable=False)
            self._lines.setFixedHeight(lines_height(self._look, self._lines))
        why = visible(change.why) if change else ""
        self._why.setText(why)
        self._why.setVisible(bool(why))
        back = {one.back for one in self._changes if one.did == "undone"}
        self._back.setVisible(bool(change) and self.number > 1 and self.number not in back)
