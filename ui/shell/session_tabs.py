"""The tab bar above a session."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QTabBar

from core.domain.sessions import SessionRow
from ui.sessions.session_rows import session_icon
from ui.style.icons import icon
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.tool_button import tool_button

MAX_TAB_WIDTH: Final = 220
GLYPH: Final = 14


class SessionTabs(QTabBar):
    """The tabs of sessions, hidden if there are none; `row` returns the row of a session.

    At most one tab is temporary: it shows the open session if that has no permanent tab.
    """

    session_requested = Signal(str)
    close_requested = Signal(str)
    """The user closed the tab of this session."""
    tabs_changed = Signal()

    def __init__(self, look: Look, row: Callable[[str], SessionRow]) -> None:
        super().__init__()
        self._look = look
        self._row = row
        self.current = ""
        self._temporary = ""
        self.setObjectName("tabs")
        self.setAccessibleName(self.tr("Open sessions"))
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMovable(True)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.setUsesScrollButtons(True)
        self.setFont(look.fonts.text)
        self.tabBarClicked.connect(self._request_session_at)
        self.tabMoved.connect(lambda *_: self.tabs_changed.emit())
        self.hide()

    def permanent(self) -> list[str]:
        """Return the sessions with a permanent tab."""
        return [session for session in self._session_ids() if session != self._temporary]

    def open(self, sessions: Sequence[str]) -> None:
        """Open permanent tabs for these sessions, making a temporary tab permanent."""
        for session in sessions:
            if session == self._temporary:
                self._temporary = ""
            elif session not in self._session_ids():
                self._add(session)
        self._on_tabs_changed()

    def set_temporary(self, session: str) -> None:
        """Show the temporary tab for a session; an empty id, or a session with a permanent tab, removes it."""
        needed = "" if session in self.permanent() else session
        if needed == self._temporary:
            return
        if self._temporary:
            self.removeTab(self._session_ids().index(self._temporary))
        self._temporary = needed
        if needed:
            self._add(needed)
        self._on_tabs_changed()

    def close(self, session: str) -> None:  # type: ignore[override]  # closes a tab; the tab bar itself is never closed
        """Remove the tab of a session, if it has one."""
        if session in self._session_ids():
            self.removeTab(self._session_ids().index(session))
            if session == self._temporary:
                self._temporary = ""
            self._on_tabs_changed()

    def set_current(self, session: str, *, active: bool = True) -> None:
        """Highlight the tab of the session shown; `active` means that this pane is the active one."""
        self.current = session if session in self._session_ids() else ""
        if self.current:
            self.setCurrentIndex(self._session_ids().index(session))
        # Qt always has a current tab. A style property decides whether it also looks like one.
        set_style_properties(self, none=not self.current, away=not active)

    def refresh(self, session: str) -> None:
        """Update the title and status icon of a tab."""
        if session in self._session_ids():
            index = self._session_ids().index(session)
            row = self._row(session)
            self.setTabText(index, visible(row.title).replace("&", "&&"))
            self.setTabToolTip(index, visible(row.title))
            self.setTabIcon(index, icon(session_icon(row), self._look.theme.status(row.status)))

    def neighbor(self, session: str, offset: int) -> str:
        """Return the session of the next (1) or previous (-1) tab, wrapping around; empty if there are no tabs."""
        sessions = self._session_ids()
        if not sessions:
            return ""
        index = sessions.index(session) + offset if session in sessions else 0
        return sessions[index % len(sessions)]

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)
        for index, session in enumerate(self._session_ids()):
            self._add_close_button(index, session)
            self.refresh(session)

    def _session_ids(self) -> list[str]:
        return [str(self.tabData(index)) for index in range(self.count())]

    def _add(self, session: str) -> None:
        index = self.addTab("")
        self.setTabData(index, session)
        self._add_close_button(index, session)
        self.refresh(session)

    def _add_close_button(self, index: int, session: str) -> None:
        button = tool_button("tabs.close", self.tr("Close tab"), self.tr("Close tab (Ctrl+W); the session is kept"))
        icon_size = self._look.size(GLYPH)
        button.setFixedSize(icon_size + 6, icon_size + 6)
        button.setIconSize(QSize(icon_size, icon_size))
        button.setIcon(icon("x", self._look.theme.second, icon_size))
        button.clicked.connect(lambda: self.close_requested.emit(session))
        self.setTabButton(index, QTabBar.ButtonPosition.RightSide, button)

    def _request_session_at(self, index: int) -> None:
        if index >= 0:
            self.session_requested.emit(self._session_ids()[index])

    def _on_tabs_changed(self) -> None:
        self.setVisible(self.count() > 0)
        self.tabs_changed.emit()

    # Overridden Qt methods

    def tabSizeHint(self, index: int) -> QSize:
        hint = super().tabSizeHint(index)
        return QSize(min(hint.width(), self._look.size(MAX_TAB_WIDTH)), hint.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:  # otherwise, any mouse button would switch tabs
            super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.tabAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.MiddleButton and index >= 0:
            self.close_requested.emit(self._session_ids()[index])
            return
        super().mouseReleaseEvent(event)
