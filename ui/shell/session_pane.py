"""One pane of the split view: a session view with its tab bar and its unsent drafts."""

from collections.abc import Collection
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible, QMouseEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.events import Replied, ReplyInterrupted
from ui.base.window_state import WindowState
from ui.shell.session_index import SessionIndex
from ui.shell.session_tabs import SessionTabs
from ui.shell.session_view import SessionView
from ui.shell.unsent_drafts import UnsentDrafts
from ui.shell.update_batch import UpdateBatch
from ui.style.theme import Look
from ui.timeline.live_output import LiveOutput
from ui.timeline.reply_announcer import ReplyAnnouncer
from ui.widgets.error_bar import ErrorBar
from ui.widgets.labels import hairline
from ui.widgets.splitter import remember_sizes


class SessionPane(QWidget):
    """A session view with tabs.

    `live_output` holds everything that is being streamed: replies, the loading of a local model, and the output of
    commands. `notice` reports when the draft of a message cannot be stored.
    """

    accessible_role = QAccessible.Role.Grouping
    activated = Signal()
    """The user clicked in this pane."""

    def __init__(
        self,
        look: Look,
        session_index: SessionIndex,
        state: WindowState,
        *,
        folder: Path,
        live_output: LiveOutput,
        notice: ErrorBar,
    ) -> None:
        super().__init__()
        self._session_index = session_index
        self._live_output = live_output
        self.session = ""
        self.view = SessionView(look, session_index.reader)
        self.view.page.share_pausing(session_index.pausing)
        self.view.changes.review.set_store(state)
        self.view.terminal.set_output_source(live_output.output_since)
        remember_sizes(self.view.terminal.splitter, state, "terminal.widths")
        self._announcer = ReplyAnnouncer(self.view)
        self._state = state
        self.drafts = UnsentDrafts(self.view.composer, state, folder, notice)
        self.tabs = SessionTabs(look, session_index.row)
        self._tabs_line = hairline()
        self._tabs_line.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._tabs_line)
        column.addWidget(self.view, 1)
        self.tabs.tabs_changed.connect(lambda: self._tabs_line.setVisible(self.tabs.count() > 0))

    def set_names(self, object_name: str, accessible_name: str) -> None:
        """Set the object name, for tests and scripts, and the accessible name."""
        self.setObjectName(object_name)
        self.setAccessibleName(accessible_name)

    def show_session(self, session: str) -> None:
        """Show a session, or refresh it if it is already shown.

        For an unknown ID, set `session` to "" and keep the view as it is.
        """
        row = self._session_index.find(session)
        if row is None:
            self.session = ""
            return
        if row.id != self.session:
            self.session = row.id
            self.drafts.load(row.id)
            self._announcer.skip(self._live_output.reply_text(row.id))
        self.view.show_session(row)
        self.show_questions()
        self._show_draft()

    def show_questions(self) -> None:
        self.view.show_questions(self._session_index.pending_in(self.session))

    def apply_updates(self, batch: UpdateBatch, newly_asking: Collection[str], *, is_active: bool) -> None:
        """Apply a batch of updates.

        `newly_asking` holds the sessions with new requests. If this pane is active and shows one of them, focus its
        request unless the user is typing. Only the active pane announces replies.
        """
        for session in batch.touched:
            self.tabs.refresh(session)
        row = batch.touched.get(self.session)
        if row is not None:
            self.view.show_session(row)
            self.view.apply(batch.steps_of(self.session))
            self.show_questions()
            if is_active and self.session in newly_asking:
                self.view.focus_question()
        page = self.view.page
        for child in batch.touched.values():
            if child.parent and child.parent in page.model.sessions:
                page.apply_sub_agent_update(child, batch.steps_of(child.id))
        if row is not None or any(draft.session == self.session for draft in batch.drafts):
            self._show_draft()
            self._follow_replies(batch, announce_them=is_active)

    def _follow_replies(self, batch: UpdateBatch, *, announce_them: bool) -> None:
        """Announce what has arrived of the replies of this session, or skip it unless `announce_them` is set."""
        for update in batch.updates:
            if update.session.id != self.session:
                continue
            match update.entry.event:
                case Replied() if announce_them:
                    self._announcer.finish(self._session_index.reader.full_text(self.session, update.entry.seq))
                case Replied() | ReplyInterrupted():
                    self._announcer.skip("")
                case _:
                    pass
        text = self._live_output.reply_text(self.session)
        if announce_them:
            self._announcer.follow(text)
        else:
            self._announcer.skip(text)

    def remove_sessions(self, sessions: Collection[str]) -> None:
        """Remove the tabs and drafts of deleted sessions."""
        for session in sessions:
            self.drafts.delete(session)
            self._state.set_review(session, "")
            self.tabs.close(session)
        if self.session in sessions:
            self.session = ""

    def restyle(self, look: Look) -> None:
        self.tabs.restyle(look)
        self.view.restyle(look)

    def _show_draft(self) -> None:
        self.view.page.show_activity(self._live_output.activity(self.session))
        if (text := self._live_output.reply(self.session)).strip():
            self.view.page.show_draft(text)
        else:
            self.view.page.end_draft()
        self.view.show_follow_up()
        self.view.terminal.follow_output()

    # Overridden Qt methods

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.activated.emit()
        super().mousePressEvent(event)
