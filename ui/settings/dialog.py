"""The settings: pages on the left, one search over all of them, every change used at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.domain.rules import Rule
from core.settings.schema import About, Settings
from ui.settings.fields import control, settable
from ui.settings.pages import DataPage, DataState, RulesPage
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import label

SIZE: Final = (760, 560)
PAGES_WIDTH: Final = 170
UNMOVED: Final = frozenset({"reduced_motion"})  # nothing in this window slides or fades, so there is nothing to lessen


@dataclass(frozen=True, slots=True)
class Shown:
    """What the pages show. `rules` is None where they cannot be read: then `why`."""

    settings: Settings
    rules: Sequence[Rule] | None
    why: str = ""


class SettingsDialog(QDialog):
    """Says what the person changed; whoever opened it carries that out and tells what went wrong."""

    changed = Signal(str, object)
    revoked = Signal(str)
    data_wanted = Signal(str)
    session_wanted = Signal(str)

    def __init__(self, look: Look, shown: Shown, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._shown = look, shown
        self._found: list[tuple[str, QWidget]] = []  # what is searched, and the row that is shown for it
        self.setObjectName("settings")
        self.setWindowTitle(self.tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(look.size(SIZE[0]), look.size(SIZE[1]))
        self._search = QLineEdit()
        self._search.setObjectName("settings.search")
        self._search.setAccessibleName(self.tr("Search settings"))
        self._search.setPlaceholderText(self.tr("Search settings"))
        self._search.setFont(look.fonts.text)
        self._pages = QListWidget()
        self._pages.setObjectName("settings.pages")
        self._pages.setAccessibleName(self.tr("Pages"))
        self._pages.setFont(look.fonts.text)
        self._pages.setMaximumWidth(look.size(PAGES_WIDTH))
        self._stack = QStackedWidget()
        self._none = label(self.tr("No setting is called so."), look.fonts.text, "second", name="settings.none")
        self._fill()
        self._lay_out()
        self._pages.currentRowChanged.connect(self._stack.setCurrentIndex)
        self._search.textChanged.connect(self._narrow)
        self._pages.setCurrentRow(0)
        self._none.hide()

    def show_page(self, title: str) -> None:
        found = self._pages.findItems(title, Qt.MatchFlag.MatchExactly)
        if found:
            self._pages.setCurrentItem(found[0])

    def show_data(self, state: DataState) -> None:
        """Counting takes a while where there is much; it is shown when it is there."""
        data = DataPage(self._look, state)
        data.wanted.connect(self.data_wanted)
        data.session_wanted.connect(self.session_wanted)
        page = self._counting.parentWidget()
        if page is not None and (column := page.layout()) is not None:
            column.replaceWidget(self._counting, data)
            self._counting.hide()

    def _fill(self) -> None:
        pages: dict[str, list[tuple[str, About]]] = {}
        for name, about in settable():
            if name not in UNMOVED:
                pages.setdefault(about.page, []).append((name, about))
        for title, members in pages.items():
            page, column = self._page(title)
            for name, about in members:
                column.insertWidget(column.count() - 1, self._row(name, about))
            self._add(title, page)
        rules = RulesPage(self._look, self._shown.rules, self._shown.why)
        rules.revoked.connect(self.revoked)
        self._add_whole(self.tr("Rules"), rules)
        self._counting = label(self.tr("Counting…"), self._look.fonts.text, "second", name="settings.data.counting")
        self._add_whole(self.tr("Data"), self._counting)

    def _add_whole(self, title: str, inside: QWidget) -> None:
        page, column = self._page(title)
        column.insertWidget(column.count() - 1, inside)
        self._add(title, page)

    def _add(self, title: str, page: QWidget) -> None:
        self._pages.addItem(self.tr(title))
        self._stack.addWidget(FittingScroll(page))

    def _page(self, title: str) -> tuple[QWidget, QVBoxLayout]:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 4, 20, 16)
        column.setSpacing(12)
        column.addWidget(label(self.tr(title), self._look.fonts.title))
        column.addStretch(1)
        return page, column

    def _row(self, name: str, about: About) -> QWidget:
        """Label and help on the left, the control on the right."""
        made, fonts = QWidget(), self._look.fonts
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label(self.tr(about.label), fonts.strong, wrap=True))
        words.addWidget(label(self.tr(about.help), fonts.second, "second", wrap=True))
        words.addStretch(1)
        value = getattr(self._shown.settings, name)
        field = control(self._look, name, about, value, lambda new: self._tell(name, new))
        field.setMinimumWidth(self._look.size(200))
        row.addLayout(words, 1)
        row.addWidget(field, 1 if name == "tiers" else 0, Qt.AlignmentFlag.AlignTop)
        self._found.append((f"{about.page} {about.label} {about.help} {name}".casefold(), made))
        return made

    def _tell(self, name: str, value: Any) -> None:
        self.changed.emit(name, value)

    def _narrow(self, typed: str) -> None:
        """Show only what holds every word; a page without any steps back."""
        words = typed.casefold().split()
        for text, row in self._found:
            row.setVisible(all(word in text for word in words))
        first = -1
        for number in range(self._pages.count()):
            page = self._stack.widget(number)
            rows = [row for _, row in self._found if page and page.isAncestorOf(row)]
            title = self._pages.item(number).text().casefold()
            fits = not words or any(not row.isHidden() for row in rows) or all(word in title for word in words)
            self._pages.item(number).setHidden(not fits)
            first = number if fits and first < 0 else first
        if first >= 0 and self._pages.currentItem().isHidden():
            self._pages.setCurrentRow(first)
        self._none.setVisible(first < 0)
        self._stack.setVisible(first >= 0)

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(8)
        left.addWidget(self._search)
        left.addWidget(self._pages, 1)
        side = QWidget()
        side.setLayout(left)
        side.setFixedWidth(self._look.size(PAGES_WIDTH) + 18)
        middle = QHBoxLayout()
        middle.addWidget(side)
        middle.addWidget(self._none, 1, Qt.AlignmentFlag.AlignTop)
        middle.addWidget(self._stack, 1)
        close = Button(self._look, self.tr("Close"), name="settings.close", hint=self.tr("Esc"))
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        note = label(self.tr("Changes are used at once."), self._look.fonts.second, "third")
        foot.addWidget(note, 1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addLayout(middle, 1)
        column.addLayout(foot)
