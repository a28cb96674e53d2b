"""The middle of the window: a session, the start, or a page; troubles above it, what was just done below."""

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

LEAST = 420


class Centre(QWidget):
    """Shows one of its parts; which one is told."""

    def __init__(self, notice: QWidget, toast: QWidget, *parts: QWidget) -> None:
        super().__init__()
        self._stack = QStackedWidget()
        self._stack.setMinimumWidth(LEAST)
        self._stack.addWidget(QWidget())  # until it is known what there is to show
        for part in parts:
            self._stack.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        around_notice = QVBoxLayout()
        around_notice.setContentsMargins(12, 0, 12, 0)
        around_notice.addWidget(notice)
        column.addLayout(around_notice)
        column.addWidget(self._stack, 1)
        column.addWidget(toast)

    def show_part(self, part: QWidget) -> None:
        self._stack.setCurrentWidget(part)

    def shows(self, part: QWidget) -> bool:
        return self._stack.currentWidget() is part
