"""A label that says how long a question has been waiting, and keeps saying it right."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont, QHideEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from ui.widgets.times import age

EVERY_MS: Final = 15_000


class AgeLabel(QLabel):
    """Its slow clock ticks only while somebody can see it. `pattern` has one place for the age."""

    def __init__(
        self,
        pattern: str,
        asked: int,
        *,
        before: str = "",
        font: QFont,
        clock: Callable[[], int],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._pattern, self._before, self._asked, self._clock = pattern, before, asked, clock
        self.setObjectName("question.age")
        self.setProperty("tone", "second")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(font)
        self._ticks = QTimer(self, interval=EVERY_MS)
        self._ticks.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._ticks.timeout.connect(self.tell)
        self.tell()

    def ticking(self) -> bool:
        return self._ticks.isActive()

    def tell(self) -> None:
        self.setText(self._before + self._pattern.format(age(self._asked, self._clock())))

    def showEvent(self, event: QShowEvent) -> None:
        self.tell()
        self._ticks.start()
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._ticks.stop()
        super().hideEvent(event)
