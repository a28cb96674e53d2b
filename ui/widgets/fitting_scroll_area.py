"""A scroll area that is as high as its content if there is room, and scrolls otherwise."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

MIN_LINES = 4  # lines of text that always stay visible


class FittingScrollArea(QScrollArea):
    """A scroll area whose size hint is the height that its content needs at the current width.

    If it `reserves_bar`, its minimum width has room for the scroll bar beside the content.
    """

    def __init__(self, content: QWidget, parent: QWidget | None = None, *, reserves_bar: bool = False) -> None:
        super().__init__(parent)
        self._content = content
        self._reserves_bar = reserves_bar
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setWidget(content)
        for widget in (content, self.viewport()):
            widget.setAutoFillBackground(False)

    def scroll_to(self, part: QWidget) -> None:
        """Scroll to make a widget of the content visible, even if a layout is pending."""
        layout = self._content.layout()
        if layout is not None:
            layout.activate()
        self.ensureWidgetVisible(part, 0, 8)

    def _choose_bar(self) -> None:
        # Measure without the scroll bar, because text that wraps only because of the bar would keep it visible.
        fits = self.heightForWidth(self.width()) <= self.height()
        off, needed = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
        self.setVerticalScrollBarPolicy(off if fits else needed)

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._choose_bar()
        super().resizeEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self._choose_bar()
        return super().eventFilter(watched, event)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self._content.layout()
        if layout is not None and layout.hasHeightForWidth():
            return layout.totalHeightForWidth(width)
        return self._content.sizeHint().height()

    def sizeHint(self) -> QSize:
        width = max(self.width(), self._content.minimumSizeHint().width())
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        bar = self.verticalScrollBar().sizeHint().width() if self._reserves_bar else 0
        return QSize(
            self._content.minimumSizeHint().width() + bar,
            min(MIN_LINES * self.fontMetrics().height(), self.sizeHint().height()),
        )
