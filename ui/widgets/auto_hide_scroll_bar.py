"""A scroll bar that always reserves its width, which avoids rewrapping text, but is painted only when needed."""

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QScrollBar


class AutoHideScrollBar(QScrollBar):
    def paintEvent(self, event: QPaintEvent) -> None:
        if self.maximum() > self.minimum():
            super().paintEvent(event)
