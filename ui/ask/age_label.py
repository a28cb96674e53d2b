"""A label with the age of a question and, if the question expires, a countdown to that moment."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QCoreApplication, QSize, Qt, QTimer
from PySide6.QtGui import QFont, QHideEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from core.domain.clock import SECOND
from ui.widgets.time_formats import age_text

AGE_INTERVAL_MS: Final = 15_000
COUNTDOWN_INTERVAL_MS: Final = 1_000


class AgeLabel(QLabel):
    """A label that keeps the age of a question up to date. Its timer runs only while the label is visible.

    Args:
        pattern: A text with one placeholder for the age.
        asked_at: When the question was asked, in microseconds since the epoch.
        prefix: A text before the pattern.
        show_waiting: Whether to add that the question waits for an answer.
        expires_at: When the question expires, in microseconds since the epoch; 0 if it does not expire.
        on_expiry: What happens when the question expires, as a text for the label.
    """

    def __init__(
        self,
        pattern: str,
        asked_at: int,
        *,
        prefix: str = "",
        show_waiting: bool = False,
        expires_at: int = 0,
        on_expiry: str = "",
        font: QFont,
        clock: Callable[[], int],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._pattern = pattern
        self._prefix = prefix
        self._asked_at = asked_at
        self._clock = clock
        self._expires_at = expires_at
        self._on_expiry = on_expiry
        self._show_waiting = show_waiting
        self.setObjectName("question.age")
        self.setProperty("tone", "second")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setFont(font)
        self._ticks = QTimer(self, interval=AGE_INTERVAL_MS)
        self._ticks.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._ticks.timeout.connect(self.update_text)
        self.update_text()

    def stop_countdown(self) -> None:
        """Stop the countdown permanently, because the user has started to answer."""
        self._expires_at = 0
        self.update_text()

    def update_text(self) -> None:
        """Update the text; while a countdown is shown, do so every second."""
        now = self._clock()
        seconds_left = (self._expires_at - now) // SECOND
        counting_down = self._expires_at > 0 and seconds_left >= 0
        age = self._prefix + self._pattern.format(age_text(self._asked_at, now))
        if counting_down:
            countdown = f"{seconds_left // 60}:{seconds_left % 60:02}"
            self.setText(f"{age} · {_tr('{} left, then {}').format(countdown, self._on_expiry)}")
        else:
            self.setText(f"{age} · {_tr('waits until you answer')}" if self._show_waiting else age)
        self._ticks.setInterval(COUNTDOWN_INTERVAL_MS if counting_down else AGE_INTERVAL_MS)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        """Return the size of the text on one line; it wraps only if there is less room."""
        return self.fontMetrics().size(0, self.text())

    def showEvent(self, event: QShowEvent) -> None:
        self.update_text()
        self._ticks.start()
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._ticks.stop()
        super().hideEvent(event)


def _tr(text: str) -> str:
    return QCoreApplication.translate("age", text)
