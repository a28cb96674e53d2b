"""A bar that shows an error, its cause and its fix until the error is resolved or the user closes the bar."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from ui.base.tasks import ErrorSource
from ui.style.theme import Look
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import error_text, label


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
        self._errors: dict[ErrorDetails, ErrorSource | None] = {}
        self.hide()

    def show_error(self, error: ErrorDetails, source: ErrorSource | None = None) -> None:
        """Show an error in place of earlier ones, until the user closes it or its action succeeds.

        Then they reappear.
        """
        self._errors.pop(error, None)
        self._errors[error] = source
        self._show()

    def resolve(self, source: ErrorSource) -> None:
        """Remove the errors of an action that has succeeded in the meantime."""
        self._keep(lambda other: other != source)

    def resolve_session(self, session: str) -> None:
        """Remove the errors of actions on a session, because the session has continued without them."""
        self._keep(lambda source: source is None or source.session != session)

    def _keep(self, condition: Callable[[ErrorSource | None], bool]) -> None:
        """Keep only the errors whose source meets a condition, and show the latest of them."""
        kept = {error: source for error, source in self._errors.items() if condition(source)}
        if len(kept) == len(self._errors):
            return
        is_changed = next(reversed(kept), None) != next(reversed(self._errors))
        self._errors = kept
        if is_changed:
            self._show()

    def close_current(self) -> None:
        self._errors.popitem()
        self._show()
        if not self._errors:
            self.closed.emit()

    def _show(self) -> None:
        if not self._errors:
            self.hide()
            return
        error = next(reversed(self._errors))
        self._message.setText(error_text(error.message))
        self._more.setText(error_text(error.cause, error.fix))
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
