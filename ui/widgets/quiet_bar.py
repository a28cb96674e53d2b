"""A scroll bar that keeps its place, so that no text is laid out anew, and shows itself when it can scroll."""

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QScrollBar


class QuietBar(QScrollBar):
    def paintEvent(self, event: QPaintEvent) -> None:
        if self.maximum() > self.minimum():
            super().paintEvent(event)
