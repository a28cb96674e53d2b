"""The head of one side: which session, how it ended, what it came to; another one can be chosen."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from core.timeline.align import Totals
from ui.compare.words import totals_line
from ui.looks import status_look, words
from ui.theme import Look, wear
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.words import label


class Side(QWidget):
    """Empty until a session is chosen for it."""

    choosing = Signal()
    wanted = Signal()

    def __init__(self, look: Look, title: str, *, name: str, margins: tuple[int, int, int, int]) -> None:
        super().__init__()
        self.setObjectName(name)
        self._empty = title
        self._title = ElidedLabel(title, look.fonts.bold, name=f"{name}.title")
        self._status = label("", look.fonts.second, name=f"{name}.status")
        self._line = ElidedLabel("", look.fonts.second, "second", name=f"{name}.line")
        self._choose = Button(look, self.tr("Choose…"), name=f"{name}.choose", tone="quiet")
        self._open = Button(look, self.tr("Open"), name=f"{name}.open", tone="quiet")
        self._choose.clicked.connect(lambda: self.choosing.emit())
        self._open.clicked.connect(lambda: self.wanted.emit())
        first = QHBoxLayout()
        first.setSpacing(8)
        self._title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        first.addWidget(self._title)
        first.addWidget(self._status)
        first.addStretch(1)
        first.addWidget(self._open)
        first.addWidget(self._choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(*margins)
        column.setSpacing(2)
        column.addLayout(first)
        column.addWidget(self._line)
        self.show_session(None)

    def show_session(self, row: SessionRow | None) -> None:
        self._title.show_text(visible(row.title) if row else self._empty)
        self._status.setVisible(row is not None)
        self._open.setVisible(row is not None)
        self._line.show_text("")
        if row:
            status = status_look(row.status)
            self._status.setText(words(status.word).lower())
            wear(self._status, tone=status.token)

    def show_totals(self, row: SessionRow, totals: Totals) -> None:
        self._line.show_text(" · ".join((row.model, totals_line(totals, priced=row.cost > 0))))

    def restyle(self, look: Look) -> None:
        self._title.setFont(look.fonts.bold)
        self._status.setFont(look.fonts.second)
        self._line.setFont(look.fonts.second)
        self._choose.restyle(look)
        self._open.restyle(look)
