"""The window's columns: sessions, what is looked at, and the chosen step; as wide as the person left them."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from ui.shell import SIDEBAR
from ui.theme import Look
from ui.window_state import WindowState

STEP_PANE: Final = 384
FOLD_BELOW: Final = 1100
LEAST: Final = 880  # of the middle, where two stand in it


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
        self.setStretchFactor(1, 1)

    def share_out(self) -> None:
        """Give each column its width."""
        left = int(self._state.number("sidebar_width", self._look.size(SIDEBAR)))
        right = int(self._state.number("pane_width", self._look.size(STEP_PANE)))
        self.setSizes([left, max(1, self.window().width() - left - right), right])

    def restyle(self, look: Look) -> None:
        """The sidebar grows with the letters, also one that is folded away; the step leaves the middle its room."""
        before, self._look = self._look.size(SIDEBAR), look
        if before != look.size(SIDEBAR):
            self.keep()
            width = self._state.number("sidebar_width", before) * look.size(SIDEBAR) / before
            self._state.keep_text("sidebar_width", str(round(width)))
            self.share_out()

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
        cramped = double and self.width() < LEAST + self._look.size(SIDEBAR)
        if cramped != self._cramped:  # not oftener: the person may want the sidebar all the same
            self._cramped = cramped
            self.fold(cramped)
        self._pane_fits, self._double = fits, double
        least = FOLD_BELOW
        if double:
            sidebar = 0 if self._sidebar.isHidden() else self._sidebar.width()
            least = max(least, LEAST + sidebar + self._look.size(STEP_PANE))
        self._pane.setVisible(self._pane_wanted and fits and self.width() >= least)
