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
SIDEBAR_HANDLE: Final = 1  # Qt numbers the handle of the splitter that is between the sidebar and the central area


@dataclass(frozen=True, slots=True)
class CentralView:
    """What the central area shows. `shows_steps` means that the step pane can show the details of its steps."""

    shows_steps: bool = False
    is_split: bool = False
    session: str = ""


@dataclass(frozen=True, slots=True)
class _StoredWidth:
    """The width of a column, stored in the window state under `key`.

    `default` is the width in pixels, at the default text size, that the column has until the user changes it.
    """

    state: WindowState
    key: str
    default: int

    def read(self, look: Look) -> int:
        return int(self.state.number(self.key, look.size(self.default)))

    def store(self, width: int) -> None:
        self.state.set_text(self.key, str(width))

    def rescale(self, old_look: Look, new_look: Look) -> None:
        """Scale the stored width by the change of the text size."""
        scale = new_look.size(self.default) / old_look.size(self.default)
        self.store(round(self.read(old_look) * scale))


class WindowColumns(QSplitter):
    """A splitter in which the central area gets the width that the sidebar and the step pane do not need.

    The user decides whether the sidebar and the step pane are shown. In a narrow window, the step pane gives way to the
    central area. The sidebar gives way to a page or to two sessions that need its width and, with large text, to
    anything. If the user opens the step pane where the steps would get too narrow, it covers the central area until it
    is closed.
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
        self.splitterMoved.connect(self._on_splitter_moved)
        self._central = CentralView()
        self._wants_sidebar = True
        self._wants_pane = state.text("pane", "yes") == "yes"
        self._page_replaces_sidebar = False  # the visible page needs the width of the sidebar
        # The central area needs the width of the sidebar, and the user has not shown the sidebar again.
        self._center_replaces_sidebar = False
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
        sidebar = self._fitting_sidebar_width()
        pane = self._pane_width.read(self._look)
        self._applied_sidebar_width = sidebar
        self._is_sidebar_dragged = False
        self.setSizes([sidebar, max(1, self.window().width() - sidebar - pane), pane])

    def _fitting_sidebar_width(self) -> int:
        """Return the stored width of the sidebar, or less if large text would make it too wide for the window."""
        width = self._sidebar_width.read(self._look)
        width_at_default_text_size = width * SIDEBAR // self._look.size(SIDEBAR)
        if width <= width_at_default_text_size:
            return width
        share_of_window = round(self.window().width() * LARGE_TEXT_SIDEBAR)
        return min(width, max(width_at_default_text_size, self._sidebar.minimumWidth(), share_of_window))

    def _refit_sidebar_width(self) -> None:
        """Make the sidebar fit after a change of the window's width, unless the user has dragged its edge."""
        if self._is_sidebar_dragged or not self._sidebar.isVisible():
            return
        fitting = self._fitting_sidebar_width()
        if fitting != self._applied_sidebar_width:
            self._applied_sidebar_width = fitting
            sidebar, center, pane = self.sizes()
            self.setSizes([fitting, max(1, center + sidebar - fitting), pane])

    def _on_splitter_moved(self, _position: int, handle: int) -> None:
        if handle == SIDEBAR_HANDLE:
            self._is_sidebar_dragged = True

    def save_widths(self) -> None:
        """Store the widths that the user has chosen; a hidden column keeps the width it had."""
        if self._sidebar.isVisible() and self._is_sidebar_dragged:
            self._sidebar_width.store(self._sidebar.width())
        if self._pane.isVisible() and not self._is_squeezed:
            self._pane_width.store(self._pane.width())

    def restyle(self, look: Look) -> None:
        """Scale the widths of the sidebar and the step pane to the text size. This applies to hidden columns too."""
        old_look = self._look
        self._look = look
        if old_look.size(SIDEBAR) == look.size(SIDEBAR):
            return
        self.save_widths()
        self._sidebar_width.rescale(old_look, look)
        self._pane_width.rescale(old_look, look)
        self.apply_widths()
        self._fit()

    # What the user shows and hides

    def toggle_sidebar(self) -> None:
        """Show the sidebar, even if the central area needs its width, or hide it."""
        self._wants_sidebar = self._sidebar.isHidden()
        self._page_replaces_sidebar = False
        self._center_replaces_sidebar = False
        self._sidebar_made_way = False
        self._show_sidebar()
        self._fit()

    def toggle_pane(self) -> None:
        """Show or hide the step pane.

        While a page is shown, decide whether the pane appears when the steps are shown again.
        """
        if not self._central.shows_steps:
            self._set_wants_pane(not self._wants_pane)
        elif self._pane.isHidden():
            self.open_pane()
        else:
            self.close_pane()

    def open_pane(self) -> None:
        """Show the step pane. If there is not enough room, hide the sidebar until the pane is closed."""
        if not self._central.shows_steps or not self._pane.isHidden():
            return
        self._set_wants_pane(True)
        if not self._pane.isHidden():
            return
        self.save_widths()
        self._is_squeezed = True
        self._sidebar_made_way = not self._sidebar.isHidden()
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
            self._set_wants_pane(False)

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
            self._sidebar_made_way = False
            self._wants_sidebar = True
            self._show_sidebar()
        self.apply_widths()
        self._fit()

    def _set_wants_pane(self, wants_pane: bool) -> None:
        """Hide the step pane, or show it if there is room, and remember the choice across restarts."""
        self._wants_pane = wants_pane
        self._state.set_text("pane", "yes" if wants_pane else "no")
        self._fit()

    def _is_covered(self) -> bool:
        return self._middle.isHidden()

    # How much room the central area needs

    def fold_sidebar(self, folded: bool) -> None:
        """Hide the sidebar because a page needs its width, or show it again unless the user has hidden it."""
        if folded != self._page_replaces_sidebar:
            self._page_replaces_sidebar = folded
            self._show_sidebar()

    def fit(self, central: CentralView) -> None:
        """Show the step pane and the sidebar if there is room for them beside the new contents of the central area."""
        is_other_session = central.session != self._central.session
        self._central = central
        if is_other_session and self._is_covered():
            self._end_squeeze()
        self._fit()

    def _fit(self) -> None:
        """Show or hide the sidebar and the step pane, depending on the width of the window."""
        min_center = self._look.size(MIN_SPLIT_CENTER if self._central.is_split else MIN_CENTER)
        self._fit_sidebar(min_center)
        self._refit_sidebar_width()
        self._fit_pane(min_center)

    def _fit_pane(self, center: int) -> None:
        """Show the step pane if there is room beside a central area of width `center`.

        A pane that the user opens without enough room leaves only part of the window to the central area, or covers it.
        """
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
        is_cramped = self.width() < self._width_needed_with_sidebar(center)
        if is_cramped != self._center_is_cramped:
            self._center_is_cramped = is_cramped
            self._center_replaces_sidebar = is_cramped
            self._show_sidebar()

    def _width_needed_with_sidebar(self, center: int) -> int:
        """Return the window width below which the central area is too narrow beside the sidebar.

        Two sessions side by side need the width `center`; a single session or page needs less.
        """
        min_sidebar = self._sidebar.minimumWidth()
        sidebar = max(self._fitting_sidebar_width(), min_sidebar)
        return max(
            self._look.size(SIDEBAR) + center if self._central.is_split else 0,
            sidebar + self._look.size(MIN_BESIDE_SIDEBAR),
            min_sidebar + self.handleWidth() + self._middle.minimumSizeHint().width(),
        )

    def _show_sidebar(self) -> None:
        """Show the sidebar if the user wants it and nothing else needs its width."""
        is_replaced = self._page_replaces_sidebar or self._center_replaces_sidebar
        self._sidebar.setVisible(self._wants_sidebar and not is_replaced)
        self.sidebar_shown.emit(not self._sidebar.isHidden())

    # The keyboard

    def focus_neighbor_area(self, offset: int, central_areas: Sequence[QWidget]) -> None:
        """Move the focus to the next (1) or previous (-1) area: sidebar, central areas, step pane; wrap around.

        If no area has the focus, move it to the first one.
        """
        areas = [area for area in (self._sidebar, *central_areas, self._pane) if area.isVisible()]
        focused: QWidget | None = self.window().focusWidget()
        index = 0
        for number, area in enumerate(areas):
            if focused is not None and (area is focused or area.isAncestorOf(focused)):
                index = number + offset
                break
        target = _focus_target(areas[index % len(areas)])
        if target is not None:
            target.setFocus(Qt.FocusReason.TabFocusReason)

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
    last_focused: QWidget | None = area.focusWidget()
    stops = tab_stops(area)
    if area in stops:
        candidates = [area]
    elif last_focused:
        candidates = [last_focused, *stops]
    else:
        candidates = stops
    return next((widget for widget in candidates if widget.isVisible() and widget.isEnabled()), None)
