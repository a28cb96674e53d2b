"""The sessions on the left: start one, find one, see which waits."""

from collections.abc import Callable, Iterator, Sequence
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
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.domain.clock import now as wall_clock
from core.domain.sessions import SessionRow
from ui.icons import icon
from ui.sessions.delegate import SessionsDelegate
from ui.sessions.foot import SessionsFoot
from ui.sessions.menu import heading_menu, session_menu
from ui.sessions.model import Role, SessionsModel
from ui.sessions.rows import TRASH, Heading, Hit, Line
from ui.sessions.view import WIDTH, SessionsView
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.times import moment
from ui.widgets.words import ENTER_KEYS, label

LEAST: Final = 200
SEARCH_DELAY_MS: Final = 120
AGE_EVERY_MS: Final = 30_000
SELECTING: Final = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


class SessionsPanel(QFrame):
    """Fed with session rows; tells which one the person chose, searched or wants to start."""

    chosen = Signal(str)
    place_chosen = Signal(str, int)  # a session, and the line of its journal that holds the words
    renamed = Signal(str, str)
    filed = Signal(str, list)  # a word (pin, archive, trash, restore, forget, fork, folder…) and the sessions meant
    undo_wanted = Signal()
    compared = Signal(str, str)
    placed = Signal(str, str)  # tab or beside, and the session
    new_run = Signal()
    searched = Signal(str)

    def __init__(
        self,
        look: Look,
        *,
        pages: Sequence[tuple[str, str, str]] = (),
        home: str = "",
        clock: Callable[[], int] = wall_clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look, self._clock = look, clock
        self.setObjectName("sessions")
        self.setAccessibleName(self.tr("Sessions"))
        self.setProperty("surface", "panel")
        self.setMinimumWidth(look.size(LEAST))
        home = home or str(Path.home())
        self._model = SessionsModel(home=home, clock=clock, parent=self)
        self._delegate = SessionsDelegate(look, home=home, clock=clock, parent=self)
        self._view = SessionsView(self._model, self._delegate, self)
        self.foot = SessionsFoot(look, pages)
        self._build()
        self._connect()
        self._empty.hide()  # nobody knows yet whether there is nothing to list

    def show_sessions(self, rows: Sequence[SessionRow]) -> None:
        """List these sessions, keeping the scroll and the keyboard's place where they still exist."""
        scrolled = self._view.verticalScrollBar().value()
        with self._keeping():
            self._model.show_sessions(rows)
        self._view.verticalScrollBar().setValue(scrolled)
        self._say_empty()

    def update_session(self, row: SessionRow) -> None:
        comes = row.id == self._delegate.shown != self._current() and not self._model.place(row.id).isValid()
        with self._keeping():
            self._model.update_session(row)
        if comes:
            self._stand_on_shown()
        self._say_empty()

    def drop_sessions(self, names: Sequence[str]) -> None:
        """These are gone for good."""
        with self._keeping():
            self._model.drop_sessions(names)
        self._say_empty()

    def nth(self, number: int) -> str:
        """The session a person counts as this one, from 1; empty where there are fewer."""
        names = [row.id for row in self._model.rows_of(self._model.lines())]
        return names[number - 1] if number <= len(names) else ""

    def neighbour(self, session_id: str) -> str:
        """The session below this one, else the one above; never one that is in the trash."""
        names = [row.id for row in self._model.rows_of(self._model.lines()) if not row.trashed or row.id == session_id]
        if session_id not in names or len(names) < 2:
            return ""
        place = names.index(session_id)
        return names[place + 1] if place + 1 < len(names) else names[place - 1]

    def everything(self) -> list[SessionRow]:
        """Every session in the order of the list, also those that are folded away."""
        return self._model.everything()

    def rename(self, session_id: str) -> None:
        """Begin to write a new name for it, in its line."""
        self._view.stand_on(self._model.place(session_id))
        self._view.rename()

    def show_hits(self, hits: Sequence[Hit]) -> None:
        """List what a search of the text found, below the titles that match."""
        self._model.search(self._search.text(), hits)
        self._say_empty()

    def places(self) -> list[tuple[str, int]]:
        """The sessions whose text holds the words, and where."""
        found = [self._model.item(index) for index in self._model.lines()]
        return [(item.row.id, item.seq) for item in found if isinstance(item, Line) and item.seq]

    def mark(self, session_id: str) -> None:
        """Mark the session on display, which is the one that keys are meant for; an empty id marks none."""
        self._delegate.shown = session_id
        self._stand_on_shown()
        self._view.viewport().update()

    def _current(self) -> str:
        return str(self._view.currentIndex().data(Role.SESSION) or "")

    def _selected(self) -> set[str]:
        return {str(index.data(Role.SESSION)) for index in self._view.selectedIndexes()}

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Lines that move take the keyboard and the selection along: Qt would give both to their neighbours."""
        current, selected = self._current(), self._selected()
        yield
        if (self._current(), self._selected()) == (current, selected):
            return
        chosen, flags = self._view.selectionModel(), QItemSelectionModel.SelectionFlag
        place = self._model.place(current)
        if not place.isValid():
            chosen.select(self._view.currentIndex(), flags.ClearAndSelect)  # gone: its neighbour, and no other
            return
        if self._selected() != selected:
            again = QItemSelection()
            for index in filter(QModelIndex.isValid, map(self._model.place, selected)):
                again.select(index, index)
            chosen.select(again, flags.ClearAndSelect)
        if self._current() != current:
            chosen.setCurrentIndex(place, flags.NoUpdate)

    def _stand_on_shown(self) -> None:
        """Without moving the list: somebody may be about to click."""
        place = self._model.place(self._delegate.shown)
        if place.isValid() and place not in self._view.selectedIndexes():
            self._view.setAutoScroll(False)
            self._view.stand_on(place)
            self._view.setAutoScroll(True)

    def open_search(self) -> None:
        """With the keyboard in it, also where it was open before."""
        self._search_button.setChecked(True)
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def close_search(self) -> None:
        self._search_button.setChecked(False)

    def restyle(self, look: Look) -> None:
        self._look = self._delegate.look = look
        self.setMinimumWidth(look.size(LEAST))
        self._new.restyle(look)
        self.foot.restyle(look)
        self._search.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.second)
        self._tint()
        self._view.fit_rows()
        self._view.viewport().update()

    def _build(self) -> None:
        look = self._look
        self._new = Button(
            look, self.tr("New run"), name="sessions.new", tone="primary", icon="plus", hint=self.tr("Ctrl N")
        )
        self._search_button = QToolButton()
        self._search_button.setObjectName("sessions.search_button")
        self._search_button.setAccessibleName(self.tr("Search sessions"))
        self._search_button.setProperty("tone", "framed")
        self._search_button.setCheckable(True)
        self._search = QLineEdit()
        self._search.setObjectName("sessions.search")
        self._search.setAccessibleName(self.tr("Search sessions"))
        self._search.setPlaceholderText(self.tr("Find in titles and text"))
        self._search.setFont(look.fonts.text)
        self._search.setClearButtonEnabled(False)
        self._search.installEventFilter(self)
        self._search.hide()
        self._empty = label("", look.fonts.second, "second", name="sessions.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._empty.setContentsMargins(14, 12, 14, 0)
        self._lay_out()
        self._tint()

    def _tint(self) -> None:
        side, glyph = self._look.size(28), self._look.size(16)
        self._search_button.setFixedSize(side, side)
        self._search_button.setIconSize(QSize(glyph, glyph))
        self._search_button.setIcon(icon("search", self._look.theme.second, glyph))

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setContentsMargins(12, 12, 12, 8)
        top.setSpacing(8)
        top.addWidget(self._new, 1)
        top.addWidget(self._search_button)
        field = QHBoxLayout()
        field.setContentsMargins(12, 0, 12, 0)
        field.addWidget(self._search)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addLayout(field)
        column.addWidget(self._empty)
        column.addWidget(self._view, 1)
        column.addStretch(0)
        column.addWidget(self.foot)

    def _connect(self) -> None:
        self._new.clicked.connect(lambda: self.new_run.emit())
        self._search_button.toggled.connect(self._toggle_search)
        self._view.clicked.connect(self._click)
        self._view.entered_row.connect(self._choose)
        self._view.trash_wanted.connect(self._throw_away)
        self._view.undo_wanted.connect(self.undo_wanted)
        self._view.menu_wanted.connect(self._open_menu)
        self._model.renamed.connect(self.renamed)
        self._search_wait = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._search_wait.timeout.connect(lambda: self.searched.emit(self._search.text().strip()))
        self._search.textChanged.connect(self._narrow)
        self._day = self._today()
        ages = QTimer(self, interval=AGE_EVERY_MS)
        ages.setTimerType(Qt.TimerType.VeryCoarseTimer)
        ages.timeout.connect(self.refresh_ages)
        ages.start()

    def refresh_ages(self) -> None:
        """Ages grow and days end while nothing else happens."""
        if self._today() != self._day:
            self._day = self._today()
            self._model.rearrange()
        if self.isVisible():
            self._view.viewport().update()

    def _today(self) -> date:
        return moment(self._clock()).date()

    def _click(self, index: QModelIndex) -> None:
        """With Ctrl or Shift a click only selects."""
        if not QGuiApplication.keyboardModifiers() & SELECTING:
            self._choose(index)

    def _meant(self) -> list[SessionRow]:
        return self._model.rows_of(self._view.chosen())

    def _throw_away(self) -> None:
        """What is in the trash already is not thrown away by a key."""
        if names := [row.id for row in self._meant() if not row.trashed]:
            self.filed.emit("trash", names)

    def _open_menu(self, place: QPoint) -> None:
        rows, item = self._meant(), self._model.item(self._view.currentIndex())
        if rows:
            session_menu(self._look, rows, lambda word: self._wish(word, rows), self).popup(place)
        elif isinstance(item, Heading) and item.key == TRASH:
            heading_menu(self._look, item.count, lambda word: self._wish(word, rows), self).popup(place)

    def _wish(self, word: str, rows: list[SessionRow]) -> None:
        if word == "rename":
            self._view.rename()
        elif word in {"tab", "beside"}:
            self.placed.emit(word, rows[0].id)
        elif word == "compare":
            self.compared.emit(rows[0].id, rows[1].id)
        elif word == "open":
            self._choose(self._model.place(rows[0].id))
        else:
            self.filed.emit(word, [row.id for row in rows])

    def _choose(self, index: QModelIndex) -> None:
        item = self._model.item(index)
        if isinstance(item, Heading) and item.folds:
            self._model.turn(item.key)
            return
        session_id = index.data(Role.SESSION)
        if isinstance(session_id, str):
            self.mark(session_id)
            if isinstance(item, Line) and item.seq:
                self.place_chosen.emit(session_id, item.seq)
            else:
                self.chosen.emit(session_id)

    def _narrow(self, words: str) -> None:
        self._model.search(words)
        self._view.scrollToTop()
        self._say_empty()
        self._search_wait.start()

    def _toggle_search(self, on: bool) -> None:
        self._search.setVisible(on)
        if on:
            self.open_search()
        else:
            self._search.clear()
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _say_empty(self) -> None:
        """Never an empty list without a word on what to do."""
        empty = self._model.rowCount() == 0
        words = self._search.text().strip()
        if empty and words:
            self._empty.setText(
                self.tr("No session holds “{}”. Try fewer words, or press Esc to see all.").format(words)
            )
        elif empty:
            self._empty.setText(self.tr("No sessions yet. Start one with New run; it will be listed here."))
        self._empty.setVisible(empty)
        self._view.setVisible(not empty)

    def _search_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self._search_button.setChecked(False)
            return True
        if event.key() == Qt.Key.Key_Down or event.key() in ENTER_KEYS:
            if self._model.rowCount():  # what is hidden could not give the keyboard back
                self._delegate.keyboard = True
                self._view.setFocus(Qt.FocusReason.TabFocusReason)
                self._view.go_to_first()
                if event.key() in ENTER_KEYS:
                    self._choose(self._view.currentIndex())
            return True
        return False

    def sizeHint(self) -> QSize:
        return QSize(self._look.size(WIDTH), 600)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if watched is self._search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._search_key(event)
        return False
