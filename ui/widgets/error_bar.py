"""A message bar that shows an error, its cause and its fix until the user closes it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from ui.style.theme import Look
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label


class ErrorBar(AccentFrame):
    closed = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.failed, parent=parent)
        self.setObjectName("notice")
        self._message = label("", look.fonts.strong, name="notice.what", wrap=True)
        self._more = label("", look.fonts.second, "second", name="notice.more", wrap=True)
        self._close = Button(look, self.tr("Close"), name="notice.close", tone="quiet")
        self._close.clicked.connect(lambda: self.close_current())
        text = QVBoxLayout()
        text.setSpacing(2)
        text.addWidget(self._message)
        text.addWidget(self._more)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 8, 8, 8)
        row.addLayout(text, 1)
        row.addWidget(self._close)
        self._errors: list[ErrorDetails] = []
        self.hide()

    def show_error(self, error: ErrorDetails) -> None:
        """Show this error on top; earlier ones reappear when it is closed."""
        if error in self._errors:
            self._errors.remove(error)
        self._errors.append(error)
        self._show()

    def close_current(self) -> None:
        self._errors.pop()
        self._show()
        if not self._errors:
            self.closed.emit()

    def _show(self) -> None:
        if not self._errors:
            self.hide()
            return
        error = self._errors[-1]
        self._message.setText(allow_breaks(error.message))
        self._more.setText(allow_breaks(" ".join(part for part in (error.cause, error.fix) if part)))
        self._more.setVisible(bool(self._more.text()))
        self.setAccessibleName(str(error))
        self.show()
        announce(self, self.accessibleName())

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.failed)
        self._message.setFont(look.fonts.strong)
        self._more.setFont(look.fonts.second)
        self._close.restyle(look)
