"""A text editor with access to its lines by number."""

from collections.abc import Iterator
from typing import NamedTuple

from PySide6.QtCore import QRect
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit


class VisibleLine(NamedTuple):
    """The number of a line, counted from 0, and its rectangle in the viewport. A wrapped line is several rows high."""

    number: int
    rect: QRect


class LineTextEdit(QPlainTextEdit):
    """A plain text editor whose lines are counted from 0."""

    def go_to_line(self, line: int) -> None:
        block = self.document().findBlockByNumber(max(0, min(line, self.blockCount() - 1)))
        self.setTextCursor(QTextCursor(block))
        self.centerCursor()

    def line_height(self) -> int:
        """Return the height of a line that is not wrapped."""
        return self.fontMetrics().height()

    def visible_lines(self, within: QRect) -> Iterator[VisibleLine]:
        """Yield the visible lines that intersect `within`."""
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= within.bottom():
            height = self.blockBoundingRect(block).height()
            if block.isVisible() and top + height >= within.top():
                rect = QRect(0, round(top), self.viewport().width(), round(height))
                yield VisibleLine(block.blockNumber(), rect)
            top += height
            block = block.next()
