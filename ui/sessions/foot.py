"""Below the list: the pages that belong to no session."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from ui.sessions.foot_button import FootButton
from ui.theme import Look
from ui.widgets.words import hairline

COLUMNS: Final = 2
SETTINGS: Final = ("settings", "Settings", "settings")


class SessionsFoot(QWidget):
    """`pages` are id, title and icon of each; settings, a window of their own, come last."""

    page_wanted = Signal(str)
    settings_wanted = Signal()

    def __init__(self, look: Look, pages: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        grid = QGridLayout()
        grid.setContentsMargins(8, 8, 8, 8)
        grid.setSpacing(2)
        self._buttons: dict[str, FootButton] = {}
        for place, (name, title, icon) in enumerate((*pages, SETTINGS)):
            button = FootButton(look, self.tr(title), name=f"sessions.{name}", icon=icon)
            button.clicked.connect(lambda _=False, name=name: self._want(name))
            self._buttons[name] = button
            grid.addWidget(button, place // COLUMNS, place % COLUMNS)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(hairline())
        column.addLayout(grid)

    def mark(self, shown: str) -> None:
        """The page on display; an empty id marks none."""
        for name, button in self._buttons.items():
            button.mark(name == shown)

    def count(self, name: str, number: int) -> None:
        """What waits on a page."""
        self._buttons[name].count(number)

    def restyle(self, look: Look) -> None:
        for button in self._buttons.values():
            button.restyle(look)

    def _want(self, name: str) -> None:
        if name == SETTINGS[0]:
            self.settings_wanted.emit()
        else:
            self.page_wanted.emit(name)
