"""The stack of pages in the central area, each created on its first visit."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from ui.base.panel_page import PageContext, PanelPage
from ui.shell.page_registry import PAGES
from ui.style.theme import Look

PAGES_BY_ID: Final = {page.id: page for page in PAGES}


class UnsavedPage(NamedTuple):
    """A page with unsaved changes, and a description of them."""

    page: str
    description: str


class PageStack(QStackedWidget):
    """A stack of pages; `context` returns what the window provides to a new page."""

    leave_requested = Signal()
    count_changed = Signal()
    sidebar_fold_requested = Signal(bool)

    def __init__(self, context: Callable[[], PageContext]) -> None:
        super().__init__()
        self._context = context
        self._built: dict[str, PanelPage] = {}
        self._folding: set[PanelPage] = set()  # the pages that need the width of the sidebar, which is hidden for them
        self.setObjectName("pages")

    def page(self, name: str) -> PanelPage:
        """Return the page with this id, creating it if needed."""
        if name not in self._built:
            page = PAGES_BY_ID[name].build(self._context())
            page.setObjectName(f"page.{name}")
            page.setAccessibleName(self.tr(PAGES_BY_ID[name].title))
            page.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            page.count_changed.connect(self.count_changed)
            page.sidebar_fold_requested.connect(lambda fold: self._fold(page, fold))
            self._built[name] = page
            self.addWidget(page)
        return self._built[name]

    def open(self, name: str, target: tuple[str, ...]) -> None:
        """Show a page and give it the keyboard focus; without the focus, the page would not receive Esc.

        `target` identifies the item to show on the page.
        """
        page = self.page(name)
        self.setCurrentWidget(page)
        self.sidebar_fold_requested.emit(page in self._folding)  # replaces the request that the previous page has made
        self.focus_page()
        page.activate(target)  # this may move the focus, or open the palette, which closes when it loses the focus

    def focus_page(self) -> None:
        """Focus the widget that last had the focus on the page, or else the page.

        Do nothing if the focus is already on the page.
        """
        page = self.currentWidget()
        focused: QWidget | None = self.window().focusWidget()
        if page is not None and (focused is None or not page.isAncestorOf(focused)):
            last_focused: QWidget | None = page.focusWidget()
            (last_focused or page).setFocus(Qt.FocusReason.OtherFocusReason)

    def focus_areas(self) -> Sequence[QWidget]:
        """Return the areas of the visible page between which F6 moves the focus."""
        page = self.currentWidget()
        return page.focus_areas() if isinstance(page, PanelPage) else ()

    def apply_updates(self, updates: Sequence[object]) -> None:
        """Pass a batch to the visible page. Hidden pages refresh when they are opened."""
        page = self.currentWidget()
        if isinstance(page, PanelPage) and self.isVisible():
            page.apply_updates(updates)

    def unsaved_changes(self) -> list[UnsavedPage]:
        """Return the pages with unsaved changes."""
        described = [UnsavedPage(name, page.unsaved_changes()) for name, page in self._built.items()]
        return [unsaved for unsaved in described if unsaved.description]

    def restyle(self, look: Look) -> None:
        for page in self._built.values():
            page.restyle(look)

    def _fold(self, page: PanelPage, fold: bool) -> None:
        if fold:
            self._folding.add(page)
        else:
            self._folding.discard(page)
        if page is self.currentWidget() and self.isVisible():
            self.sidebar_fold_requested.emit(fold)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave_requested.emit()
            return
        super().keyPressEvent(event)
