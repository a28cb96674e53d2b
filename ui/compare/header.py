"""The header of one side of a comparison: title, status and totals of its session, and buttons to open or change it."""

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from core.timeline.run_alignment import RunTotals
from ui.base.step_presentation import status_style, translate
from ui.compare.texts import totals_line
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label


class ComparisonHeader(QWidget):
    """The header of one side. Until a session is chosen, it shows `title` as a hint."""

    choose_requested = Signal()
    open_requested = Signal()

    def __init__(self, look: Look, title: str, *, name: str, margins: QMargins) -> None:
        super().__init__()
        self.setObjectName(name)
        self._hint = title
        self._title = ElidedLabel(title, look.fonts.bold, name=f"{name}.title")
        self._status = label("", look.fonts.second, name=f"{name}.status")
        self._line = ElidedLabel("", look.fonts.second, "second", name=f"{name}.line")
        self.choose_button = Button(look, self.tr("Choose…"), name=f"{name}.choose", tone="quiet", icon="search")
        self._open = Button(look, self.tr("Open session"), name=f"{name}.open", tone="quiet", icon="footprints")
        self.choose_button.clicked.connect(lambda: self.choose_requested.emit())
        self._open.clicked.connect(lambda: self.open_requested.emit())
        self._title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        title_row = CompactRow(spacing=8)
        title_row.row.addWidget(self._title)
        title_row.row.addWidget(self._status)
        title_row.row.addStretch(1)
        title_row.row.addWidget(self._open)
        title_row.row.addWidget(self.choose_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(margins)
        column.setSpacing(2)
        column.addWidget(title_row)
        column.addWidget(self._line)
        self.show_session(None)

    def show_session(self, row: SessionRow | None, started: str = "") -> None:
        """Show the title and the status of a session or, for None, the hint.

        `started` is the time at which the session began; if it is empty, it is left out.
        """
        title = " · ".join(filter(None, (visible(row.title), started))) if row else self._hint
        self._title.show_text(title)
        self._status.setVisible(row is not None)
        self._open.setVisible(row is not None)
        self._line.show_text("")
        if row:
            status = status_style(row.status)
            self._status.setText(translate(status.label).lower())
            set_style_properties(self._status, tone=status.token)

    def show_totals(self, row: SessionRow, totals: RunTotals) -> None:
        self._line.show_text(" · ".join((row.model, totals_line(totals))))

    def restyle(self, look: Look) -> None:
        self._title.setFont(look.fonts.bold)
        self._status.setFont(look.fonts.second)
        self._line.setFont(look.fonts.second)
        self.choose_button.restyle(look)
        self._open.restyle(look)
