"""Creates horizontal splitters with a thin handle, and restores the sizes that the user has chosen."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from ui.base.window_state import WindowState


def horizontal_splitter(
    left: QWidget, right: QWidget, *, left_width: int, right_width: int, stretches_left: bool = False
) -> QSplitter:
    """Return a splitter with two widgets. Additional width goes to the right one, with `stretches_left` to the left."""
    splitter = QSplitter(Qt.Orientation.Horizontal)
    splitter.setHandleWidth(1)
    splitter.setChildrenCollapsible(False)
    splitter.addWidget(left)
    splitter.addWidget(right)
    splitter.setStretchFactor(0 if stretches_left else 1, 1)
    splitter.setSizes([left_width, right_width])
    order_children(splitter)
    return splitter


def order_children(splitter: QSplitter) -> None:
    """Make screen readers read the widgets of a splitter from left to right; Qt has them in reverse order."""
    for index in reversed(range(splitter.count())):
        if widget := splitter.widget(index):
            widget.lower()


def remember_sizes(splitter: QSplitter, state: WindowState, name: str) -> None:
    """Restore the sizes that the user gave a splitter, and store them whenever the user moves the handle."""
    sizes = [int(size) for size in state.text(name).split(",") if size.isdigit()]
    if len(sizes) == splitter.count():
        splitter.setSizes(sizes)
    splitter.splitterMoved.connect(lambda *_: state.set_text(name, ",".join(map(str, splitter.sizes()))))
