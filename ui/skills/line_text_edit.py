"""A text editor with access to its lines by number."""

from collections.abc import Iterator

from PySide6.QtCore import QRect
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit


class LineTextEdit(QPlainTextEdit):
    """A plain text editor whose lines are counted from 0."""

    def go_to_line(self, line: int) -> None:
        block = self.document().findBlockByNumber(max(0, min(line, self.blockCount() - 1)))
        self.setTextCursor(QTextCursor(block))
        self.centerCursor()

    def line_height(self) -> int:
        return self.fontMetrics().height()

    def visible_lines(self, within: QRect) -> Iterator[tuple[int, QRect]]:
        """Yield the visible lines that intersect `within`, each with its rectangle in the viewport."""
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= within.bottom():
            height = self.blockBoundingRect(block).height()
            if block.isVisible() and top + height >= within.top():
                yield block.blockNumber(), QRect(0, round(top), self.viewport().width(), round(height))
            top += height
            block = block.next()
