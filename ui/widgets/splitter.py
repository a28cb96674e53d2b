"""Creates horizontal splitters with a thin handle, and restores the sizes that the user has chosen."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from ui.base.window_state import WindowState


def horizontal_splitter(left: QWidget, right: QWidget, widths: tuple[int, int], *, stretch_index: int = 1) -> QSplitter:
    """Return a splitter with two widgets. `stretch_index` is the index of the widget that gets additional width."""
    splitter = QSplitter(Qt.Orientation.Horizontal)
    splitter.setHandleWidth(1)
    splitter.setChildrenCollapsible(False)
    splitter.addWidget(left)
    splitter.addWidget(right)
    splitter.setStretchFactor(stretch_index, 1)
    splitter.setSizes(list(widths))
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
