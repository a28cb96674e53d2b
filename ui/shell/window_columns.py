"""The window's three columns: sidebar, central area and step pane, with their widths kept across restarts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QSplitter, QWidget

from ui.base.window_state import WindowState
from ui.shell.window_frame import SIDEBAR
from ui.style.theme import Look
from ui.widgets.focus_order import tab_stops
from ui.widgets.splitter import order_children

STEP_PANE: Final = 384
MIN_CENTER: Final = 452  # minimum width in pixels of the central area while the step pane is shown
MIN_SPLIT_CENTER: Final = 880
MIN_BESIDE_SIDEBAR: Final = 280  # pixels; if the central area would be narrower, the sidebar is hidden
MIN_SQUEEZED_CENTER: Final = 300  # pixels; if the central area would be narrower, the step pane covers it
# Part of the window's width that the central area keeps beside a step pane that the user opens without enough room.
SQUEEZED_CENTER: Final = 0.58
LARGE_TEXT_SIDEBAR: Final = 0.3  # part of the window's width up to which the sidebar grows with the text size


@dataclass(frozen=True, slots=True)
class CentralView:
    """What the central area shows: steps, whose details the step pane can show, or not; one session or two."""

    shows_steps: bool = False
    is_split: bool = False
    session: str = ""


@dataclass(frozen=True, slots=True)
class _StoredWidth:
    """The stored width of a column.

    `usual` is the width in pixels, at the usual text size, that the column has until the user changes it.
    """

    state: WindowState
    name: str
    usual: int

    def read(self, look: Look) -> int:
        return int(self.state.number(self.name, look.size(self.usual)))

    def store(self, width: int) -> None:
        self.state.set_text(self.name, str(width))

    def rescale(self, before: Look, look: Look) -> None:
        self.store(round(self.read(before) * look.size(self.usual) / before.size(self.usual)))


class WindowColumns(QSplitter):
    """A splitter in which the central area gets the width that the sidebar and the step pane do not need.

    The user decides whether the sidebar and the step pane are shown. In a narrow window the step pane gives way to the
    central area, and the sidebar to a page or to two sessions that need its width, or to anything with large text.
    If the user opens the step pane where the steps would get too narrow, it covers the central area until it is closed.
    """

    sidebar_shown = Signal(bool)
    center_covered = Signal(bool)
    """Whether the step pane takes the place of the central area."""

    def __init__(self, look: Look, state: WindowState, sidebar: QWidget, middle: QWidget, pane: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._look = look
        self._state = state
        self._sidebar = sidebar
        self._middle = middle
        self._pane = pane
        self._sidebar_width = _StoredWidth(state, "sidebar_width", SIDEBAR)
        self._pane_width = _StoredWidth(state, "pane_width", STEP_PANE)
        self._applied_sidebar_width = 0  # the width set by this class, unless the user has dragged the edge
        self._is_sidebar_dragged = False  # since the widths were applied
        self.splitterMoved.connect(self._note_drag)
        self._central = CentralView()
        self._wants_sidebar = True
        self._wants_pane = state.text("pane", "yes") == "yes"
        self._page_needs_sidebar = False  # the visible page wants the space of the sidebar
        # The central area is too narrow, and the user has not shown the sidebar again.
        self._center_needs_sidebar = False
        self._center_is_cramped = False  # beside the sidebar, the central area would be too narrow for its contents
        self._is_squeezed = False  # the user has opened the step pane although there is not enough room
        self._sidebar_made_way = False  # the sidebar was hidden to make room for the step pane
        self.setObjectName("window.columns")
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(sidebar)
        self.addWidget(middle)
        self.addWidget(pane)
        order_children(self)
        pane.hide()
        self.setStretchFactor(1, 1)

    # Widths

    def apply_widths(self) -> None:
        """Set the column widths to the stored ones, or to the defaults."""
        sidebar, pane = self._fitting_sidebar_width(), self._pane_width.read(self._look)
        self._applied_sidebar_width = sidebar
        self._is_sidebar_dragged = False
        self.setSizes([sidebar, max(1, self.window().width() - sidebar - pane), pane])

    def _fitting_sidebar_width(self) -> int:
        """Return the stored width of the sidebar, or less if large text would make it too wide for the window."""
        width = self._sidebar_width.read(self._look)
        at_usual_size = width * SIDEBAR // self._look.size(SIDEBAR)
        limit = max(at_usual_size, self._sidebar.minimumWidth(), round(self.window().width() * LARGE_TEXT_SIDEBAR))
        return min(width, limit) if at_usual_size < width else width

    def _refit_sidebar_width(self) -> None:
        """Make the sidebar fit after a change of the window's width, unless the user has dragged its edge."""
        fitting = self._fitting_sidebar_width()
        if fitting != self._applied_sidebar_width and not self._is_sidebar_dragged and self._sidebar.isVisible():
            self._applied_sidebar_width = fitting
            sidebar, center, pane = self.sizes()
            self.setSizes([fitting, max(1, center + sidebar - fitting), pane])

    def _note_drag(self, _position: int, handle: int) -> None:
        self._is_sidebar_dragged = self._is_sidebar_dragged or handle == 1

    def save_widths(self) -> None:
        """Store the widths that the user has chosen; a hidden column keeps the width it had."""
        if self._sidebar.isVisible() and self._is_sidebar_dragged:
            self._sidebar_width.store(self._sidebar.width())
        if self._pane.isVisible() and not self._is_squeezed:
            self._pane_width.store(self._pane.width())

    def restyle(self, look: Look) -> None:
        """Scale the widths of the sidebar and the step pane to the text size. This applies to hidden columns too."""
        before, self._look = self._look, look
        if before.size(SIDEBAR) == look.size(SIDEBAR):
            return
        self.save_widths()
        self._sidebar_width.rescale(before, look)
        self._pane_width.rescale(before, look)
        self.apply_widths()
        self._fit()

    # What the user shows and hides

    def toggle_sidebar(self) -> None:
        """Show the sidebar, even if the central area needs its width, or hide it."""
        self._wants_sidebar = self._sidebar.isHidden()
        self._page_needs_sidebar = self._center_needs_sidebar = False
        self._sidebar_made_way = False
        self._show_sidebar()
        self._fit()

    def toggle_pane(self) -> None:
        """Show or hide the step pane.

        While a page is shown, decide whether the pane appears when the steps are shown again.
        """
        if not self._central.shows_steps:
            self._choose_pane(not self._wants_pane)
        elif self._pane.isHidden():
            self.open_pane()
        else:
            self.close_pane()

    def open_pane(self) -> None:
        """Show the step pane. If there is not enough room, hide the sidebar until the pane is closed."""
        if not self._central.shows_steps or not self._pane.isHidden():
            return
        self._choose_pane(True)
        if not self._pane.isHidden():
            return
        self.save_widths()
        self._is_squeezed, self._sidebar_made_way = True, not self._sidebar.isHidden()
        self._wants_sidebar = False
        self._show_sidebar()
        self._fit()
        center = min(self._look.size(MIN_CENTER), round(self.width() * SQUEEZED_CENTER))
        self.setSizes([0, center, self.width() - self.handleWidth() - center])

    def close_pane(self) -> None:
        """Hide the step pane.

        If it was opened without enough room, only its present state ends: it is shown again as soon as the window is
        wide enough.
        """
        was_squeezed = self._is_squeezed
        self._end_squeeze()
        if not was_squeezed or not self._pane.isHidden():
            self._choose_pane(False)

    def uncover_center(self) -> None:
        """Close the step pane if it covers the central area, which is about to be used."""
        if self._is_covered():
            self.close_pane()

    def uncovering(self, action: Callable[[], object]) -> Callable[[], object]:
        """Return a function that uncovers the central area and then calls `action`."""

        def run() -> None:
            self.uncover_center()
            action()

        return run

    def _end_squeeze(self) -> None:
        self._is_squeezed = False
        if self._sidebar_made_way:
            self._wants_sidebar, self._sidebar_made_way = True, False
            self._show_sidebar()
        self.apply_widths()
        self._fit()

    def _choose_pane(self, visible: bool) -> None:
        """Show or hide the step pane if there is room, and remember the choice across restarts."""
        self._wants_pane = visible
        self._state.set_text("pane", "yes" if visible else "no")
        self._fit()

    def _is_covered(self) -> bool:
        return self._middle.isHidden()

    # How much room the central area needs

    def fold_sidebar(self, folded: bool) -> None:
        """Hide the sidebar because a page needs its width, or show it again unless the user has hidden it."""
        if folded != self._page_needs_sidebar:
            self._page_needs_sidebar = folded
            self._show_sidebar()

    def fit(self, central: CentralView) -> None:
        """Show the step pane and the sidebar if there is room for them beside the new contents of the central area."""
        is_other_session = central.session != self._central.session
        self._central = central
        if is_other_session and self._is_covered():
            self._end_squeeze()
        self._fit()

    def _fit(self) -> None:
        center = self._look.size(MIN_SPLIT_CENTER if self._central.is_split else MIN_CENTER)
        self._fit_sidebar(center)
        self._refit_sidebar_width()
        pane = self._look.size(STEP_PANE)
        if self._is_squeezed:
            center = min(center, round(self.width() * SQUEEZED_CENTER))
            pane = min(pane, self.width() - center)
        sidebar = 0 if self._sidebar.isHidden() else self._sidebar.width()
        has_room = self.width() >= sidebar + center + pane
        is_shown = self._wants_pane and self._central.shows_steps and has_room
        self._pane.setVisible(is_shown)
        self._cover_center(is_shown and self._is_squeezed and center < self._look.size(MIN_SQUEEZED_CENTER))

    def _cover_center(self, covered: bool) -> None:
        if covered == self._is_covered():
            return
        self._middle.setVisible(not covered)
        self.center_covered.emit(covered)
        target = _focus_target(self._pane if covered else self._middle)
        if target is not None:
            target.setFocus()

    def _fit_sidebar(self, center: int) -> None:
        """Hide the sidebar when the central area becomes too narrow, and show it when there is enough room again.

        The visibility changes only at these two moments, so that the user can show the sidebar in between.
        """
        is_cramped = self._central.is_split and self.width() < self._look.size(SIDEBAR) + center
        sidebar = max(self._fitting_sidebar_width(), self._sidebar.minimumWidth())
        needed = max(
            sidebar + self._look.size(MIN_BESIDE_SIDEBAR),
            self._sidebar.minimumWidth() + self.handleWidth() + self._middle.minimumSizeHint().width(),
        )
        is_cramped = is_cramped or self.width() < needed
        if is_cramped != self._center_is_cramped:
            self._center_is_cramped = self._center_needs_sidebar = is_cramped
            self._show_sidebar()

    def _show_sidebar(self) -> None:
        is_needed = self._page_needs_sidebar or self._center_needs_sidebar
        self._sidebar.setVisible(self._wants_sidebar and not is_needed)
        self.sidebar_shown.emit(not self._sidebar.isHidden())

    # The keyboard

    def focus_area(self, by: int, central_areas: Sequence[QWidget]) -> None:
        """Move the focus to the next (1) or previous (-1) area: sidebar, central areas, step pane; wrap around."""
        areas = [area for area in (self._sidebar, *central_areas, self._pane) if area.isVisible()]
        focused: QWidget | None = self.window().focusWidget()
        index = -by
        if focused is not None:
            is_in = (area is focused or area.isAncestorOf(focused) for area in areas)
            index = next((index for index, found in enumerate(is_in) if found), -by)
        part = _focus_target(areas[(index + by) % len(areas)])
        if part is not None:
            part.setFocus(Qt.FocusReason.TabFocusReason)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close a step pane that was opened without enough room on Esc."""
        if event.key() == Qt.Key.Key_Escape and self._is_squeezed and not event.modifiers():
            self.close_pane()
        else:
            super().keyPressEvent(event)

    def minimumSizeHint(self) -> QSize:
        """Return a minimum without the sidebar if that gives way to the central area.

        With it, Qt would make a window that has just become narrow wider again, and the sidebar would come back.
        """
        hint = super().minimumSizeHint()
        if self._sidebar.isHidden() or self._center_is_cramped:
            return hint
        return QSize(hint.width() - self._sidebar.minimumWidth() - self.handleWidth(), hint.height())


def _focus_target(area: QWidget) -> QWidget | None:
    """Return the widget to focus in an area: the area itself, else the last focused widget, else the first Tab stop."""
    last: QWidget | None = area.focusWidget()
    stops = tab_stops(area)
    candidates = [area] if area in stops else [*filter(None, (last,)), *stops]
    return next((part for part in candidates if part.isVisible() and part.isEnabled()), None)
