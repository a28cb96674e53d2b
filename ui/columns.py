"""The window's columns: sessions, what is looked at, and the chosen step; as wide as the person left them."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from ui.shell import SIDEBAR
from ui.theme import Look
from ui.window_state import WindowState

STEP_PANE: Final = 384


class Columns(QSplitter):
    """What is in the middle takes the room that the others leave."""

    def __init__(self, look: Look, state: WindowState, sidebar: QWidget, middle: QWidget, pane: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._look, self._state, self._sidebar, self._pane = look, state, sidebar, pane
        self.setObjectName("window.columns")
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(sidebar)
        self.addWidget(middle)
        self.addWidget(pane)
        self.setStretchFactor(1, 1)

    def share_out(self) -> None:
        """Give each column its width."""
        left = int(self._state.number("sidebar_width", self._look.size(SIDEBAR)))
        right = int(self._state.number("pane_width", self._look.size(STEP_PANE)))
        self.setSizes([left, max(1, self.window().width() - left - right), right])

    def keep(self) -> None:
        """Remember how wide they are; a column that is folded away keeps the width it had."""
        for name, part in (("sidebar_width", self._sidebar), ("pane_width", self._pane)):
            if part.isVisible():
                self._state.keep_text(name, str(part.width()))
