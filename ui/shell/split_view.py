"""The split view, which shows one session or two side by side. One of them is active."""

from collections.abc import Callable, Collection

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from core.domain.steps import Step
from ui.base.selection import Selection
from ui.base.window_state import WindowState
from ui.shell.session_index import SessionIndex
from ui.shell.session_pane import SessionPane
from ui.shell.session_view import SessionView
from ui.shell.update_batch import UpdateBatch
from ui.style.theme import Look


class SplitView(QWidget):
    """Shows one or two session panes. A session is open in at most one pane.

    `build` creates a pane; the second one is created when the view is first split.
    """

    changed = Signal()
    """The sessions shown or the active pane changed."""
    pane_created = Signal(object)
    """The second pane was created."""

    def __init__(
        self, build: Callable[[], SessionPane], session_index: SessionIndex, selection: Selection, state: WindowState
    ) -> None:
        super().__init__()
        self._build = build
        self._session_index = session_index
        self._selection = selection
        self._state = state
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setObjectName("desk")
        self._splitter.setHandleWidth(1)
        self._splitter.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._splitter)
        self._all_panes: list[SessionPane] = []
        self._follows_focus = False
        self._is_restored = False
        self._focus_timer = QTimer(self, singleShot=True, interval=0)
        self._focus_timer.timeout.connect(self._activate_focused_pane)
        self.active_pane = self._add_pane()
        self._name_panes()

    @property
    def panes(self) -> list[SessionPane]:
        """The visible panes, from left to right."""
        return self._all_panes if self.is_split else self._all_panes[:1]

    @property
    def is_split(self) -> bool:
        return len(self._all_panes) == 2 and not self._all_panes[1].isHidden()

    @property
    def active_view(self) -> SessionView:
        """The session view of the active pane."""
        return self.active_pane.view

    @property
    def other_pane(self) -> SessionPane | None:
        """The visible pane that is not active, if the view is split."""
        return next((pane for pane in self.panes if pane is not self.active_pane), None)

    @property
    def other_session(self) -> str:
        """The session in the other pane, or an empty string."""
        return self.other_pane.session if self.other_pane else ""

    @property
    def active_has_tab(self) -> bool:
        """Whether the active session has a tab."""
        return self.active_pane.session in self.active_pane.tabs.permanent()

    def restore(self, *, activate: bool) -> None:
        """Restore tabs and split from the stored window state; with `activate`, also which pane was active."""
        # Everything is read first, because showing a session stores the state.
        left_tabs = self._stored_sessions("tabs")
        right_tabs = self._stored_sessions("beside.tabs")
        right_session = self._state.text("beside")
        right_was_active = self._state.text("side") == "beside"
        self._is_restored = True
        self.active_pane.tabs.open(left_tabs)
        if right_session in self._session_index and right_session != self.active_pane.session:
            self.show_in_other_pane(right_session)
            self._all_panes[1].tabs.open(right_tabs)
            if activate and right_was_active:
                self._selection.choose_session(right_session)
        self._update_tabs()

    def _stored_sessions(self, key: str) -> list[str]:
        """Return the session IDs stored under `key` in the window state, except those of deleted sessions."""
        return [session for session in self._state.text(key).split() if session in self._session_index]

    def show_session(self, session: str) -> None:
        """Activate a session in the pane that shows it or has a tab for it, or else in the active pane."""
        self.active_pane = self._pane_of(session)
        self.active_pane.show_session(session)
        self._update_tabs()

    def show_in_other_pane(self, session: str) -> None:
        """Show a session in the other pane, splitting the view if needed. Do nothing if the active pane shows it."""
        if session != self.active_pane.session:
            (self.other_pane or self._open_other_pane()).show_session(session)
            self._update_tabs()

    def close_other_pane(self) -> None:
        if self.other_pane:
            self._close(self.other_pane)

    def show_sub_agent(self, parent: str, call: str) -> None:
        """Show the sub-agent that tool call `call` of session `parent` started in the other pane."""
        for child in self._session_index.reader.children(parent):
            if child.parent_call == call:
                self.show_in_other_pane(child.id)
                return

    def activate_other_pane(self) -> None:
        """Activate the other pane."""
        if self.other_pane:
            self._selection.choose_session(self.other_pane.session)
            self.active_view.page.focus_tab()

    def move_to_other_pane(self, replacement: str = "") -> bool:
        """Move the active session to the other pane, which is created if needed.

        The old pane then shows `replacement`, else its next tab, else the session of the other pane. If none of these
        exists, change nothing and return False.
        """
        source = self.active_pane
        moved = source.session
        next_session = replacement or _next_tab(source, moved) or self.other_session
        if next_session in {"", moved}:
            return False
        had_tab = self.active_has_tab
        source.tabs.close(moved)
        target = self.other_pane or self._open_other_pane()
        source.show_session(next_session)
        target.show_session(moved)
        if had_tab:
            target.tabs.open([moved])
        self.active_pane = target
        self._update_tabs()
        self.active_view.page.focus_tab()
        return True

    def toggle_tab(self) -> None:
        """Open or close a tab for the active session."""
        if self.active_has_tab:
            self.active_pane.tabs.close(self.active_pane.session)
        else:
            self.active_pane.tabs.open([self.active_pane.session])
        self._update_tabs()

    def close_tab(self) -> None:
        """Close the tab of the active session."""
        self._close_tab(self.active_pane, self.active_pane.session)

    def go_to_neighbor_tab(self, offset: int) -> None:
        """Show the session of the next (1) or previous (-1) tab."""
        if session := self.active_pane.tabs.neighbor(self.active_pane.session, offset):
            self._selection.choose_session(session)

    def open_in_tab(self, session: str) -> None:
        """Open a tab for a session without showing it."""
        self._pane_of(session).tabs.open([session])
        self._update_tabs()

    def apply_updates(self, batch: UpdateBatch, newly_asking: Collection[str]) -> None:
        """Apply a batch of updates. `newly_asking` holds the sessions with new requests."""
        for pane in self.panes:
            pane.apply_updates(batch, newly_asking, is_active=pane is self.active_pane)

    def show_questions(self) -> None:
        for pane in self.panes:
            pane.show_questions()

    def remove_sessions(self, sessions: Collection[str]) -> None:
        """Close panes and tabs of deleted sessions."""
        for pane in self._all_panes:
            pane.remove_sessions(sessions)
        for pane in self.panes:
            if not pane.session and self.is_split:
                self._close(pane)
        self._update_tabs()

    def restyle(self, look: Look) -> None:
        for pane in self._all_panes:
            pane.restyle(look)

    def save_state(self) -> None:
        """Store tabs, split and active pane in the window state."""
        if not self._is_restored:
            return
        left = self.panes[0]
        right = self.panes[1] if self.is_split else None
        state = self._state
        state.set_text("session", left.session if self._selection.session else "")
        state.set_text("tabs", " ".join(left.tabs.permanent()))
        state.set_text("beside", right.session if right else "")
        state.set_text("beside.tabs", " ".join(right.tabs.permanent()) if right else "")
        state.set_text("side", "beside" if self.active_pane is right else "")

    def save_drafts(self) -> None:
        """Save the drafts of all composers at once, without waiting for the delay of automatic saving."""
        for pane in self._all_panes:
            pane.view.composer.flush_draft()

    def stop_reading(self) -> None:
        """Stop reading the event log, which is about to be closed."""
        for pane in self._all_panes:
            pane.view.stop_reading()

    def _add_pane(self) -> SessionPane:
        pane = self._build()
        self._all_panes.append(pane)
        self._splitter.addWidget(pane)
        pane.tabs.session_requested.connect(self._selection.choose_session)
        pane.tabs.tabs_changed.connect(self.save_state)
        pane.tabs.close_requested.connect(lambda session: self._close_tab(pane, session))
        pane.view.page.step_opened.connect(self._open_origin)
        pane.activated.connect(lambda: self._activate(pane))
        return pane

    def _open_other_pane(self) -> SessionPane:
        """Split the view and return the new pane, which is on the right."""
        if len(self._all_panes) == 1:
            self.pane_created.emit(self._add_pane())
        pane = self._all_panes[1]
        self._splitter.addWidget(pane)  # also moves a pane that is already on the left to the right
        pane.show()
        half = self._splitter.width() // 2
        self._splitter.setSizes([half, half])
        self._name_panes()
        return pane

    def _close(self, pane: SessionPane) -> None:
        """Close a pane; the remaining one takes over its tabs."""
        remaining = next(other for other in self._all_panes if other is not pane)
        focused: QWidget | None = self.window().focusWidget()
        was_active = self.active_pane is pane
        moved_tabs = pane.tabs.permanent()
        pane.tabs.set_temporary("")
        for session in moved_tabs:
            pane.tabs.close(session)
        pane.session = ""
        self._all_panes = [remaining, pane]
        self.active_pane = remaining
        self._name_panes()
        remaining.tabs.open(moved_tabs)
        if focused and pane.isAncestorOf(focused):
            self.active_view.page.focus_tab()
        pane.hide()
        if was_active and remaining.session:
            self._selection.choose_session(remaining.session)
        self._update_tabs()

    def _pane_of(self, session: str) -> SessionPane:
        """Return the pane that shows a session, else the pane with a tab for it, else the active pane."""
        for pane in self.panes:
            if session and pane.session == session:
                return pane
        for pane in self.panes:
            if session in pane.tabs.permanent():
                return pane
        return self.active_pane

    def _name_panes(self) -> None:
        self._all_panes[0].set_names("side", self.tr("Left session"))
        if len(self._all_panes) == 2:
            self._all_panes[1].set_names("beside", self.tr("Right session"))

    def _open_origin(self, step: Step) -> None:
        """Open the original session when the user activates the row of a fork."""
        if step.kind == "fork" and self._session_index.find(step.object):
            self._selection.choose_session(step.object)

    def _activate(self, pane: SessionPane) -> None:
        if pane is not self.active_pane and pane.session:
            self._selection.choose_session(pane.session)

    def _close_tab(self, pane: SessionPane, session: str) -> None:
        """Close a tab. In a split view, the pane then shows its next tab, or closes if there is none."""
        next_session = _next_tab(pane, session)
        pane.tabs.close(session)
        if self.is_split and session == pane.session:
            if next_session:
                pane.show_session(next_session)
                if pane is self.active_pane:
                    self._selection.choose_session(next_session)
            else:
                self._close(pane)
        self._update_tabs()

    def _update_tabs(self) -> None:
        """Update the tabs. In a split view, a session without a permanent tab gets a temporary tab."""
        for pane in self.panes:
            for other in self.panes:
                if other is not pane and pane.session in other.tabs.permanent():
                    other.tabs.close(pane.session)
                    pane.tabs.open([pane.session])
            pane.tabs.set_temporary(pane.session if self.is_split else "")
            pane.tabs.set_current(pane.session, active=pane is self.active_pane)
        self.save_state()
        self.changed.emit()

    def _set_follows_focus(self, follows: bool) -> None:
        """Start or stop following the keyboard focus.

        It is followed only while the view is visible, because Qt reports focus changes of deleted widgets at shutdown.
        """
        if follows == self._follows_focus:
            return
        self._follows_focus = follows
        focus_changed = self.window().windowHandle().focusObjectChanged
        if follows:
            focus_changed.connect(self._focus_timer.start)
        else:
            focus_changed.disconnect(self._focus_timer.start)
            self._focus_timer.stop()

    def _activate_focused_pane(self) -> None:
        """Activate the pane that contains the keyboard focus.

        This is called with a delay: when a focused widget is hidden, Qt first moves the focus to an arbitrary neighbor.
        """
        focused: QWidget | None = self.window().focusWidget()
        for pane in self.panes:
            if focused and pane.isAncestorOf(focused):
                self._activate(pane)
                return

    # Overridden Qt methods

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._set_follows_focus(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._set_follows_focus(False)


def _next_tab(pane: SessionPane, session: str) -> str:
    """Return the first session other than `session` with a permanent tab in a pane, or an empty string."""
    return next((tab for tab in pane.tabs.permanent() if tab != session), "")
