"""A label that says how long a question has been waiting, and how long it still will; and keeps saying it right."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt, QTimer
from PySide6.QtGui import QFont, QHideEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from core.domain.clock import SECOND
from ui.widgets.times import age

EVERY_MS: Final = 15_000
COUNT_MS: Final = 1_000


class AgeLabel(QLabel):
    """Its slow clock ticks only while somebody can see it. `pattern` has one place for the age.

    With `until` it counts down to that moment, after which comes `then`; `hold` ends the counting for good.
    """

    def __init__(
        self,
        pattern: str,
        asked: int,
        *,
        before: str = "",
        says_waiting: bool = False,
        until: int = 0,
        then: str = "",
        font: QFont,
        clock: Callable[[], int],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._pattern, self._before, self._asked, self._clock = pattern, before, asked, clock
        self._until, self._then, self._says_waiting = until, then, says_waiting
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

    def hold(self) -> None:
        """Somebody has begun to answer."""
        self._until = 0
        self.tell()

    def tell(self) -> None:
        now = self._clock()
        left = (self._until - now) // SECOND
        counting = self._until > 0 and left >= 0
        waited = self._before + self._pattern.format(age(self._asked, now))
        if counting:
            self.setText(f"{waited} · {_tr('{} left, then {}').format(f'{left // 60}:{left % 60:02}', self._then)}")
        else:
            self.setText(f"{waited} · {_tr('waits until you answer')}" if self._says_waiting else waited)
        self._ticks.setInterval(COUNT_MS if counting else EVERY_MS)

    def showEvent(self, event: QShowEvent) -> None:
        self.tell()
        self._ticks.start()
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._ticks.stop()
        super().hideEvent(event)


def _tr(text: str) -> str:
    return QCoreApplication.translate("age", text)
