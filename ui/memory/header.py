"""The header of the Memory page: statistics, search, a tab for each kind and the folder filter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from ui.memory.memory_lines import ALL, ARCHIVED, LOW_RELEVANCE, PROPOSED, is_in_tab
from ui.memory.texts import folder_label, tr
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.drop_down import DropDown
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label
from ui.widgets.search_field import SearchField
from ui.widgets.tab_strip import TabStrip

if TYPE_CHECKING:
    from core.engine.services.memory_service import MemoryListing


TAB_PADDING = 7  # pixels; with the usual padding, the nine tabs would not fit next to the pane
FIGURES_CHARACTERS = 14  # of the statistics, which begin with the number of memories, that are always shown
NARROW_WIDTH = 560  # pixels; below this width, labels are shortened


class MemoryHeader(QWidget):
    """Shows statistics, search, tabs and folder filter. `filter_changed` is emitted for another tab or folder."""

    filter_changed = Signal(str)
    menu_requested = Signal(QPoint)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._waiting = 0
        self._title = label(tr("Memory"), look.fonts.title, name="memory.title")
        self.proposals_button = Button(look, "", name="memory.waits", icon="sparkles", tone="learnt")
        self.proposals_button.hide()
        self.search = SearchField(look, tr("Search memories"), name="memory.search")
        self.search.setToolTip(tr("Search memories (Ctrl+F)"))
        self.add = Button(look, tr("Add"), name="memory.add", icon="plus")
        self.add.setToolTip(tr("Add a memory for agents (Ctrl+Shift+N)"))
        self._more = Button(look, "", name="memory.more", icon="ellipsis", tone="quiet")
        self._more.setAccessibleName(tr("More actions: import, export, forget"))
        self._more.setToolTip(tr("More actions: import, export, forget"))
        self._figures = ElidedLabel("", look.fonts.second, "second", name="memory.figures")
        self._figures.keep_characters(FIGURES_CHARACTERS)
        self._places = DropDown()
        self._places.setObjectName("memory.place")
        self._places.setAccessibleName(tr("Filter by scope"))
        self._places.setToolTip(tr("Filter by scope"))
        self._places.setFont(look.fonts.second)
        self._places.setSizeAdjustPolicy(DropDown.SizeAdjustPolicy.AdjustToContents)
        self._places.addItem(tr("All scopes"), "")
        self._places.hide()
        self.tabs = TabStrip(
            look, QWidget(), name="memory.tabs", accessible_name=tr("Kinds of memory"), padding=TAB_PADDING
        )
        self._lay_out()
        for bar in self.tabs.findChildren(QTabBar):
            bar.setUsesScrollButtons(True)  # otherwise the nine tabs would set a minimum width for the window
        self.tabs.chosen.connect(self.filter_changed)
        self._places.activated.connect(lambda _: self.filter_changed.emit(self.tab))
        self.proposals_button.clicked.connect(lambda: self.tabs.select(PROPOSED))
        self._more.clicked.connect(
            lambda: self.menu_requested.emit(self._more.mapToGlobal(self._more.rect().bottomLeft()))
        )
        self.restyle(look)

    @property
    def tab(self) -> str:
        return self.tabs.current()

    @property
    def scope_filter(self) -> str:
        """The scope filter: a folder, `*` for memories that apply everywhere, or empty for all."""
        return str(self._places.currentData() or "")

    def choose_tab(self, tab: str) -> None:
        self.tabs.select(tab)

    def choose_scope(self, scope: str) -> None:
        self._places.setCurrentIndex(max(0, self._places.findData(scope)))

    def show_figures(self, listed: "Sequence[MemoryListing]", waiting: int, *, is_limited: bool) -> None:
        active = sum(listing.memory.status == "active" for listing in listed)
        low = sum(is_in_tab(listing, LOW_RELEVANCE) for listing in listed)
        archived = sum(listing.memory.status == "archived" for listing in listed)
        forgotten = len(listed) - active - archived
        items = tr("1 memory") if active == 1 else tr("{} memories").format(f"{active:,}")
        parts = [items, tr("{} with low relevance").format(f"{low:,}"), tr("{} archived").format(f"{archived:,}")]
        if forgotten:
            parts.append(tr("{} forgotten").format(f"{forgotten:,}"))
        if is_limited:
            parts.append(tr("showing the newest {}; search covers all").format(f"{len(listed):,}"))
        used = [listing.memory for listing in listed if listing.memory.usage.good_runs + listing.memory.usage.bad_runs]
        good = sum(listing.usage.good_runs for listing in used)
        if rated := good + sum(listing.usage.bad_runs for listing in used):
            parts.append(tr("helped in {} of {} rated uses").format(f"{good:,}", f"{rated:,}"))
        self._figures.show_text(" · ".join(parts))
        text = tr("1 proposal to review") if waiting == 1 else tr("{} proposals to review").format(waiting)
        self._waiting = waiting
        self.proposals_button.setAccessibleName(text)
        self.proposals_button.setToolTip(f"{text}\n{tr('Memories that agents propose: accept, edit or reject them')}")
        self._fit()
        self.proposals_button.setVisible(waiting > 0)
        self.tabs.show_figures(PROPOSED, [(str(waiting), "learned")] if waiting else [])

    def show_folders(self, folders: Sequence[str]) -> None:
        selected = self.scope_filter
        self._places.clear()
        self._places.addItem(tr("All scopes"), "")
        self._places.addItem(tr("Every folder"), "*")
        for folder in folders:
            self._places.addItem(folder_label(folder), folder)
        self._places.setVisible(bool(folders))
        self.choose_scope(selected)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._figures.setFont(look.fonts.second)
        self._places.setFont(look.fonts.second)
        self._places.setMinimumWidth(look.size(90))
        self._places.setMaximumWidth(look.size(220))
        for part in (self.search, self.proposals_button, self.add, self._more, self.tabs):
            part.restyle(look)
        self._fit()

    def _fit(self) -> None:
        """Adapt to the width: if it is small, the proposals button shows only the number."""
        narrow = self.width() < self._look.size(NARROW_WIDTH)
        text = self.proposals_button.accessibleName()
        self.proposals_button.setText(str(self._waiting) if narrow else text)
        self.proposals_button.updateGeometry()
        self.search.setMinimumWidth(self._look.size(90 if narrow else 180))

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self._title)
        first.addWidget(self.proposals_button)
        first.addStretch(1)
        first.addWidget(self.search)
        first.addWidget(self.add)
        first.addWidget(self._more)
        above = QVBoxLayout()
        above.setContentsMargins(20, 11, 16, 8)
        above.setSpacing(6)
        above.addLayout(first)
        second = QHBoxLayout()
        second.addWidget(self._figures, 1)
        second.addWidget(self._places)
        second.setContentsMargins(0, 0, 4, 0)
        above.addLayout(second)
        for name, title in (
            (ALL, tr("All")),
            (PROPOSED, tr("Proposed")),
            ("preference", tr("Preferences")),
            ("heuristic", tr("Heuristics")),
            ("knowledge", tr("Knowledge")),
            ("outcome", tr("Outcomes")),
            ("anti-pattern", tr("Anti-patterns")),
            (LOW_RELEVANCE, tr("Low relevance")),
            (ARCHIVED, tr("Archived")),
        ):
            self.tabs.add(name, title)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(above)
        column.addWidget(self.tabs)
