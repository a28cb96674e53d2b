"""Where pages stand in the centre: built on the first visit, kept as they were left, marked in the sidebar."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from ui.page import Page, PageParts
from ui.panels import PANELS
from ui.theme import Look

KNOWN: Final = {panel.id: panel for panel in PANELS}


class Pages(QStackedWidget):
    """`parts` is asked for what a page is given, when one is built."""

    left = Signal()
    counted = Signal()
    fold_wanted = Signal(bool)

    def __init__(self, parts: Callable[[], PageParts]) -> None:
        super().__init__()
        self._parts = parts
        self._built: dict[str, Page] = {}
        self._folding: set[Page] = set()  # those for which the sidebar makes room
        self.setObjectName("pages")

    def page(self, name: str) -> Page:
        """The page of this name, built now where nobody has seen it yet."""
        if name not in self._built:
            page = KNOWN[name].build(self._parts())
            page.setObjectName(f"page.{name}")
            page.setAccessibleName(self.tr(KNOWN[name].title))
            page.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            page.counted.connect(self.counted)
            page.fold_wanted.connect(lambda fold: self._fold(page, fold))
            self._built[name] = page
            self.addWidget(page)
        return self._built[name]

    def open(self, name: str, about: tuple[str, ...]) -> None:
        """Bring it forward, with the keyboard where it was in it: so Esc is heard here."""
        page = self.page(name)
        self.setCurrentWidget(page)
        self.fold_wanted.emit(page in self._folding)  # and not what the one before it wished when it was made visible
        page.open_on(about)
        held: QWidget | None = self.window().focusWidget()
        if held is None or not page.isAncestorOf(held):
            last: QWidget | None = page.focusWidget()
            (page if last is None else last).setFocus(Qt.FocusReason.OtherFocusReason)

    def hear(self, facts: Sequence[object]) -> None:
        """The page on the screen is told; another one looks when it is opened."""
        page = self.currentWidget()
        if isinstance(page, Page) and self.isVisible():
            page.hear(facts)

    def unsaved(self) -> list[tuple[str, str]]:
        """What would be lost, with the page that holds it."""
        return [(name, words) for name, page in self._built.items() if (words := page.unsaved())]

    def restyle(self, look: Look) -> None:
        for page in self._built.values():
            page.restyle(look)

    def _fold(self, page: Page, fold: bool) -> None:
        (self._folding.add if fold else self._folding.discard)(page)
        if page is self.currentWidget() and self.isVisible():
            self.fold_wanted.emit(fold)

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)
