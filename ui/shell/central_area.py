"""The central area of the window: a session, the start screen or a page. Error messages and short notices float above
it.
"""

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from ui.timeline.run_page import RunPage
from ui.widgets.focus_order import tab_stops

MIN_WIDTH: Final = 420
MARGIN: Final = 12
GAP: Final = 8
VISIBILITY_EVENTS: Final = (QEvent.Type.ShowToParent, QEvent.Type.HideToParent)


class CentralArea(QWidget):
    """A stack of widgets; `show_part` shows one of them.

    The error bar and the toast (a short notice) float at the bottom and never cover a button. In a session they float
    above its bars, the request card and the composer; the steps reserve space for them at their end, so that nothing
    moves under the mouse pointer when they appear or disappear. Any other page becomes lower to make room for them.
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
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self._stack)
        for floating in self._floating:
            floating.setParent(self)
            floating.hide()
            floating.installEventFilter(self)

    def show_part(self, part: QWidget, page: RunPage | None = None) -> None:
        """Show a widget of the stack. `page` is the session page that it shows, if any; messages float at its bottom.

        If the focus was in the hidden widget, it moves to the widget that had it last in `part`; without one, to the
        tab of the session or the first Tab stop.
        """
        focused: QWidget | None = self.window().focusWidget()
        leaves_focus = focused is not None and self._stack.isAncestorOf(focused) and not part.isAncestorOf(focused)
        if focused is not None and leaves_focus:
            focused.clearFocus()  # Qt would move it to the first button shown, which screen readers would read
        self._stack.setCurrentWidget(part)
        if leaves_focus:
            self._restore_focus(part, page)
        if page is not self._page:
            self._follow_page(page)
        self._place_messages()

    def _restore_focus(self, part: QWidget, page: RunPage | None) -> None:
        last_focused: QWidget | None = part.focusWidget()
        if last_focused is not None and last_focused.isVisibleTo(part):
            last_focused.setFocus(Qt.FocusReason.OtherFocusReason)
        elif page:
            page.focus_tab()
        else:
            QTimer.singleShot(0, self, lambda: self._focus_first(part))

    def _follow_page(self, page: RunPage | None) -> None:
        """Let the messages float above the bars of another page, whose movements are watched from now on."""
        if self._page:
            for watched in (self._page, *self._page.bars):
                watched.removeEventFilter(self)
            self._page.reserve_bottom(0)
        self._page = page
        if page:
            for watched in (page, *page.bars):
                watched.installEventFilter(self)

    def _focus_first(self, part: QWidget) -> None:
        """Focus the first Tab stop of a widget, unless another widget has taken the focus."""
        focused: QWidget | None = self.window().focusWidget()
        usable_stops = (stop for stop in tab_stops(part) if stop.isVisible() and stop.isEnabled())
        if focused is None and (first_stop := next(usable_stops, None)):
            first_stop.setFocus(Qt.FocusReason.OtherFocusReason)

    def shows(self, part: QWidget) -> bool:
        return self._stack.currentWidget() is part

    def _place_messages(self) -> None:
        """Place the error bar above the toast, and both above the bars of the session or below the page."""
        page = self._page
        bottom = self._bottom_of(page) if page else self.height()
        left = page.mapTo(self, page.rect().topLeft()).x() if page else 0
        width = (page.width() if page else self.width()) - 2 * MARGIN
        used_height = 0
        for floating in reversed(self._floating):
            if floating.isHidden():
                continue
            wrapped_height = floating.heightForWidth(width) if floating.hasHeightForWidth() else 0
            height = max(wrapped_height, floating.minimumSizeHint().height())
            used_height += height + GAP
            floating.setGeometry(left + MARGIN, max(0, bottom - used_height), width, height)
            floating.raise_()
        self._column.setContentsMargins(0, 0, 0, 0 if page else used_height)
        if page:
            page.reserve_bottom(used_height)

    def _bottom_of(self, page: RunPage) -> int:
        """Return the y coordinate above which messages may float: the top of a bar, or the bottom of the page."""
        tops = [bar.mapTo(self, bar.rect().topLeft()).y() for bar in page.bars if not bar.isHidden()]
        return min([page.mapTo(self, page.rect().bottomLeft()).y(), *tops])

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_messages()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched in self._floating:
            affects_messages = event.type() in (*VISIBILITY_EVENTS, QEvent.Type.LayoutRequest)
        else:
            affects_messages = event.type() in (*VISIBILITY_EVENTS, QEvent.Type.Resize, QEvent.Type.Move)
        if affects_messages:
            self._place_messages()
        return super().eventFilter(watched, event)
