"""The bar that is shown when a run has paused because a model request failed: error, cause and possible actions."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from ui.base.step_presentation import translate
from ui.style.theme import Look
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import error_text, label
from ui.widgets.stacking_row import StackingRow, plain_row

TEXT_WIDTH: Final = 200  # pixels; if less is left for the text beside the buttons, the buttons move below it


class FailedRequestBar(AccentFrame):
    """A bar below the timeline, visible while the run is paused because of an error."""

    retry_requested = Signal()
    model_change_requested = Signal()
    settings_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.failed, parent=parent)
        self._error: ErrorDetails | None = None
        self.setObjectName("failed")
        self._message = label("", look.fonts.strong, "failed", name="failed.message", wrap=True)
        self._cause = label("", look.fonts.second, "second", name="failed.cause", wrap=True)
        self._retry = Button(look, translate("Try again"), name="failed.retry")
        self._model = Button(look, translate("Change model"), name="failed.model", tone="quiet")
        self._settings = Button(look, translate("Settings"), name="failed.settings", tone="quiet")
        self._retry.clicked.connect(self.retry_requested)
        self._model.clicked.connect(self.model_change_requested)
        self._settings.clicked.connect(self.settings_requested)
        self._texts = QWidget()
        text = QVBoxLayout(self._texts)
        text.setContentsMargins(0, 0, 0, 0)
        text.setSpacing(2)
        text.addWidget(self._message)
        text.addWidget(self._cause)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 8, 10, 8)
        buttons = plain_row(self._settings, self._model, self._retry)
        center = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        layout.addWidget(StackingRow(self._texts, buttons, alignment=center))
        self.restyle(look)
        self.hide()

    def show_error(self, error: ErrorDetails | None) -> None:
        """Show the error that paused the run, or hide the bar for None."""
        self.setVisible(error is not None)
        if error and error != self._error:
            self._message.setText(error_text(error.message))
            self._cause.setText(error_text(error.cause, error.fix))
            self._cause.setVisible(bool(error.cause or error.fix))
            self.setAccessibleName(str(error))
            announce(self, str(error))
        self._error = error

    def focus_bar(self) -> bool:
        """Focus Try again; return False if the bar is hidden."""
        if not self.isHidden():
            self._retry.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return not self.isHidden()

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.failed)
        self._message.setFont(look.fonts.strong)
        self._cause.setFont(look.fonts.second)
        for button in (self._retry, self._model, self._settings):
            button.restyle(look)
        self._texts.setMinimumWidth(look.size(TEXT_WIDTH))
