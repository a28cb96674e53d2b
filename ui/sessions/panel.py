"""The sidebar, in which the user starts and searches sessions, and sees which of them wait for an answer."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from core.domain.clock import now as wall_clock
from core.domain.sessions import SessionRow
from ui.sessions.search_filters import SearchFilters
from ui.sessions.session_menu import MenuAction, SessionAction, SidebarAction, heading_menu, session_menu
from ui.sessions.session_rows import TRASH, PageItem, SessionHeading, SessionHit, SessionLine
from ui.sessions.sessions_delegate import SessionsDelegate
from ui.sessions.sessions_footer import FooterPage, SessionsFooter
from ui.sessions.sessions_model import Role, SessionsModel
from ui.sessions.sessions_view import WIDTH, SessionsView
from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.focus_order import set_tab_order, tab_stops
from ui.widgets.labels import ENTER_KEYS, label
from ui.widgets.time_formats import to_local_time
from ui.widgets.tool_button import tool_button

MIN_WIDTH: Final = 200
SEARCH_DELAY_MS: Final = 120
AGE_EVERY_MS: Final = 30_000
SELECTION_MODIFIERS: Final = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


class SessionsPanel(QFrame):
    """The sidebar. The main window supplies the sessions and handles the signals."""

    chosen = Signal(str)
    hit_chosen = Signal(str, int)  # a session, and the sequence number of the event with the match
    page_item_chosen = Signal(str, str)  # a page, and the ID of a memory or skill that it shows
    renamed = Signal(str, str)
    action_requested = Signal(str, list)  # a `SessionAction`, and the IDs of the sessions
    undo_requested = Signal()
    compare_requested = Signal(str, str)
    tab_requested = Signal(str)  # open a session in a tab
    split_view_requested = Signal(str)  # open a session in the other pane of the split view
    new_session_requested = Signal()
    search_changed = Signal(str)

    def __init__(
        self,
        look: Look,
        *,
        pages: Sequence[FooterPage] = (),
        home: str = "",
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._clock = clock
        self.setObjectName("sessions")
        self.setAccessibleName(self.tr("Sessions"))
        self.setProperty("surface", "panel")
        self.setMinimumWidth(look.size(MIN_WIDTH))
        home = home or str(Path.home())
        self._model = SessionsModel(home=home, clock=clock, parent=self)
        self._delegate = SessionsDelegate(look, home=home, clock=clock, parent=self)
        self._view = SessionsView(self._model, self._delegate, self)
        self.footer = SessionsFooter(look, pages)
        self._build()
        self._connect()
        self._empty.hide()  # whether the list is empty is not known until the sessions have been read

    def show_sessions(self, rows: Sequence[SessionRow]) -> None:
        """Show these sessions. The scroll offset and, if possible, the focused row are kept."""
        scrolled = self._view.verticalScrollBar().value()
        with self._keeping_selection():
            self._model.show_sessions(rows)
        self._view.verticalScrollBar().setValue(scrolled)
        self._update_empty()

    def update_session(self, row: SessionRow) -> None:
        comes = (
            row.id == self._delegate.current_session != self._current() and not self._model.index_of(row.id).isValid()
        )
        with self._keeping_selection():
            self._model.update_session(row)
        if comes:
            self._select_shown()
        self._update_empty()

    def remove_sessions(self, names: Sequence[str]) -> None:
        with self._keeping_selection():
            self._model.remove_sessions(names)
        self._update_empty()

    def show_unseen(self, session_ids: Collection[str]) -> None:
        """Mark the sessions whose run ended while the user was not looking."""
        self._delegate.unseen = frozenset(session_ids)
        self._model.unseen = self._delegate.unseen
        self._view.viewport().update()

    def nth_session(self, number: int) -> str:
        """Return the ID of the n-th visible session, counting from 1; "" if there is none."""
        names = [row.id for row in self._model.rows_of(self._model.session_indexes())]
        return names[number - 1] if number <= len(names) else ""

    def neighbor(self, session_id: str) -> str:
        """Return the session below this one, or else the one above; sessions in the trash are skipped."""
        session_ids = [
            row.id
            for row in self._model.rows_of(self._model.session_indexes())
            if not row.trashed or row.id == session_id
        ]
        if session_id not in session_ids or len(session_ids) < 2:
            return ""
        index = session_ids.index(session_id)
        return session_ids[index + 1] if index + 1 < len(session_ids) else session_ids[index - 1]

    def all_sessions(self) -> list[SessionRow]:
        """Return all sessions in the order of the list, including those in collapsed groups."""
        return self._model.all_sessions()

    def rename(self, session_id: str) -> None:
        """Start renaming a session in place."""
        self._view.select_only(self._model.index_of(session_id))
        self._view.rename()

    def show_hits(self, query: str, hits: Sequence[SessionHit], page_items: Sequence[PageItem] = ()) -> None:
        """Show the results of a search: sessions with a matching title, then matches, memories and skills.

        Results for an earlier query, which come late, are ignored.
        """
        if query != self._search.text().strip():
            return
        self._model.search(query, hits, page_items)
        self._update_empty()
        count = len(self._model.session_indexes()) + len(page_items)
        text = self.tr("1 search result") if count == 1 else self.tr("{} search results").format(f"{count:,}")
        announce(self._search, text)

    def mark_current(self, session_id: str) -> None:
        """Mark the session that is displayed, and select it for keyboard shortcuts; an empty ID marks none."""
        self._delegate.current_session = session_id
        self._select_shown()
        self._view.viewport().update()

    def _current(self) -> str:
        return str(self._view.currentIndex().data(Role.SESSION) or "")

    def _selected(self) -> set[str]:
        return {str(index.data(Role.SESSION)) for index in self._view.selectedIndexes()}

    @contextmanager
    def _keeping_selection(self) -> Iterator[None]:
        """Keep focus and selection on their sessions while rows move; Qt would move both to neighboring rows."""
        current, selected = self._current(), self._selected()
        yield
        if (self._current(), self._selected()) == (current, selected):
            return
        selection_model, flags = self._view.selectionModel(), QItemSelectionModel.SelectionFlag
        current_index = self._model.index_of(current)
        if not current_index.isValid():
            # The session was removed, and Qt has moved the focus to its neighbor, which is now selected too.
            selection_model.select(self._view.currentIndex(), flags.ClearAndSelect)
            return
        if self._selected() != selected:
            selection = QItemSelection()
            for index in filter(QModelIndex.isValid, map(self._model.index_of, selected)):
                selection.select(index, index)
            selection_model.select(selection, flags.ClearAndSelect)
        if self._current() != current:
            selection_model.setCurrentIndex(current_index, flags.NoUpdate)

    def _select_shown(self) -> None:
        """Select the session that is displayed. Do not scroll to it, because the user may be about to click a row."""
        index = self._model.index_of(self._delegate.current_session)
        if index.isValid() and index not in self._view.selectedIndexes():
            self._view.setAutoScroll(False)
            self._view.select_only(index)
            self._view.setAutoScroll(True)

    def open_search(self) -> None:
        """Show the search field and focus it, even if it is already shown."""
        self._search_button.setChecked(True)
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def restyle(self, look: Look) -> None:
        self._look = self._delegate.look = look
        self.setMinimumWidth(look.size(MIN_WIDTH))
        self._new.restyle(look)
        self.footer.restyle(look)
        self._search.setFont(look.fonts.text)
        self._filters.restyle(look)
        self._empty.setFont(look.fonts.second)
        self._update_icon()
        self._view.fit_rows()
        self._view.viewport().update()

    def _build(self) -> None:
        look = self._look
        self._new = Button(
            look, self.tr("New session"), name="sessions.new", tone="primary", icon="plus", hint=self.tr("Ctrl+N")
        )
        search_tooltip = self.tr("Search sessions (Ctrl+Shift+F)")
        self._search_button = tool_button("sessions.search_button", self.tr("Search sessions"), search_tooltip)
        self._search_button.setProperty("tone", "framed")
        self._search_button.setCheckable(True)
        self._search = QLineEdit()
        self._search.setObjectName("sessions.search")
        self._search.setAccessibleName(self.tr("Search sessions"))
        self._search.setPlaceholderText(self.tr("Search everything"))
        self._search.setFont(look.fonts.text)
        self._search.setClearButtonEnabled(False)
        self._search.installEventFilter(self)
        self._search.hide()
        self._filters = SearchFilters(look)
        self._filters.hide()
        self._empty = label("", look.fonts.second, "second", name="sessions.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._empty.setContentsMargins(14, 12, 14, 0)
        self._lay_out()
        self._update_icon()

    def _update_icon(self) -> None:
        button_size, icon_size = self._look.size(28), self._look.size(16)
        self._search_button.setFixedSize(button_size, button_size)
        self._search_button.setIconSize(QSize(icon_size, icon_size))
        self._search_button.setIcon(icon("search", self._look.theme.second, icon_size))

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setContentsMargins(12, 12, 12, 8)
        top.setSpacing(8)
        top.addWidget(self._new, 1)
        top.addWidget(self._search_button)
        field = QHBoxLayout()
        field.setContentsMargins(12, 0, 12, 0)
        field.setSpacing(6)
        field.addWidget(self._search, 1)
        field.addWidget(self._filters.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addLayout(field)
        column.addWidget(self._filters)
        column.addWidget(self._empty)
        self._view.setMinimumHeight(1)  # so that a low window does not become higher; the list scrolls instead
        column.addWidget(self._view, 1)
        column.addStretch(0)
        column.addWidget(self.footer)
        set_tab_order(self._new, self._search_button, self._search, self._filters.button, self._view)
        set_tab_order(self._view, *tab_stops(self.footer))

    def _connect(self) -> None:
        self._new.clicked.connect(lambda: self.new_session_requested.emit())
        self._search_button.toggled.connect(self._toggle_search)
        self._filters.text_changed.connect(self._search.setText)
        self._filters.menu_requested.connect(lambda: self._filters.show_menu(self._model.rows()))
        self._view.clicked.connect(self._click)
        self._view.row_activated.connect(self._open_index)
        self._view.trash_requested.connect(self._trash_selected)
        self._view.undo_requested.connect(self.undo_requested)
        self._view.menu_requested.connect(self._open_menu)
        self._model.renamed.connect(self.renamed)
        self._search_wait = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._search_wait.timeout.connect(lambda: self.search_changed.emit(self._search.text().strip()))
        self._search.textChanged.connect(self._filter)
        self._day = self._today()
        ages = QTimer(self, interval=AGE_EVERY_MS)
        ages.setTimerType(Qt.TimerType.VeryCoarseTimer)
        ages.timeout.connect(self.refresh_ages)
        ages.start()

    def refresh_ages(self) -> None:
        """Update the ages of sessions; when the day has changed, group the list again."""
        if self._today() != self._day:
            self._day = self._today()
            self._model.rearrange()
        if self.isVisible():
            self._view.viewport().update()

    def _today(self) -> date:
        return to_local_time(self._clock()).date()

    def _click(self, index: QModelIndex) -> None:
        """Open the clicked session, unless the click extends the selection with Ctrl or Shift."""
        if not QGuiApplication.keyboardModifiers() & SELECTION_MODIFIERS:
            self._open_index(index)

    def _selected_rows(self) -> list[SessionRow]:
        return self._model.rows_of(self._view.action_indexes())

    def _trash_selected(self) -> None:
        """Move the selected sessions to the trash, except those already there."""
        if names := [row.id for row in self._selected_rows() if not row.trashed]:
            self.action_requested.emit(SessionAction.TRASH, names)

    def _open_menu(self, position: QPoint) -> None:
        rows, item = self._selected_rows(), self._model.item(self._view.currentIndex())
        if rows:
            session_menu(self._look, rows, lambda action: self._do_action(action, rows), self).popup(position)
        elif isinstance(item, SessionHeading) and item.key == TRASH:
            heading_menu(self._look, item.count, lambda action: self._do_action(action, rows), self).popup(position)

    def _do_action(self, action: MenuAction, rows: list[SessionRow]) -> None:
        match action:
            case SidebarAction.OPEN:
                self._open_index(self._model.index_of(rows[0].id))
            case SidebarAction.OPEN_IN_TAB:
                self.tab_requested.emit(rows[0].id)
            case SidebarAction.OPEN_IN_SPLIT_VIEW:
                self.split_view_requested.emit(rows[0].id)
            case SidebarAction.RENAME:
                self._view.rename()
            case SidebarAction.COMPARE:
                self.compare_requested.emit(rows[0].id, rows[1].id)
            case SessionAction():
                self.action_requested.emit(action, [row.id for row in rows])

    def _open_index(self, index: QModelIndex) -> None:
        item = self._model.item(index)
        if isinstance(item, SessionHeading) and item.collapsible:
            self._model.toggle_group(item.key)
            announce(self._view, str(index.data(Qt.ItemDataRole.AccessibleTextRole)))
            return
        if isinstance(item, PageItem):
            self.page_item_chosen.emit(item.page, item.target)
            return
        session_id = index.data(Role.SESSION)
        if isinstance(session_id, str):
            self.mark_current(session_id)
            if isinstance(item, SessionLine) and item.seq:
                self.hit_chosen.emit(session_id, item.seq)
            else:
                self.chosen.emit(session_id)

    def _filter(self, query: str) -> None:
        self._filters.show_query(query)
        self._model.search(query)
        self._view.scrollToTop()
        self._update_empty()
        self._search_wait.start()

    def _toggle_search(self, on: bool) -> None:
        self._search.setVisible(on)
        self._filters.set_active(on)
        if on:
            self.open_search()
        else:
            self._search.clear()
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _update_empty(self) -> None:
        """Show or hide the hint that is shown in place of an empty list."""
        empty = self._model.rowCount() == 0
        query = self._search.text().strip()
        if empty and query:
            self._empty.setText(
                self.tr(
                    "No session matches “{}”. Try fewer words or filters, or press Esc to show all sessions."
                ).format(query)
            )
        elif empty:
            self._empty.setText(self.tr("No sessions yet. Select New session to start one."))
        self._empty.setVisible(empty)
        self._view.setVisible(not empty)

    def _search_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self._search_button.setChecked(False)
            return True
        if event.key() == Qt.Key.Key_Down or event.key() in ENTER_KEYS:
            if self._model.rowCount():  # an empty list is hidden, so it must not get the focus
                self._delegate.keyboard_used = True
                self._view.setFocus(Qt.FocusReason.TabFocusReason)
                self._view.go_to_first()
                if event.key() in ENTER_KEYS:
                    self._open_index(self._view.currentIndex())
            return True
        return False

    def sizeHint(self) -> QSize:
        return QSize(self._look.size(WIDTH), 600)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if watched is self._search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._search_key(event)
        return False
