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
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setObjectName("desk")
        self._split.setHandleWidth(1)
        self._split.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._split)
        self._all_panes: list[SessionPane] = []
        self._watched = False
        self._restored = False
        self._focus_timer = QTimer(self, singleShot=True, interval=0)
        self._focus_timer.timeout.connect(self._follow_keyboard)
        self.active_pane = self._add()
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
        state, session_index = self._state, self._session_index
        tabs = [session for session in state.text("tabs").split() if session in session_index]
        other_tabs = [session for session in state.text("beside.tabs").split() if session in session_index]
        other_session, other_was_active = state.text("beside"), state.text("side") == "beside"
        self._restored = True
        self.active_pane.tabs.open(tabs)
        if other_session in session_index and other_session != self.active_pane.session:
            self.show_in_other_pane(other_session)
            self._all_panes[1].tabs.open(other_tabs)
            if activate and other_was_active:
                self._selection.choose_session(other_session)
        self._update_tabs()

    def show_session(self, name: str) -> None:
        """Activate a session in the pane that shows it or has a tab for it, or else in the active pane."""
        self.active_pane = self._pane_of(name)
        self.active_pane.show_session(name)
        self._update_tabs()

    def show_in_other_pane(self, name: str) -> None:
        """Show a session in the other pane, splitting the view if needed; an empty id closes the other pane."""
        if not name:
            if self.other_pane:
                self._close(self.other_pane)
        elif name != self.active_pane.session:
            (self.other_pane or self._open()).show_session(name)
            self._update_tabs()

    def show_sub_agent(self, parent: str, call: str) -> None:
        """Show the sub-agent that tool call `call` of session `parent` started in the other pane."""
        children = self._session_index.reader.children(parent)
        if child := next((child.id for child in children if child.parent_call == call), ""):
            self.show_in_other_pane(child)

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
        source, name = self.active_pane, self.active_pane.session
        other_tabs = [tab for tab in source.tabs.permanent() if tab != name]
        next_session = replacement or (other_tabs[0] if other_tabs else self.other_session)
        if next_session in {"", name}:
            return False
        had_tab = self.active_has_tab
        source.tabs.close(name)
        target = self.other_pane or self._open()
        source.show_session(next_session)
        target.show_session(name)
        if had_tab:
            target.tabs.open([name])
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

    def go_to_tab(self, step: int) -> None:
        if name := self.active_pane.tabs.neighbor(self.active_pane.session, step):
            self._selection.choose_session(name)

    def open_in_tab(self, session: str) -> None:
        """Open a tab for a session without showing it."""
        self._pane_of(session).tabs.open([session])
        self._update_tabs()

    def apply_updates(self, batch: UpdateBatch, fresh: Collection[str]) -> None:
        """Apply a batch of updates. `fresh` holds the sessions with new requests."""
        for pane in self.panes:
            pane.apply_updates(batch, fresh, is_active=pane is self.active_pane)

    def show_questions(self) -> None:
        for pane in self.panes:
            pane.show_questions()

    def remove_sessions(self, names: Collection[str]) -> None:
        """Close panes and tabs of deleted sessions."""
        for pane in self._all_panes:
            pane.remove_sessions(names)
        for pane in self.panes:
            if not pane.session and self.is_split:
                self._close(pane)
        self._update_tabs()

    def restyle(self, look: Look) -> None:
        for pane in self._all_panes:
            pane.restyle(look)

    def save_state(self) -> None:
        """Store tabs, split and active pane in the window state."""
        if not self._restored:
            return
        left, *right = self.panes
        state = self._state
        state.set_text("session", left.session if self._selection.session else "")
        state.set_text("tabs", " ".join(left.tabs.permanent()))
        state.set_text("beside", right[0].session if right else "")
        state.set_text("beside.tabs", " ".join(right[0].tabs.permanent()) if right else "")
        state.set_text("side", "beside" if right and self.active_pane is right[0] else "")

    def save_drafts(self) -> None:
        """Save the drafts of all composers at once, without waiting for the delay of automatic saving."""
        for pane in self._all_panes:
            pane.view.composer.flush_draft()

    def stop_reading(self) -> None:
        """Stop reading the event log, which is about to be closed."""
        for pane in self._all_panes:
            pane.view.stop_reading()

    def _add(self) -> SessionPane:
        pane = self._build()
        self._all_panes.append(pane)
        self._split.addWidget(pane)
        pane.tabs.session_requested.connect(self._selection.choose_session)
        pane.tabs.tabs_changed.connect(self.save_state)
        pane.tabs.close_requested.connect(lambda name: self._close_tab(pane, name))
        pane.view.page.step_opened.connect(self._open_origin)
        pane.activated.connect(lambda: self._activate(pane))
        return pane

    def _open(self) -> SessionPane:
        """Split the view and return the new pane, which is on the right."""
        if len(self._all_panes) == 1:
            self.pane_created.emit(self._add())
        pane = self._all_panes[1]
        self._split.addWidget(pane)  # also moves a pane that is already on the left to the right
        pane.show()
        half = self._split.width() // 2
        self._split.setSizes([half, half])
        self._name_panes()
        return pane

    def _close(self, pane: SessionPane) -> None:
        """Close a pane; the remaining one takes over its tabs."""
        remaining = next(other for other in self._all_panes if other is not pane)
        focused: QWidget | None = self.window().focusWidget()
        tab_sessions, was_active = pane.tabs.permanent(), self.active_pane is pane
        pane.tabs.set_temporary("")
        for name in tab_sessions:
            pane.tabs.close(name)
        pane.session = ""
        self._all_panes, self.active_pane = [remaining, pane], remaining
        self._name_panes()
        remaining.tabs.open(tab_sessions)
        if focused and pane.isAncestorOf(focused):
            self.active_view.page.focus_tab()
        pane.hide()
        if was_active and remaining.session:
            self._selection.choose_session(remaining.session)
        self._update_tabs()

    def _pane_of(self, name: str) -> SessionPane:
        """Return the pane that shows a session, else the pane with a tab for it, else the active pane."""
        showing_pane = next((pane for pane in self.panes if name and pane.session == name), None)
        return showing_pane or next((pane for pane in self.panes if name in pane.tabs.permanent()), self.active_pane)

    def _name_panes(self) -> None:
        names = (("side", self.tr("Left session")), ("beside", self.tr("Right session")))
        for pane, (object_name, accessible_name) in zip(self._all_panes, names, strict=False):
            pane.set_names(object_name, accessible_name)

    def _open_origin(self, step: Step) -> None:
        """Open the original session when the user activates the row of a fork."""
        if step.kind == "fork" and self._session_index.find(step.object):
            self._selection.choose_session(step.object)

    def _activate(self, pane: SessionPane) -> None:
        if pane is not self.active_pane and pane.session:
            self._selection.choose_session(pane.session)

    def _close_tab(self, pane: SessionPane, name: str) -> None:
        """Close a tab. In a split view, the pane then shows its next tab, or closes if there is none."""
        next_session = next((session for session in pane.tabs.permanent() if session != name), "")
        pane.tabs.close(name)
        if self.is_split and name == pane.session:
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

    def _watch_focus(self, *, on: bool) -> None:
        """Follow focus changes only while visible, because Qt reports focus changes of deleted widgets at shutdown."""
        if on != self._watched:
            self._watched = on
            changed = self.window().windowHandle().focusObjectChanged
            if on:
                changed.connect(self._focus_timer.start)
            else:
                changed.disconnect(self._focus_timer.start)
                self._focus_timer.stop()

    def _follow_keyboard(self) -> None:
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
        self._watch_focus(on=True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._watch_focus(on=False)
