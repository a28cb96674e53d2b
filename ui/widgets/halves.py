"""Two parts side by side, and a fine line between them that can be moved."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget


def halves(left: QWidget, right: QWidget, widths: tuple[int, int], *, grows: int = 1) -> QSplitter:
    """`grows` is the place of the one that takes what room there is more."""
    made = QSplitter(Qt.Orientation.Horizontal)
    made.setHandleWidth(1)
    made.setChildrenCollapsible(False)
    made.addWidget(left)
    made.addWidget(right)
    made.setStretchFactor(grows, 1)
    made.setSizes(list(widths))
    return made
