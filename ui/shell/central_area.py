"""The central area of the window: a session, the start screen or a page, with errors above and the toast below."""

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

MIN_WIDTH = 420


class CentralArea(QWidget):
    """A stack of widgets; `show_part` shows one of them."""

    def __init__(self, notice: QWidget, toast: QWidget, *widgets: QWidget) -> None:
        super().__init__()
        self._stack = QStackedWidget()
        self._stack.setMinimumWidth(MIN_WIDTH)
        self._stack.addWidget(QWidget())  # shown until the sessions have been read
        for widget in widgets:
            self._stack.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        notice_layout = QVBoxLayout()
        notice_layout.setContentsMargins(12, 0, 12, 0)
        notice_layout.addWidget(notice)
        column.addLayout(notice_layout)
        column.addWidget(self._stack, 1)
        column.addWidget(toast)

    def show_part(self, part: QWidget) -> None:
        self._stack.setCurrentWidget(part)

    def shows(self, part: QWidget) -> bool:
        return self._stack.currentWidget() is part
