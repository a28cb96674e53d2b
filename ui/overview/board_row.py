"""A row of the Overview page: what a session is doing, its cost, its last reply, and its open request."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.base.pausing import displayed_status
from ui.overview.board_groups import CLEARABLE, BoardEntry
from ui.sessions.session_rows import second_line, session_icon, status_text
from ui.style.icons import pixmap
from ui.style.number_formats import amount, money
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label
from ui.widgets.time_formats import short_age


class BoardRow(AccentFrame):
    """The row of a session. `chosen` is emitted when it is clicked."""

    chosen = Signal(str)
    open_requested = Signal(str)
    clear_requested = Signal(str)

    def __init__(self, look: Look, entry: BoardEntry, clock: Callable[[], int]) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.line, edge=theme.panel)
        self._look = look
        self._clock = clock
        self._entry = entry
        self._chosen = False
        self._last_line = ""
        self.setObjectName(f"overview.session.{entry.session}")
        self._glyph = QLabel()
        self._title = ElidedLabel("", look.fonts.strong, name="overview.row.title")
        self._figures = label("", look.fonts.second, "second", name="overview.row.figures")
        self._doing = ElidedLabel("", look.fonts.second, "second", name="overview.row.doing")
        self._last = ElidedLabel("", look.fonts.text, name="overview.row.last")
        self._open = Button(look, self.tr("Open"), name="overview.row.open", tone="quiet")
        self._clear = Button(look, self.tr("Clear"), name="overview.row.clear", tone="quiet")
        self._open.clicked.connect(lambda: self.open_requested.emit(self._entry.session))
        self._clear.clicked.connect(lambda: self.clear_requested.emit(self._entry.session))
        for button in (self._open, self._clear):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys of the page do what the buttons do
        self._lay_out()

    @property
    def title(self) -> str:
        return self._entry.row.title

    def show_entry(self, entry: BoardEntry, last_line: str) -> None:
        """Show a session. `last_line` is the first line of its last reply; "" if there is none."""
        self._entry, self._last_line = entry, last_line
        row = entry.row
        color = self._look.theme.status(row.status)
        self._glyph.setPixmap(pixmap(session_icon(row), color, self._look.size(16), self.devicePixelRatioF()))
        self._title.show_text(visible(row.title))
        self._figures.setText(self._figures_text())
        working = self.tr("sub-agents at work: {}").format(", ".join(entry.agents)) if entry.agents else ""
        doing = " · ".join(filter(None, (second_line(row, str(Path.home()), short=True), working)))
        self._doing.show_text(visible(doing))
        self._last.show_text(visible(last_line))
        self._last.setVisible(bool(last_line))
        self._clear.setVisible(entry.group in CLEARABLE)
        for button in (self._open, self._clear):
            button.setAccessibleName(f"{button.text()}: {visible(row.title)}")
        texts = (row.title, status_text(displayed_status(row)), doing, last_line, self._figures.text())
        self.setAccessibleName(visible(", ".join(filter(None, texts))))

    def _figures_text(self) -> str:
        """Return a text with the cost, the tokens and the age of the session."""
        row = self._entry.row
        cost = money(row.cost) if row.cost else ""
        tokens = self.tr("{} tok").format(amount(row.tokens)) if row.tokens else ""
        age = short_age(row.created_at if row.status == "running" else row.updated_at, self._clock())
        return " · ".join(filter(None, (cost, tokens, age)))

    def refresh_age(self) -> None:
        self.show_entry(self._entry, self._last_line)

    def set_chosen(self, chosen: bool) -> None:
        self._chosen = chosen
        theme = self._look.theme
        fill, line, edge = theme.panel, theme.line, theme.panel
        if chosen:
            fill, line, edge = theme.background, theme.accent, theme.accent
        if self._entry.row.status == "waiting":
            edge = theme.waiting
        self.set_colors(fill=fill, line=line, edge=edge)

    def add_card(self, card: QWidget) -> None:
        """Show the card of the open request at the bottom of this row. This removes it from another row."""
        self._column.addWidget(card)

    def restyle(self, look: Look) -> None:
        self._look = look
        for part, font in (
            (self._title, look.fonts.strong),
            (self._figures, look.fonts.second),
            (self._doing, look.fonts.second),
            (self._last, look.fonts.text),
        ):
            part.setFont(font)
        for button in (self._open, self._clear):
            button.restyle(look)
        self.refresh_age()
        self.set_chosen(self._chosen)

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self._glyph)
        first.addWidget(self._title, 1)
        for part in (self._figures, self._clear, self._open):
            first.addWidget(part)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 8, 10, 8)
        self._column.setSpacing(3)
        self._column.addLayout(first)
        self._column.addWidget(self._doing)
        self._column.addWidget(self._last)

    # Overridden Qt methods

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.chosen.emit(self._entry.session)
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.open_requested.emit(self._entry.session)
        event.accept()
