"""The filters of the session search: a menu that adds a filter to the search text, and chips that remove them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Final

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtWidgets import QMenu, QToolButton, QVBoxLayout, QWidget

from core.domain.search_query import STATUSES, SearchFilter, SessionQuery, add_filter, parse_query, remove_filter
from core.domain.sessions import SessionRow
from ui.style.icons import icon
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.focus_order import set_tab_order

MOST: Final = 12  # folders or models in the menu at most; the most frequent ones come first
CHIP_WIDTH: Final = 30  # characters of a filter shown on its chip
DATES: Final = (("today", "Today"), ("week", "Last 7 days"), ("month", "Last 30 days"))
KINDS: Final = (
    ("message", "Your messages"),
    ("reply", "Replies"),
    ("command", "Commands"),
    ("change", "File changes"),
    ("question", "Questions"),
    ("decision", "Decisions"),
    ("issue", "Issues"),
    ("web", "Web"),
    ("agent", "Sub-agents"),
)


class SearchFilters(QWidget):
    """A chip for each filter in the search text; hidden without filters.

    The owner places `button`, which opens the menu.
    """

    text_changed = Signal(str)
    menu_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._text = ""
        self._query = SessionQuery()
        self.setObjectName("sessions.filters")
        self.button = QToolButton()
        self.button.setObjectName("sessions.add_filter")
        self.button.setAccessibleName(_tr("Add a filter"))
        self.button.setToolTip(_tr("Filter by folder, model, status, date or kind of step"))
        self.button.setProperty("tone", "framed")
        self.button.clicked.connect(self.menu_requested)
        self.button.hide()
        self._chips: list[Button] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(12, 6, 12, 0)
        self._column.setSpacing(4)
        self._update_icon()

    def set_active(self, active: bool) -> None:
        """Show or hide the button; it is visible while the search is open."""
        self.button.setVisible(active)

    def show_query(self, text: str) -> None:
        """Show a chip for each filter in the search text."""
        query = parse_query(text)
        changed = query.filters != self._query.filters
        self._text, self._query = text, query
        if changed:
            self._rebuild()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._update_icon()
        for chip in self._chips:
            chip.restyle(look)

    def show_menu(self, rows: Sequence[SessionRow]) -> None:
        """Open the menu of filters, with the folders and models of these sessions."""
        menu = QMenu(self)
        menu.setObjectName("sessions.filter_menu")
        menu.setAccessibleName(_tr("Filters"))
        menu.aboutToHide.connect(menu.deleteLater)
        folders = [(folder, PurePath(folder).name or folder) for folder in _frequent(row.folder for row in rows)]
        models = [(model, model) for model in _frequent(row.model for row in rows)]
        for key, title, choices in (
            ("folder", _tr("Folder"), folders),
            ("model", _tr("Model"), models),
            ("status", _tr("Status"), [(name, _tr(name.capitalize())) for name in STATUSES]),
            ("date", _tr("Date"), [(name, _tr(text)) for name, text in DATES]),
            ("kind", _tr("Kind of step"), [(name, _tr(text)) for name, text in KINDS]),
        ):
            part = menu.addMenu(title)
            part.setEnabled(bool(choices))
            for value, text in choices:
                action = part.addAction(visible(text).replace("&", "&&"), self._adder(key, value))
                action.setCheckable(True)
                action.setChecked((key, value) in {(item.key, item.value) for item in self._query.filters})
        menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def _adder(self, key: str, value: str) -> Callable[[], None]:
        def toggle() -> None:
            there = next((item for item in self._query.filters if (item.key, item.value) == (key, value)), None)
            self.text_changed.emit(remove_filter(self._text, there) if there else add_filter(self._text, key, value))

        return toggle

    def _rebuild(self) -> None:
        for chip in self._chips:
            self._column.removeWidget(chip)
            chip.setObjectName("")  # the chip may be handling a click at this moment, so it is not deleted at once
            chip.hide()
            chip.deleteLater()
        self._chips = [self._chip(item) for item in self._query.filters]
        for chip in self._chips:
            self._column.addWidget(chip, 0, Qt.AlignmentFlag.AlignLeft)
        self.setVisible(bool(self._chips))
        set_tab_order(self.button, *self._chips)

    def _chip(self, item: SearchFilter) -> Button:
        text = visible(f"{item.key}: {item.value}")
        shown = text if len(text) <= CHIP_WIDTH else f"{text[: CHIP_WIDTH - 1]}…"
        chip = Button(self._look, shown.replace("&", "&&"), name=f"sessions.filter.{item.key}", tone="quiet", icon="x")
        chip.setAccessibleName(_tr("Remove the filter {}").format(text))
        chip.setToolTip(_tr("Remove the filter {}").format(text))
        chip.clicked.connect(lambda: self.text_changed.emit(remove_filter(self._text, item)))
        return chip

    def _update_icon(self) -> None:
        button, size = self._look.size(28), self._look.size(16)
        self.button.setFixedSize(button, button)
        self.button.setIconSize(QSize(size, size))
        self.button.setIcon(icon("plus", self._look.theme.second, size))


def _frequent(values: Iterable[str]) -> list[str]:
    return [value for value, _ in Counter(filter(None, values)).most_common(MOST)]


def _tr(text: str) -> str:
    return QCoreApplication.translate("sessions", text)
