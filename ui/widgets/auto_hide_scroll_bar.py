"""A scroll bar that is painted only when it is needed. It always takes its width, so that text is not wrapped again."""

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QScrollBar


class AutoHideScrollBar(QScrollBar):
    def paintEvent(self, event: QPaintEvent) -> None:
        if self.maximum() > self.minimum():
            super().paintEvent(event)
