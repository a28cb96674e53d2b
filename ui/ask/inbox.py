"""A menu of the open questions and permission requests of all sessions."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Question
from core.domain.sessions import SessionRow
from ui.ask.ask_area import OpenRequest
from ui.ask.full_text import one_line
from ui.ask.request_summary import summarize_permission, summarize_question
from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.time_formats import short_age

MAX_ENTRIES: Final = 25
MAX_TITLE_CHARS: Final = 40
MAX_TEXT_CHARS: Final = 64


class InboxMenu(QMenu):
    """A menu that is filled whenever it opens, with the oldest entry first."""

    session_chosen = Signal(str)

    def __init__(
        self,
        look: Look,
        waiting: Callable[[], Sequence[tuple[SessionRow, OpenRequest]]],
        parent: QWidget | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._waiting = waiting
        self._clock = clock
        self.setObjectName("inbox")
        self.setAccessibleName(self.tr("Waiting for you"))

    def open_at(self, button: QWidget) -> None:
        """Open the menu above a button, so that it stays within the window."""
        self.fill()
        size = self.sizeHint()
        self.popup(button.mapToGlobal(QPoint(button.width() - size.width(), -size.height() - 4)))

    def fill(self) -> None:
        self.clear()
        waiting = self._waiting()
        for number, (row, request) in enumerate(waiting[:MAX_ENTRIES], 1):
            summary = summarize_question(request) if isinstance(request, Question) else summarize_permission(request)
            kind_icon = icon(summary.icon, self._look.theme.waiting, self._look.size(16))
            action = self.addAction(kind_icon, entry_text(row, request, self._clock()))
            action.setObjectName(f"inbox.{number}")
            action.triggered.connect(self._choose_handler(row.id))
        if len(waiting) > MAX_ENTRIES:
            self.addAction(self.tr("and {} more").format(len(waiting) - MAX_ENTRIES)).setEnabled(False)
        if not waiting:
            self.addAction(self.tr("Nothing is waiting for you.")).setEnabled(False)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)

    def _choose_handler(self, session: str) -> Callable[[], None]:
        return lambda: self.session_chosen.emit(session)


def entry_text(row: SessionRow, request: OpenRequest, now: int) -> str:
    """Return the text of a menu entry. `&` and tabs are escaped, because Qt would give them a special meaning."""
    summary = summarize_question(request) if isinstance(request, Question) else summarize_permission(request)
    return (
        f"{_plain(row.title, MAX_TITLE_CHARS)}: "
        f" {_plain(summary.bar_text, MAX_TEXT_CHARS)}\t{short_age(summary.asked_at, now)}"
    )


def _plain(text: str, max_length: int) -> str:
    line = " ".join(one_line(text).split())
    shortened = line if len(line) <= max_length else f"{line[: max_length - 1]}…"
    return shortened.replace("&", "&&")
