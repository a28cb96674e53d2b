"""A text whose lines have numbers: where each is on the screen, and how to get to one."""

from collections.abc import Iterator

from PySide6.QtCore import QRect
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit


class LinesField(QPlainTextEdit):
    def go_to_line(self, line: int) -> None:
        block = self.document().findBlockByNumber(max(0, min(line, self.blockCount() - 1)))
        self.setTextCursor(QTextCursor(block))
        self.centerCursor()

    def line_height(self) -> int:
        return self.fontMetrics().height()

    def lines_seen(self, within: QRect) -> Iterator[tuple[int, QRect]]:
        """The lines that are on screen, with their places."""
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= within.bottom():
            height = self.blockBoundingRect(block).height()
            if block.isVisible() and top + height >= within.top():
                yield block.blockNumber(), QRect(0, round(top), self.viewport().width(), round(height))
            top += height
            block = block.next()
