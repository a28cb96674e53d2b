"""The Overview page: all sessions that wait, run, or ended unseen, answered and cleared in place."""

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Answer
from core.domain.sessions import SessionRow
from core.store.journal_update import JournalUpdate, SessionsPurged
from ui.ask.ask_area import AskArea, OpenRequest
from ui.ask.request_actions import RequestActions
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import PanelPage, ShowToast, StartTask
from ui.overview.board_groups import FAILED, FINISHED, RUNNING, WAITING, group_board, working_agents
from ui.overview.board_row import BoardRow
from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import ENTER_KEYS, hairline, label

CLEARABLE: Final = (FAILED, FINISHED)
AGE_EVERY_MS: Final = 30_000


class BoardSource(NamedTuple):
    """The window's sessions: all rows, the open requests of one, those that ended unseen, and what marks them seen."""

    rows: Callable[[], Collection[SessionRow]]
    requests: Callable[[str], Sequence[OpenRequest]]
    unseen: Callable[[], Collection[str]]
    mark_seen: Callable[[Collection[str]], None]
    mark_unseen: Callable[[Collection[str]], None]
    open_session: Callable[[str], None]


class OverviewPanel(PanelPage):
    """The page. One row is selected; if its session waits for an answer, its card is shown in the row.

    Keys: Up and Down or J and K select, Enter answers or opens, O opens, X clears.
    """

    def __init__(
        self, *, look: Look, bridge: Bridge, start_task: StartTask, show_toast: ShowToast, reader: DeferredReader,
        board: BoardSource, clock: Callable[[], int] = wall_clock,
    ) -> None:  # fmt: skip
        super().__init__()
        self._look = look
        self._reading = reader
        self._board = board
        self._clock = clock
        self._start_task = start_task
        self._bridge = bridge
        self._show_toast = show_toast
        self._rows: dict[str, BoardRow] = {}
        self._order: list[tuple[str, str]] = []  # group and session of each row
        self._headings: dict[str, QLabel] = {}
        self._chosen = ""
        self.asking = AskArea(look)
        actions = RequestActions(bridge, start_task)
        self.asking.answered.connect(self._answer)
        self.asking.allowed.connect(self._allow)
        self.asking.changed.connect(self._allow_changed)
        self.asking.denied.connect(self._deny)
        self.asking.denied_all.connect(self._stop)
        self.asking.first_interaction.connect(actions.hold_timeout)
        self.asking.request_shown.connect(lambda request: actions.show_current_file(self.asking, request))
        self.asking.postponed.connect(lambda: self.setFocus(Qt.FocusReason.OtherFocusReason))
        self._actions = actions
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._lay_out()
        ages = QTimer(self, interval=AGE_EVERY_MS)
        ages.setTimerType(Qt.TimerType.VeryCoarseTimer)
        ages.timeout.connect(self._refresh_ages)
        ages.start()

    def activate(self, about: tuple[str, ...]) -> None:
        self.refresh()
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        if self._chosen:
            announce(self, f"{self._counts.text()}. {self._rows[self._chosen].accessibleName()}")

    def apply_updates(self, facts: Sequence[object]) -> None:
        touched = {fact.session.id for fact in facts if isinstance(fact, JournalUpdate)}
        if touched or any(isinstance(fact, SessionsPurged) for fact in facts):
            self.refresh(touched)

    def refresh(self, touched: Collection[str] | None = None) -> None:
        """Show the current state; `touched` are the sessions whose rows have changed, None if all may have."""
        groups, agents = group_board(self._board.rows(), self._board.unseen()), working_agents(self._board.rows())
        order = [(group, row.id) for group, rows in groups.items() for row in rows]
        rows = {row.id: row for members in groups.values() for row in members}
        for group, session in order:
            known = self._rows.get(session)
            names = agents.get(session, ())
            is_current = known and known.row == rows[session] and known.agents == names
            if known is None or touched is None or session in touched or not is_current:
                part = known or self._create_row(rows[session])
                part.agents = names
                part.show_row(rows[session], self._reading.last_reply(rows[session]), can_clear=group in CLEARABLE)
        if order != self._order:
            self._arrange(order)
        self._show_counts(groups)
        self._choose(self._chosen if self._chosen in self._rows else self._next_choice())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._counts.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.text)
        for heading in self._headings.values():
            heading.setFont(look.fonts.label)
        self._clear_all.restyle(look)
        self.asking.restyle(look)
        for row in self._rows.values():
            row.restyle(look)

    # Rows

    def _create_row(self, row: SessionRow) -> BoardRow:
        part = self._rows[row.id] = BoardRow(self._look, row, self._clock)
        part.chosen.connect(self._choose)
        part.open_requested.connect(self._board.open_session)
        part.clear_requested.connect(lambda session: self._clear([session]))
        return part

    def _arrange(self, order: list[tuple[str, str]]) -> None:
        """Put the rows below the headings of their groups, and remove those that left the page."""
        kept = {session for _, session in order}
        self._chosen = self._chosen if self._chosen in kept else self._successor(kept)
        for session in [session for session in self._rows if session not in kept]:
            part = self._rows.pop(session)
            if part.isAncestorOf(self.asking):
                self.asking.setParent(self)
                self.asking.hide()
            part.hide()
            part.deleteLater()
        while self._column.takeAt(0) is not None:
            pass
        group = ""
        for heading in self._headings.values():
            heading.hide()
        for name, session in order:
            if name != group:
                group = name
                self._column.addWidget(self._headings[name])
                self._headings[name].show()
            self._column.addWidget(self._rows[session])
            self._rows[session].show()
        self._column.addStretch(1)
        self._order = order
        self._empty.setVisible(not order)
        self._scroll.setVisible(bool(order))

    def _successor(self, kept: Collection[str]) -> str:
        """Return the row that takes the place of the selected one, which is about to be removed."""
        sessions = [session for _, session in self._order]
        place = sessions.index(self._chosen) if self._chosen in sessions else 0
        later = [session for session in sessions[place:] + sessions[:place][::-1] if session in kept]
        return next(iter(later), "")

    def _next_choice(self) -> str:
        return self._order[0][1] if self._order else ""

    def _choose(self, session: str) -> None:
        """Select a row, and show the card of its open request in it."""
        self._chosen = session
        for name, part in self._rows.items():
            part.set_chosen(name == session)
        chosen = self._rows.get(session)
        requests = self._board.requests(session) if chosen is not None else ()
        if chosen is not None and requests:
            if not chosen.isAncestorOf(self.asking):
                chosen.add_card(self.asking)
            self.asking.fit(self.height())
            self.asking.show_requests(session, chosen.row.title, requests)
        else:
            self.asking.show_requests("", "", ())

    def _select_neighbor(self, by: int) -> None:
        sessions = [session for _, session in self._order]
        if sessions:
            place = sessions.index(self._chosen) + by if self._chosen in sessions else 0
            self._choose(sessions[min(max(place, 0), len(sessions) - 1)])
            announce(self, self._rows[self._chosen].accessibleName())
            self._scroll.ensureWidgetVisible(self._rows[self._chosen])

    def _refresh_ages(self) -> None:
        if self.isVisible():
            for part in self._rows.values():
                part.refresh_age()

    # What the user does

    def _answer(self, question: str, answer: Answer) -> None:
        self._actions.answer(question, answer)
        self._go_on()

    def _allow(self, names: tuple[str, ...], scope: str, patterns: tuple[str, ...]) -> None:
        self._actions.allow(names, scope, patterns)  # type: ignore[arg-type]  # the card offers these scopes only
        self._go_on()

    def _allow_changed(self, name: str, text: str) -> None:
        self._actions.allow_changed(name, text)
        self._go_on()

    def _deny(self, names: tuple[str, ...], reason: str) -> None:
        self._actions.deny(names, reason)
        self._go_on()

    def _stop(self) -> None:
        session = self._chosen
        self._start_task(self._bridge.ask(lambda engine: engine.stop(session)), "stop")
        self._go_on()

    def _go_on(self) -> None:
        """Go to the next session that waits, with the keyboard in its card."""
        waiting = [session for group, session in self._order if group == WAITING and self._board.requests(session)]
        place = waiting.index(self._chosen) if self._chosen in waiting else -1
        following = [*waiting[place + 1 :], *waiting[: max(place, 0)]]
        if following and len(self._board.requests(self._chosen)) <= 1:
            self._choose(following[0])
            self.asking.focus_card()
        else:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open_chosen(self) -> None:
        if self._chosen:
            self._board.open_session(self._chosen)

    def _clear(self, sessions: Sequence[str]) -> None:
        """Mark ended sessions as seen, which removes them from the page."""
        cleared = [session for group, session in self._order if session in sessions and group in CLEARABLE]
        if not cleared:
            return
        self._board.mark_seen(cleared)
        self.refresh()
        text = self.tr("Cleared 1 session.") if len(cleared) == 1 else self.tr("Cleared {} sessions.")

        def undo() -> None:
            self._board.mark_unseen(cleared)
            self.refresh()

        self._show_toast(text.format(len(cleared)), undo)

    def _show_counts(self, groups: dict[str, list[SessionRow]]) -> None:
        words = {
            WAITING: self.tr("{} waiting for you"),
            RUNNING: self.tr("{} running"),
            FAILED: self.tr("{} failed"),
            FINISHED: self.tr("{} finished"),
        }
        parts = [words[name].format(len(rows)) for name, rows in groups.items() if rows]
        self._counts.setText(" · ".join(parts))
        self._clear_all.setVisible(any(groups[name] for name in CLEARABLE))

    def _lay_out(self) -> None:
        look = self._look
        self._title = label(self.tr("Overview"), look.fonts.title, name="overview.title")
        self._counts = label("", look.fonts.text, "second", name="overview.counts")
        self._clear_all = Button(look, self.tr("Clear all that ended"), name="overview.clear")
        self._clear_all.clicked.connect(
            lambda: self._clear([session for group, session in self._order if group in CLEARABLE])
        )
        header = QHBoxLayout()
        header.setContentsMargins(20, 11, 20, 11)
        header.setSpacing(12)
        header.addWidget(self._title)
        header.addWidget(self._counts)
        header.addStretch(1)
        header.addWidget(self._clear_all)
        for name, text in (
            (WAITING, self.tr("Waiting for you")),
            (RUNNING, self.tr("Running")),
            (FAILED, self.tr("Failed")),
            (FINISHED, self.tr("Finished, not seen yet")),
        ):
            heading = self._headings[name] = label(text, look.fonts.label, "third", name=f"overview.{name}")
            heading.setContentsMargins(0, 6, 0, 0)
        text = self.tr("No session runs, waits for you, or has ended unseen.")
        self._empty = label(text, look.fonts.text, "second", name="overview.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        content = QWidget()
        for heading in self._headings.values():
            heading.setParent(content)
            heading.hide()
        self._column = QVBoxLayout(content)
        self._column.setContentsMargins(20, 12, 20, 20)
        self._column.setSpacing(6)
        self._scroll = QScrollArea()
        self._scroll.setObjectName("overview.scroll")
        self._scroll.setAccessibleName(self.tr("Sessions"))
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(header)
        layout.addWidget(hairline())
        layout.addWidget(self._empty, 1)
        layout.addWidget(self._scroll, 1)
        self.asking.setParent(self)
        self.asking.hide()

    # Qt overrides

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Down | Qt.Key.Key_J:
                self._select_neighbor(1)
            case Qt.Key.Key_Up | Qt.Key.Key_K:
                self._select_neighbor(-1)
            case Qt.Key.Key_O:
                self._open_chosen()
            case Qt.Key.Key_X:
                self._clear([self._chosen])
            case key if key in ENTER_KEYS and self.asking.card:
                self.asking.focus_card()
            case key if key in ENTER_KEYS:
                self._open_chosen()
            case _:
                super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.asking.fit(self.height())
