"""All that waits for the person, over all sessions, as a list that opens at a button."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Question
from core.domain.sessions import SessionRow
from ui.ask.place import Asked
from ui.ask.said import of_consent, of_question
from ui.ask.whole_text import one_line
from ui.icons import icon
from ui.theme import Look
from ui.widgets.times import short_age

MOST: Final = 25
TITLE: Final = 40
WORDS: Final = 64


class Inbox(QMenu):
    """Read anew each time it opens; the oldest is at the top."""

    chosen = Signal(str)

    def __init__(
        self,
        look: Look,
        waiting: Callable[[], Sequence[tuple[SessionRow, Asked]]],
        parent: QWidget | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__(parent)
        self._look, self._waiting, self._clock = look, waiting, clock
        self.setObjectName("inbox")
        self.setAccessibleName(self.tr("Waiting for you"))

    def open_at(self, button: QWidget) -> None:
        """Above the button, so that it stays in the window."""
        self.fill()
        size = self.sizeHint()
        self.popup(button.mapToGlobal(QPoint(button.width() - size.width(), -size.height() - 4)))

    def fill(self) -> None:
        self.clear()
        waiting = self._waiting()
        for number, (row, asked) in enumerate(waiting[:MOST], 1):
            said = of_question(asked) if isinstance(asked, Question) else of_consent(asked)
            action = self.addAction(
                icon(said.icon, self._look.theme.waiting, self._look.size(16)), entry(row, asked, self._clock())
            )
            action.setObjectName(f"inbox.{number}")
            action.triggered.connect(self._chooser(row.id))
        if len(waiting) > MOST:
            self.addAction(self.tr("and {} more").format(len(waiting) - MOST)).setEnabled(False)
        if not waiting:
            self.addAction(self.tr("Nothing waits for you.")).setEnabled(False)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)

    def _chooser(self, session: str) -> Callable[[], None]:
        return lambda: self.chosen.emit(session)


def entry(row: SessionRow, asked: Asked, now: int) -> str:
    """One line of it. Words of others underline no letter and start no column."""
    said = of_question(asked) if isinstance(asked, Question) else of_consent(asked)
    return f"{_plain(row.title, TITLE)}:  {_plain(said.bar, WORDS)}\t{short_age(said.asked, now)}"


def _plain(text: str, most: int) -> str:
    words = " ".join(one_line(text).split())
    cut = words if len(words) <= most else f"{words[: most - 1]}…"
    return cut.replace("&", "&&")
