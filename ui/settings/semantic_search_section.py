"""The section of the Memory and learning page that enables or disables semantic search."""

from enum import StrEnum

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.memory.semantic_search import SemanticSearchStatus
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import label


class SemanticSearchAction(StrEnum):
    """Actions on semantic search."""

    RELOAD = "reload"  # query the status of the model in use
    ENABLE = "enable"
    DISABLE = "disable"


class SemanticSearchSection(QWidget):
    """A button that installs and enables the default model, and the status of the model in use."""

    action_requested = Signal(str)  # a `SemanticSearchAction`

    def __init__(self, look: Look, model: str) -> None:
        super().__init__()
        self._text = label("", look.fonts.second, "second", name="settings.semantic.status", wrap=True)
        self._enable = Button(look, self.tr("Turn on semantic search"), name="settings.semantic.enable")
        self._disable = Button(look, self.tr("Turn off semantic search"), name="settings.semantic.disable")
        self._installing = False
        self._enable.clicked.connect(self._request_enabling)
        self._disable.clicked.connect(lambda: self.action_requested.emit(SemanticSearchAction.DISABLE))
        row = QHBoxLayout()
        row.addWidget(self._enable)
        row.addWidget(self._disable)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(row)
        column.addWidget(self._text)
        self.show_status(SemanticSearchStatus(model), is_checked=False)

    def show_status(self, status: SemanticSearchStatus, *, is_checked: bool = True) -> None:
        """Show the status of the model in use. If `is_checked` is false, only the name of the model is known yet."""
        self._installing = False
        had_focus = self._enable.hasFocus() or self._disable.hasFocus()
        self._disable.setVisible(bool(status.model))
        self._enable.setVisible(not status.model or status.error is not None)
        if had_focus:  # the button with the focus may be hidden now
            (self._disable if self._enable.isHidden() else self._enable).setFocus()
        if not status.model:
            self._text.setText(
                self.tr(
                    "Semantic search is off. Turning it on installs all-MiniLM-L6-v2 (84 MB) and numpy into the "
                    "environment of Journeyman, with pip. After that it needs no network."
                )
            )
        elif status.error:
            self._text.setText(visible(f"{status.error.message} {status.error.cause}".strip()))
        elif not is_checked:
            self._text.setText(self.tr("Checking the model…"))
        else:
            text = self.tr("Semantic search is on. {model}: {done:,} of {all:,} memories indexed.")
            self._text.setText(text.format(model=visible(status.model), done=status.embedded, all=status.memories))

    def show_installing(self, packages: str) -> None:
        """Show that the model is being installed or loaded. Until `show_status` is called, the button has no effect."""
        self._installing = True
        installing = self.tr("Installing {}…").format(packages)
        self._text.setText(installing if packages else self.tr("Loading the model…"))

    def _request_enabling(self) -> None:
        if not self._installing:
            self.action_requested.emit(SemanticSearchAction.ENABLE)
