"""The footer of the sidebar, with buttons for the pages that do not belong to a session."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from ui.sessions.footer_button import FooterButton
from ui.style.theme import Look
from ui.widgets.labels import hairline

COLUMNS: Final = 2


class FooterPage(NamedTuple):
    """A page with a button in the footer. `icon` is the name of its icon."""

    id: str
    title: str
    icon: str


SETTINGS: Final = FooterPage("settings", "Settings", "settings")


class SessionsFooter(QWidget):
    """Buttons for the pages, and a button for the Settings window."""

    page_requested = Signal(str)
    settings_requested = Signal()

    def __init__(self, look: Look, pages: Sequence[FooterPage]) -> None:
        super().__init__()
        grid = QGridLayout()
        grid.setContentsMargins(8, 8, 8, 8)
        grid.setSpacing(2)
        self._buttons: dict[str, FooterButton] = {}
        for index, page in enumerate((*pages, SETTINGS)):
            button = FooterButton(look, self.tr(page.title), name=f"sessions.{page.id}", icon=page.icon)
            button.clicked.connect(lambda _=False, name=page.id: self._request_page(name))
            self._buttons[page.id] = button
            grid.addWidget(button, index // COLUMNS, index % COLUMNS)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(hairline())
        column.addLayout(grid)

    def mark_current(self, current: str) -> None:
        """Mark the button of the page that is displayed; an empty ID marks none."""
        for name, button in self._buttons.items():
            button.set_current(name == current)

    def set_badge(self, name: str, number: int) -> None:
        """Set the number of waiting items on the button of a page."""
        self._buttons[name].set_badge(number)

    def restyle(self, look: Look) -> None:
        for button in self._buttons.values():
            button.restyle(look)

    def _request_page(self, name: str) -> None:
        if name == SETTINGS.id:
            self.settings_requested.emit()
        else:
            self.page_requested.emit(name)
