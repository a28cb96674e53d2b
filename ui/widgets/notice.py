"""A problem told in place: what happened, why, what to do. It stays until it is read."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.problems import Trouble
from ui.theme import Look
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.edge import EdgeFrame
from ui.widgets.words import breakable, label


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
        self._troubles: list[Trouble] = []
        self.hide()

    def tell(self, trouble: Trouble) -> None:
        """Show the newest problem; the older ones come back when it is closed."""
        if trouble in self._troubles:
            self._troubles.remove(trouble)
        self._troubles.append(trouble)
        self._show()

    def close_notice(self) -> None:
        self._troubles.pop()
        self._show()
        if not self._troubles:
            self.closed.emit()

    def _show(self) -> None:
        if not self._troubles:
            self.hide()
            return
        trouble = self._troubles[-1]
        self._what.setText(breakable(trouble.what))
        self._more.setText(breakable(" ".join(part for part in (trouble.why, trouble.do) if part)))
        self._more.setVisible(bool(self._more.text()))
        self.setAccessibleName(str(trouble))
        self.show()
        announce(self, self.accessibleName())

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.recolour(fill=theme.panel, line=theme.strong_line, edge=theme.failed)
        self._what.setFont(look.fonts.strong)
        self._more.setFont(look.fonts.second)
        self._close.restyle(look)
