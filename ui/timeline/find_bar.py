"""The find bar of the run page. It searches the stored text, not only the rows on screen."""

from typing import Final, Protocol

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from ui.style.icons import set_icon
from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import label
from ui.widgets.tool_button import tool_button

DEBOUNCE_MS: Final = 120
MAX_MATCHES: Final = 1_000


class FindSource(Protocol):
    """The search functions of the find bar; implemented by the store's reader."""

    def search_in_session(self, session: str, text: str) -> list[int]: ...

    def row_of(self, session: str, seq: int) -> int | None: ...


class RunFindBar(QWidget):
    """A button that expands into a search field.

    `match_selected` carries the row of the match that the user went to, and the searched text.
    """

    match_selected = Signal(int, str)
    matches_cleared = Signal()
    """The search was closed or has no matches, so the highlighting should be removed."""
    closed = Signal()

    def __init__(self, look: Look, rows: FindSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._rows = rows
        self._session = ""
        self._matches: list[int] = []  # sequence numbers of the matching events
        self._index = -1  # index of the current match; -1 for none
        self._debounce = QTimer(self, interval=DEBOUNCE_MS, singleShot=True)
        self._debounce.timeout.connect(self._search)
        self.setObjectName("run.find")
        self._open_button = Button(
            look, self.tr("Find in run"), name="run.find.open", tone="quiet", icon="search", hint="Ctrl+F"
        )
        self._open_button.clicked.connect(self.open)
        self._field = QLineEdit()
        self._field.setObjectName("run.find.words")
        self._field.setPlaceholderText(self.tr("Find in run"))
        self._field.setAccessibleName(self.tr("Find in this run"))
        self._field.setClearButtonEnabled(False)
        self._field.setFixedWidth(look.size(200))
        self._field.textChanged.connect(lambda _: self._debounce.start())
        self._field.installEventFilter(self)
        self._count_label = label("", look.fonts.second, "second", name="run.find.count")
        self._previous_button = tool_button("run.find.previous", self.tr("Previous match (Shift+Enter)"))
        self._previous_button.clicked.connect(lambda: self.step_match(-1))
        self._next_button = tool_button("run.find.next", self.tr("Next match (Enter)"))
        self._next_button.clicked.connect(lambda: self.step_match(1))
        self._close_button = tool_button("run.find.close", self.tr("Close (Esc)"))
        self._close_button.clicked.connect(self.close_field)
        self._field_parts = (
            self._field,
            self._count_label,
            self._previous_button,
            self._next_button,
            self._close_button,
        )
        self._set_icons()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for part in (self._open_button, *self._field_parts):
            layout.addWidget(part)
        self._show_field(False)

    def set_session(self, session: str) -> None:
        """Search another session; if a search is open, repeat it there."""
        if session != self._session:
            self._session = session
            self._index = -1
            self._matches = []
            if self._field.isVisible() and self._field.text():
                self._debounce.start()

    def open(self) -> None:
        """Show the field and focus it."""
        self._show_field(True)
        self._field.setFocus()
        self._field.selectAll()

    def open_with(self, text: str) -> None:
        """Show the field and search for a text."""
        self.open()
        self._field.setText(text)

    def close_field(self) -> None:
        self._show_field(False)
        self.matches_cleared.emit()
        self.closed.emit()

    def set_icon_only(self, icon_only: bool) -> None:
        """Set whether the button is shown without its text, as in narrow windows."""
        self._open_button.set_icon_only(icon_only)

    def step_match(self, by: int) -> None:
        """Go to the next (1) or previous (-1) match, wrapping around."""
        if self._debounce.isActive():
            self._debounce.stop()
            self._search()
            return
        if not self._matches:
            return
        self._index = (self._index + by) % len(self._matches)
        self._update_count()
        row = self._rows.row_of(self._session, self._matches[self._index])
        if row is not None:
            self.match_selected.emit(row, self._field.text())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._open_button.restyle(look)
        self._field.setFixedWidth(look.size(200))
        self._count_label.setFont(look.fonts.second)
        self._set_icons()

    def _search(self) -> None:
        self._matches = self._rows.search_in_session(self._session, self._field.text())
        self._index = -1
        if self._matches:
            self.step_match(1)
        else:
            self._update_count()
            self.matches_cleared.emit()

    def _update_count(self) -> None:
        if not self._field.text().strip():
            text = ""
        elif not self._matches:
            text = self.tr("No matches")
        else:
            count = f"{len(self._matches):,}" + ("+" if len(self._matches) >= MAX_MATCHES else "")
            text = self.tr("{} of {}").format(self._index + 1, count)
        if text and text != self._count_label.text():
            announce(self, text)
        self._count_label.setText(text)
        for button in (self._previous_button, self._next_button):
            button.setEnabled(len(self._matches) > 1)

    def _set_icons(self) -> None:
        for button, name in (
            (self._previous_button, "chevron-up"),
            (self._next_button, "chevron-down"),
            (self._close_button, "x"),
        ):
            set_icon(button, name, self._look.theme.second, self._look.size(16))

    def _show_field(self, visible: bool) -> None:
        self._open_button.setVisible(not visible)
        for widget in self._field_parts:
            widget.setVisible(visible)

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                self.close_field()
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self.step_match(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
                return True
        return super().eventFilter(watched, event)
