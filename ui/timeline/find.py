"""Find in a run: words looked up in the store, not in what happens to be painted."""

from typing import Final, Protocol

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from ui.icons import put_icon
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.words import label

WAIT_MS: Final = 120
MOST: Final = 1_000


class Found(Protocol):
    """Where words are found: in the app the store's reader."""

    def find_in(self, session: str, text: str) -> list[int]: ...

    def row_of(self, session: str, seq: int) -> int | None: ...


class FindInRun(QWidget):
    """A quiet button that opens into a field; `found` names the row to go to, and the words."""

    found = Signal(int, str)
    lost = Signal()
    """Nothing is found any more."""
    closed = Signal()

    def __init__(self, look: Look, rows: Found, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._rows = look, rows
        self._session, self._at = "", -1
        self._hits: list[int] = []
        self._soon = QTimer(self, interval=WAIT_MS, singleShot=True)
        self._soon.timeout.connect(self._look_up)
        self.setObjectName("run.find")
        self._open = Button(
            look, self.tr("Find in run"), name="run.find.open", tone="quiet", icon="search", hint="Ctrl F"
        )
        self._open.clicked.connect(self.open)
        self._field = QLineEdit()
        self._field.setObjectName("run.find.words")
        self._field.setPlaceholderText(self.tr("Find in run"))
        self._field.setAccessibleName(self.tr("Find in this run"))
        self._field.setClearButtonEnabled(False)
        self._field.setFixedWidth(look.size(200))
        self._field.textChanged.connect(lambda _: self._soon.start())
        self._field.installEventFilter(self)
        self._count = label("", look.fonts.second, "second", name="run.find.count")
        self._buttons = [
            self._button("run.find.previous", "chevron-up", self.tr("Previous match (Shift+Enter)"), -1),
            self._button("run.find.next", "chevron-down", self.tr("Next match (Enter)"), 1),
            self._button("run.find.close", "x", self.tr("Close (Esc)"), 0),
        ]
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for part in (self._open, self._field, self._count, *self._buttons):
            layout.addWidget(part)
        self._show_field(False)

    def set_session(self, session: str) -> None:
        """Another session is shown; what was looked for is looked for there."""
        if session != self._session:
            self._session, self._at, self._hits = session, -1, []
            if self._field.isVisible() and self._field.text():
                self._soon.start()

    def open(self) -> None:
        """Bring the keyboard here."""
        self._show_field(True)
        self._field.setFocus()
        self._field.selectAll()

    def close_field(self) -> None:
        self._show_field(False)
        self.lost.emit()
        self.closed.emit()

    def shorten(self, short: bool) -> None:
        """Only its icon stands there: the room is narrow."""
        self._open.shorten(short)

    def step(self, by: int) -> None:
        """The next match, or the one before; after the last comes the first."""
        if self._soon.isActive():
            self._soon.stop()
            self._look_up()
            return
        if not self._hits:
            return
        self._at = (self._at + by) % len(self._hits)
        self._say()
        row = self._rows.row_of(self._session, self._hits[self._at])
        if row is not None:
            self.found.emit(row, self._field.text())

    def restyle(self, look: Look) -> None:
        self._look = look
        self._open.restyle(look)
        self._field.setFixedWidth(look.size(200))
        self._count.setFont(look.fonts.second)
        for button, name in zip(self._buttons, ("chevron-up", "chevron-down", "x"), strict=True):
            put_icon(button, name, look.theme.second, look.size(16))

    def _look_up(self) -> None:
        self._hits = self._rows.find_in(self._session, self._field.text())
        self._at = -1
        if self._hits:
            self.step(1)
        else:
            self._say()
            self.lost.emit()

    def _say(self) -> None:
        if not self._field.text().strip():
            said = ""
        elif not self._hits:
            said = self.tr("Nothing found")
        else:
            count = f"{len(self._hits):,}" + ("+" if len(self._hits) >= MOST else "")
            said = self.tr("{} of {}").format(self._at + 1, count)
        self._count.setText(said)
        for button in self._buttons[:2]:
            button.setEnabled(len(self._hits) > 1)

    def _button(self, name: str, picture: str, said: str, by: int) -> QToolButton:
        made = QToolButton()
        made.setObjectName(name)
        put_icon(made, picture, self._look.theme.second, self._look.size(16))
        made.setToolTip(said)
        made.setAccessibleName(said)
        made.clicked.connect((lambda: self.step(by)) if by else self.close_field)
        return made

    def _show_field(self, shown: bool) -> None:
        self._open.setVisible(not shown)
        for part in (self._field, self._count, *self._buttons):
            part.setVisible(shown)

    # Qt

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                self.close_field()
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
                return True
        return super().eventFilter(watched, event)
