"""The window's three columns: sidebar, central area and step pane, with their widths kept across restarts."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from ui.base.window_state import WindowState
from ui.shell.window_frame import SIDEBAR
from ui.style.theme import Look
from ui.widgets.splitter import order_children

STEP_PANE: Final = 384
MIN_CENTER: Final = 452  # minimum width of the central area while the step pane is shown
MIN_SPLIT_CENTER: Final = 880
SQUEEZED_CENTER: Final = 0.58  # least share of the window for the central area if the user squeezes the columns
LARGE_TEXT_SIDEBAR: Final = 0.3  # most of the window that the sidebar gets because of large text
DEFAULT_WIDTHS: Final = (("sidebar_width", SIDEBAR), ("pane_width", STEP_PANE))


class WindowColumns(QSplitter):
    """A splitter in which the central area gets the width that the sidebar and the step pane do not need."""

    def __init__(self, look: Look, state: WindowState, sidebar: QWidget, middle: QWidget, pane: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._look = look
        self._state = state
        self._sidebar = sidebar
        self._pane = pane
        self._sidebar_requested = True
        self._folded = False
        self._cramped = False
        self.folds_for_split = False  # whether two sessions hide the sidebar, which the user has not shown again
        self._pane_requested = state.text("pane", "yes") == "yes"
        self._pane_fits = False
        self._double = False
        self._squeezed = False
        self._sidebar_gave_way = False
        self._applied_sidebar = 0
        self.setObjectName("window.columns")
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(sidebar)
        self.addWidget(middle)
        self.addWidget(pane)
        order_children(self)
        pane.hide()
        self.setStretchFactor(1, 1)

    def apply_widths(self) -> None:
        """Set the column widths to the stored ones, or to the defaults."""
        sidebar_width = self._applied_sidebar = self._sidebar_width()
        pane_width = int(self._state.number("pane_width", self._look.size(STEP_PANE)))
        self.setSizes([sidebar_width, max(1, self.window().width() - sidebar_width - pane_width), pane_width])

    def _sidebar_width(self) -> int:
        """Return the stored width, or less if it would take too much of the window because of large text."""
        width = int(self._state.number("sidebar_width", self._look.size(SIDEBAR)))
        at_usual_size = width * SIDEBAR // self._look.size(SIDEBAR)
        limit = max(at_usual_size, self._sidebar.minimumWidth(), round(self.window().width() * LARGE_TEXT_SIDEBAR))
        return min(width, limit) if at_usual_size < width else width

    def restyle(self, look: Look) -> None:
        """Scale the sidebar and the step pane with the text size, even while they are hidden."""
        before, self._look = self._look, look
        if before.size(SIDEBAR) == look.size(SIDEBAR):
            return
        self.save_widths()
        for name, usual in DEFAULT_WIDTHS:
            width = self._state.number(name, before.size(usual)) * look.size(usual) / before.size(usual)
            self._state.set_text(name, str(round(width)))
        self.apply_widths()
        self.fit_pane(self._pane_fits, double=self._double)

    def save_widths(self) -> None:
        """Store the column widths; a hidden column keeps the width it had."""
        for name, part in (("sidebar_width", self._sidebar), ("pane_width", self._pane)):
            if part.isVisible() and not (part is self._sidebar and part.width() == self._applied_sidebar):
                self._state.set_text(name, str(part.width()))

    def toggle_sidebar(self) -> None:
        """Toggle the sidebar at the user's request; this overrides what a page requested with `fold_sidebar`."""
        self._sidebar_requested, self._folded = self._sidebar.isHidden(), False
        self._sidebar_gave_way = self.folds_for_split = False
        self._sidebar.setVisible(self._sidebar_requested)
        self.fit_pane(self._pane_fits, double=self._double)

    def fold_sidebar(self, folded: bool) -> None:
        """Hide the sidebar because a page needs its width, or show it again unless the user has hidden it."""
        if folded != self._folded:
            self._folded = folded
            self._sidebar.setVisible(self._sidebar_requested and not folded)

    def toggle_pane(self) -> None:
        """Toggle the step pane. If it is hidden for lack of room, make room by hiding the sidebar."""
        if self._pane_requested and self._pane_fits and self._pane.isHidden():
            self._squeezed, self._sidebar_gave_way = True, not self._sidebar.isHidden()
            self._sidebar_requested = False
            self._sidebar.hide()
            self.fit_pane(self._pane_fits, double=self._double)
            return
        self._squeezed = False
        self.show_pane(not self._pane_requested)
        if self._sidebar_gave_way:
            self._sidebar_requested, self._sidebar_gave_way = True, False
            self._sidebar.setVisible(not self._folded)

    def show_pane(self, visible: bool) -> None:
        """Show or hide the step pane at the user's request, and remember the choice."""
        self._pane_requested = visible
        self._state.set_text("pane", "yes" if visible else "no")
        self.fit_pane(self._pane_fits, double=self._double)

    def fit_pane(self, fits: bool, *, double: bool = False) -> None:
        """Show the step pane if the central area shows steps (`fits`) and the window is wide enough.

        `double` means that two sessions are shown, which need more width: the sidebar is hidden if it does not fit.
        """
        size = self._look.size
        min_width = size(MIN_SPLIT_CENTER if double else MIN_CENTER)
        cramped = double and self.width() < min_width + size(SIDEBAR)
        if cramped != self._cramped:  # only when this changes, so that the user can show the sidebar again
            self._cramped = self.folds_for_split = cramped
            self.fold_sidebar(cramped)
        self._pane_fits, self._double = fits, double
        pane_width = size(STEP_PANE)
        if self._squeezed:  # the user prefers narrow columns to none
            min_width = min(min_width, round(self.width() * SQUEEZED_CENTER))
            pane_width = min(pane_width, self.width() - min_width)
        sidebar = 0 if self._sidebar.isHidden() else self._sidebar.width()
        self._pane.setVisible(self._pane_requested and fits and self.width() >= min_width + sidebar + pane_width)
