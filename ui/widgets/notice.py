"""A problem told in place: what happened, why, what to do. It stays until it is read."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.problems import Trouble
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.edge import EdgeFrame
from ui.widgets.words import label


class Notice(EdgeFrame):
    closed = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.failed, parent=parent)
        self.setObjectName("notice")
        self._what = label("", look.fonts.strong, name="notice.what", wrap=True)
        self._more = label("", look.fonts.second, "second", name="notice.more", wrap=True)
        self._close = Button(look, self.tr("Close"), name="notice.close", tone="quiet")
        self._close.clicked.connect(lambda: self.close_notice())
        text = QVBoxLayout()
        text.setSpacing(2)
        text.addWidget(self._what)
        text.addWidget(self._more)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 8, 8, 8)
        row.addLayout(text, 1)
        row.addWidget(self._close)
        self.hide()

    def tell(self, trouble: Trouble) -> None:
        """Show the newest problem."""
        self._what.setText(trouble.what)
        self._more.setText(" ".join(part for part in (trouble.why, trouble.do) if part))
        self._more.setVisible(bool(self._more.text()))
        self.setAccessibleName(f"{trouble.what} {self._more.text()}")
        self.show()

    def close_notice(self) -> None:
        self.hide()
        self.closed.emit()

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.recolour(fill=theme.panel, line=theme.strong_line, edge=theme.failed)
        self._what.setFont(look.fonts.strong)
        self._more.setFont(look.fonts.second)
        self._close.restyle(look)
