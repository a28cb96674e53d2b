"""The window's columns: sessions, what is looked at, and the chosen step; as wide as the person left them."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from ui.shell import SIDEBAR
from ui.theme import Look
from ui.window_state import WindowState

STEP_PANE: Final = 384
LEAST: Final = 452  # of the middle, beside the step
LEAST_OF_TWO: Final = 880
WIDTHS: Final = (("sidebar_width", SIDEBAR), ("pane_width", STEP_PANE))


class Columns(QSplitter):
    """What is in the middle takes the room that the others leave."""

    def __init__(self, look: Look, state: WindowState, sidebar: QWidget, middle: QWidget, pane: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._look, self._state, self._sidebar, self._pane = look, state, sidebar, pane
        self._sidebar_wanted, self._folded, self._cramped = True, False, False
        self._pane_wanted, self._pane_fits, self._double = state.text("pane", "yes") == "yes", False, False
        self.setObjectName("window.columns")
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(sidebar)
        self.addWidget(middle)
        self.addWidget(pane)
        pane.hide()
        self.setStretchFactor(1, 1)

    def share_out(self) -> None:
        """Give each column its width."""
        left = int(self._state.number("sidebar_width", self._look.size(SIDEBAR)))
        right = int(self._state.number("pane_width", self._look.size(STEP_PANE)))
        self.setSizes([left, max(1, self.window().width() - left - right), right])

    def restyle(self, look: Look) -> None:
        """Both grow with the letters, also one that is folded away."""
        before, self._look = self._look, look
        if before.size(SIDEBAR) == look.size(SIDEBAR):
            return
        self.keep()
        for name, usual in WIDTHS:
            width = self._state.number(name, before.size(usual)) * look.size(usual) / before.size(usual)
            self._state.keep_text(name, str(round(width)))
        self.share_out()
        self.fit_pane(self._pane_fits, double=self._double)

    def keep(self) -> None:
        """Remember how wide they are; a column that is folded away keeps the width it had."""
        for name, part in (("sidebar_width", self._sidebar), ("pane_width", self._pane)):
            if part.isVisible():
                self._state.keep_text(name, str(part.width()))

    def turn_sidebar(self) -> None:
        """The person shows or hides it, whatever a page wants."""
        self._sidebar_wanted, self._folded = self._sidebar.isHidden(), False
        self._sidebar.setVisible(self._sidebar_wanted)
        self.fit_pane(self._pane_fits, double=self._double)

    def fold(self, folded: bool) -> None:
        """A page wants the room of the sidebar, or no longer."""
        if folded != self._folded:
            self._folded = folded
            self._sidebar.setVisible(self._sidebar_wanted and not folded)

    def turn_pane(self) -> None:
        self.want_pane(not self._pane_wanted)

    def want_pane(self, wanted: bool) -> None:
        """The person shows or hides the step."""
        self._pane_wanted = wanted
        self._state.keep_text("pane", "yes" if wanted else "no")
        self.fit_pane(self._pane_fits, double=self._double)

    def fit_pane(self, fits: bool, *, double: bool = False) -> None:
        """The step stands beside what is in the middle only where that has steps, and there is room, also for two."""
        size = self._look.size
        least = size(LEAST_OF_TWO if double else LEAST)
        cramped = double and self.width() < least + size(SIDEBAR)
        if cramped != self._cramped:  # not oftener: the person may want the sidebar all the same
            self._cramped = cramped
            self.fold(cramped)
        self._pane_fits, self._double = fits, double
        sidebar = 0 if self._sidebar.isHidden() else self._sidebar.width()
        self._pane.setVisible(self._pane_wanted and fits and self.width() >= least + sidebar + size(STEP_PANE))
