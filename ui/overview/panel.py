"""The Overview page: all sessions that are waiting, running, or ended unseen, which are answered and cleared here."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from core.domain.clock import now as wall_clock
from core.domain.question import Answer
from core.domain.sessions import SessionRow
from core.store.journal_update import JournalUpdate, SessionsPurged
from ui.ask.approval import Approval
from ui.ask.ask_area import AskArea, OpenRequest
from ui.ask.request_actions import RequestActions
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import PanelPage, ShowToast, StartTask
from ui.base.pausing import PauseRequested
from ui.overview.board_groups import CLEARABLE, FAILED, FINISHED, RUNNING, WAITING, list_entries
from ui.overview.session_board import SessionBoard
from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import ENTER_KEYS, hairline, label


class BoardSource(NamedTuple):
    """What the page needs from the window.

    `requests` returns the open requests of a session, `unseen` the sessions that have ended without being seen.
    """

    rows: Callable[[], Collection[SessionRow]]
    requests: Callable[[str], Sequence[OpenRequest]]
    unseen: Callable[[], Collection[str]]
    mark_seen: Callable[[Collection[str]], None]
    mark_unseen: Callable[[Collection[str]], None]
    open_session: Callable[[str], None]


class OverviewPanel(PanelPage):
    """The page. One row is selected. If its session waits for an answer, the row contains the card of the request.

    Keys: Up and Down or J and K select a row, Home and End the first and the last. Enter answers or opens the session,
    O opens it, X clears it.
    """

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start_task: StartTask,
        show_toast: ShowToast,
        reader: DeferredReader,
        board: BoardSource,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__()
        self._source = board
        self._start_task = start_task
        self._bridge = bridge
        self._show_toast = show_toast
        self._actions = RequestActions(bridge, start_task)
        self._title = label(self.tr("Overview"), look.fonts.title, name="overview.title")
        self._counts = label("", look.fonts.text, "second", name="overview.counts")
        self._clear_all = Button(look, self.tr("Clear all that ended"), name="overview.clear")
        text = self.tr("No session runs, waits for you, or has ended unseen.")
        self._empty = label(text, look.fonts.text, "second", name="overview.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        # The card may take the whole height, because the page scrolls; the row that contains it is announced.
        self.asking = AskArea(look, height_share=1, announces_requests=False)
        self.board = SessionBoard(look, self.asking, last_reply=reader.last_reply, clock=clock)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        header = QHBoxLayout()
        header.setContentsMargins(20, 11, 20, 11)
        header.setSpacing(12)
        header.addWidget(self._title)
        header.addWidget(self._counts)
        header.addStretch(1)
        header.addWidget(self._clear_all)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(header)
        layout.addWidget(hairline())
        layout.addWidget(self._empty, 1)
        layout.addWidget(self.board, 1)

    def _connect(self) -> None:
        self._clear_all.clicked.connect(lambda: self._clear(self.board.sessions()))
        self.board.selected.connect(self._show_selected)
        self.board.open_requested.connect(self._source.open_session)
        self.board.clear_requested.connect(lambda session: self._clear([session]))
        self.asking.answered.connect(self._answer)
        self.asking.allowed.connect(self._allow)
        self.asking.changed.connect(self._allow_changed)
        self.asking.denied.connect(self._deny)
        self.asking.denied_all.connect(self._stop)
        self.asking.first_interaction.connect(self._actions.hold_timeout)
        self.asking.request_shown.connect(lambda request: self._actions.show_current_file(self.asking, request))
        self.asking.postponed.connect(self._focus_page)

    def activate(self, about: tuple[str, ...]) -> None:
        self.refresh()
        waiting = self.board.sessions(WAITING)
        if waiting and self.board.selected_session not in waiting:
            self.board.select(waiting[0])
        self._show_selected()
        self._focus_page()
        self._announce_selected(self._counts.text())

    def _announce_selected(self, introduction: str = "") -> None:
        """Announce the selected session, or that there is none."""
        row = self.board.selected_row
        text = row.accessibleName() if row else self._empty.text()
        announce(self, ". ".join(filter(None, (introduction, text))))

    def _focus_page(self) -> None:
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def apply_updates(self, facts: Sequence[object]) -> None:
        touched = {fact.session.id for fact in facts if isinstance(fact, JournalUpdate)}
        touched |= {fact.session for fact in facts if isinstance(fact, PauseRequested)}
        if touched or any(isinstance(fact, SessionsPurged) for fact in facts):
            self.refresh(touched)

    def refresh(self, touched: Collection[str] | None = None) -> None:
        """Show the current state. `touched` are the sessions that may have changed; None means all."""
        self.board.show_entries(list_entries(self._source.rows(), self._source.unseen()), touched)
        is_empty = not self.board.sessions()
        self._empty.setVisible(is_empty)
        self.board.setVisible(not is_empty)
        self._clear_all.setVisible(bool(self.board.sessions(*CLEARABLE)))
        self._show_counts()
        self._show_requests()

    def _show_counts(self) -> None:
        texts = {
            WAITING: self.tr("{} waiting for you"),
            RUNNING: self.tr("{} running"),
            FAILED: self.tr("{} failed"),
            FINISHED: self.tr("{} finished"),
        }
        counts = {group: len(self.board.sessions(group)) for group in texts}
        self._counts.setText(" · ".join(texts[group].format(count) for group, count in counts.items() if count))

    def _show_requests(self) -> None:
        """Show the card of the selected session's open request in the row of the session."""
        row = self.board.selected_row
        requests = self._source.requests(self.board.selected_session) if row else ()
        if row and requests:
            self.board.show_card()
            self.asking.fit(self.height())
            self.asking.show_requests(self.board.selected_session, row.title, requests)
        else:
            self.asking.show_requests("", "", ())

    def _show_selected(self) -> None:
        """Show the card in the row that is now selected, and scroll to this row."""
        self._show_requests()
        self.board.reveal_selected()

    def restyle(self, look: Look) -> None:
        self._title.setFont(look.fonts.title)
        self._counts.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.text)
        for part in (self._clear_all, self.asking, self.board):
            part.restyle(look)

    # Answers to the request on the card

    def _answer(self, question: str, answer: Answer) -> None:
        self._actions.answer(question, answer)
        self._go_on()

    def _allow(self, names: tuple[str, ...], approval: Approval) -> None:
        self._actions.allow(names, approval)
        self._go_on()

    def _allow_changed(self, name: str, text: str) -> None:
        self._actions.allow_changed(name, text)
        self._go_on()

    def _deny(self, names: tuple[str, ...], reason: str) -> None:
        self._actions.deny(names, reason)
        self._go_on()

    def _stop(self) -> None:
        session = self.board.selected_session
        self._start_task(self._bridge.ask(lambda engine: engine.stop(session)), "stop")
        self._go_on()

    def _go_on(self) -> None:
        """Focus the card of the next waiting session, unless the current session has another request."""
        requests = self._source.requests
        following = [session for session in self.board.sessions_after_selected(WAITING) if requests(session)]
        if following and len(requests(self.board.selected_session)) <= 1:
            self.board.select(following[0])
            self._show_selected()
            self.asking.focus_card()
        else:
            self._focus_page()

    # Other actions of the user

    def _select_neighbor(self, by: int) -> None:
        self.board.select_neighbor(by)
        self._show_selected()
        self._announce_selected()

    def _open_selected(self) -> None:
        if session := self.board.selected_session:
            self._source.open_session(session)

    def _clear(self, sessions: Collection[str]) -> None:
        """Mark sessions as seen if they have ended. This removes them from the page."""
        cleared = [session for session in self.board.sessions(*CLEARABLE) if session in sessions]
        if not cleared:
            return
        self._source.mark_seen(cleared)
        self.refresh()
        text = self.tr("Cleared 1 session.") if len(cleared) == 1 else self.tr("Cleared {} sessions.")

        def undo() -> None:
            self._source.mark_unseen(cleared)
            self.refresh()

        self._show_toast(text.format(len(cleared)), undo)
        self._announce_selected()

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Down | Qt.Key.Key_J:
                self._select_neighbor(1)
            case Qt.Key.Key_Up | Qt.Key.Key_K:
                self._select_neighbor(-1)
            case Qt.Key.Key_Home:
                self._select_neighbor(-len(self.board.sessions()))
            case Qt.Key.Key_End:
                self._select_neighbor(len(self.board.sessions()))
            case Qt.Key.Key_O:
                self._open_selected()
            case Qt.Key.Key_X:
                self._clear([self.board.selected_session])
            case key if key in ENTER_KEYS and self.asking.card:
                self.asking.focus_card()
            case key if key in ENTER_KEYS:
                self._open_selected()
            case _:
                super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.asking.fit(self.height())
