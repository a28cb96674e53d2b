"""A menu of what waits for the user in all sessions: questions, permission requests, and decisions after an error."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QPoint, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Question
from core.domain.sessions import SessionRow
from ui.ask.ask_area import OpenRequest
from ui.ask.full_text import one_line
from ui.ask.request_summary import RequestSummary, summarize_permission, summarize_question
from ui.style.icons import icon, set_menu_style
from ui.style.theme import Look
from ui.widgets.time_formats import short_age

MAX_ENTRIES: Final = 25
MAX_TITLE_CHARS: Final = 40
MAX_TEXT_CHARS: Final = 64
ICON_SIZE: Final = 16
DECISION_ICON: Final = "triangle-alert"
DISTANCE: Final = 4  # pixels between the menu and the button


class WaitingRequest(NamedTuple):
    """A request that waits for the user, and the row of its session."""

    row: SessionRow
    request: OpenRequest


class _InboxEntry(NamedTuple):
    icon: str
    text: str
    session: str


class InboxMenu(QMenu):
    """A menu that is filled whenever it opens: first the requests, then the sessions that need a decision.

    `waiting` returns the requests. `undecided` returns the sessions without a request in which the user has to choose
    how to continue. Both are listed in the order in which they are returned.
    """

    session_chosen = Signal(str)

    def __init__(
        self,
        look: Look,
        waiting: Callable[[], Sequence[WaitingRequest]],
        undecided: Callable[[], Sequence[SessionRow]] = tuple,
        parent: QWidget | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._waiting = waiting
        self._undecided = undecided
        self._clock = clock
        self.setObjectName("inbox")
        self.setAccessibleName(self.tr("Waiting for you"))
        set_menu_style(self, look)
        self.triggered.connect(self._choose)

    def open_at(self, button: QWidget) -> None:
        """Open the menu above a button, so that it stays within the window."""
        self.fill()
        size = self.sizeHint()
        self.popup(button.mapToGlobal(QPoint(button.width() - size.width(), -size.height() - DISTANCE)))

    def fill(self) -> None:
        self.clear()
        entries = self._entries()
        for number, entry in enumerate(entries[:MAX_ENTRIES], 1):
            picture = icon(entry.icon, self._look.theme.waiting, self._look.size(ICON_SIZE))
            action = self.addAction(picture, entry.text)
            action.setObjectName(f"inbox.{number}")
            action.setData(entry.session)
        if len(entries) > MAX_ENTRIES:
            self.addAction(self.tr("and {} more").format(len(entries) - MAX_ENTRIES)).setEnabled(False)
        if not entries:
            self.addAction(self.tr("Nothing is waiting for you.")).setEnabled(False)

    def restyle(self, look: Look) -> None:
        self._look = look
        set_menu_style(self, look)

    def _entries(self) -> list[_InboxEntry]:
        now = self._clock()
        requests = [_request_entry(waiting, now) for waiting in self._waiting()]
        decisions = [_InboxEntry(DECISION_ICON, decision_text(row, now), row.id) for row in self._undecided()]
        return [*requests, *decisions]

    def _choose(self, action: QAction) -> None:
        self.session_chosen.emit(action.data())


def _request_entry(waiting: WaitingRequest, now: int) -> _InboxEntry:
    summary = summarize(waiting.request)
    return _InboxEntry(summary.icon, request_text(waiting.row, summary, now), waiting.row.id)


def request_text(row: SessionRow, summary: RequestSummary, now: int) -> str:
    """Return the text of the menu entry for a request in a session."""
    return _labeled_text(row, summary.bar_text, summary.asked_at, now)


def decision_text(row: SessionRow, now: int) -> str:
    """Return the text of the menu entry for a session in which the user has to choose how to continue."""
    if row.status == "interrupted":
        text = QCoreApplication.translate("inbox", "interrupted")
    else:
        text = QCoreApplication.translate("inbox", "request failed: {}").format(row.activity)
    return _labeled_text(row, text, row.updated_at, now)


def summarize(request: OpenRequest) -> RequestSummary:
    return summarize_question(request) if isinstance(request, Question) else summarize_permission(request)


def _labeled_text(row: SessionRow, text: str, since: int, now: int) -> str:
    """Return the title of a session and a text, and on the right how long ago `since` was."""
    return f"{_shortened(row.title, MAX_TITLE_CHARS)}:  {_shortened(text, MAX_TEXT_CHARS)}\t{short_age(since, now)}"


def _shortened(text: str, max_length: int) -> str:
    """Return the text as one line of limited length. `&` and tabs, which have a meaning in a menu, have none in it."""
    line = " ".join(one_line(text).split())
    shortened = line if len(line) <= max_length else f"{line[: max_length - 1]}…"
    return shortened.replace("&", "&&")
