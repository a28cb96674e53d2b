"""Creates horizontal splitters with a thin handle."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget


def horizontal_splitter(left: QWidget, right: QWidget, widths: tuple[int, int], *, stretch_index: int = 1) -> QSplitter:
    """Return a splitter with two widgets; `stretch_index` is the index of the one that takes extra width."""
    splitter = QSplitter(Qt.Orientation.Horizontal)
    splitter.setHandleWidth(1)
    splitter.setChildrenCollapsible(False)
    splitter.addWidget(left)
    splitter.addWidget(right)
    splitter.setStretchFactor(stretch_index, 1)
    splitter.setSizes(list(widths))
    return splitter
