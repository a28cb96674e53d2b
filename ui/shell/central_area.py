"""The central area of the window: a session, the start screen or a page. Errors and the toast float above it."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from ui.timeline.run_page import RunPage

MIN_WIDTH = 420
MARGIN = 12
GAP = 8


class CentralArea(QWidget):
    """A stack of widgets; `show_part` shows one of them.

    The error bar and the toast float at the bottom, in a session above the question and the composer, so that nothing
    that the user is about to click moves when they come and go. The steps of a session leave them room at their end.
    """

    def __init__(self, notice: QWidget, toast: QWidget, *widgets: QWidget) -> None:
        super().__init__()
        self._floating = (notice, toast)
        self._page: RunPage | None = None
        self._stack = QStackedWidget()
        self._stack.setMinimumWidth(MIN_WIDTH)
        self._stack.addWidget(QWidget())  # shown until the sessions have been read
        for widget in widgets:
            self._stack.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)
        for floating in self._floating:
            floating.setParent(self)
            floating.hide()
            floating.installEventFilter(self)

    def show_part(self, part: QWidget, page: RunPage | None = None) -> None:
        """Show a widget. If it shows a session, the error bar and the toast float above the bottom of its `page`."""
        focused = self.window().focusWidget()
        leaves_focus = self._stack.isAncestorOf(focused) and not part.isAncestorOf(focused)
        is_first_visit = part.focusWidget() is None
        self._stack.setCurrentWidget(part)
        if page and leaves_focus and is_first_visit:
            page.focus_tab()  # Qt would focus the first button
        if page is not self._page:
            if self._page:
                self._page.removeEventFilter(self)
                self._page.reserve_bottom(0)
            self._page = page
            if page:
                page.installEventFilter(self)
        self._place()

    def shows(self, part: QWidget) -> bool:
        return self._stack.currentWidget() is part

    def _place(self) -> None:
        """Place the error bar above the toast, and both above the bottom of the page."""
        page = self._page
        bottom = page.mapTo(self, page.rect().bottomLeft()).y() if page else self.height()
        left = page.mapTo(self, page.rect().topLeft()).x() if page else 0
        width = (page.width() if page else self.width()) - 2 * MARGIN
        room = 0
        for floating in reversed(self._floating):
            if floating.isHidden():
                continue
            wrapped = floating.heightForWidth(width) if floating.hasHeightForWidth() else 0
            height = max(wrapped, floating.minimumSizeHint().height())
            room += height + GAP
            floating.setGeometry(left + MARGIN, max(0, bottom - room), width, height)
            floating.raise_()
        if page:
            page.reserve_bottom(room)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = (QEvent.Type.ShowToParent, QEvent.Type.HideToParent, QEvent.Type.LayoutRequest)
        moved = watched is self._page and event.type() in (QEvent.Type.Resize, QEvent.Type.Move)
        if moved or (watched in self._floating and event.type() in kinds):
            self._place()
        return super().eventFilter(watched, event)
