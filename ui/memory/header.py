"""The header of the Memory page: statistics, search, a tab for each kind and the folder filter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from ui.memory.memory_lines import ALL, ARCHIVED, EVERY_FOLDER, LOW_RELEVANCE, PROPOSED, is_in_tab
from ui.memory.texts import folder_label, tr
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.drop_down import DropDown
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label
from ui.widgets.search_field import SearchField
from ui.widgets.stacking_row import StackingRow, plain_row
from ui.widgets.tab_strip import TabCount, TabStrip

if TYPE_CHECKING:
    from core.engine.services.memory_results import MemoryListing


TAB_PADDING = 7  # pixels; with the usual padding, the nine tabs would not fit beside the memory card
FIGURES_CHARACTERS = 14  # characters of the statistics that are always visible; the number of memories comes first
SEARCH_WIDTH = 120  # pixels; minimum width of the search field


class MemoryHeader(QWidget):
    """Shows statistics, search, tabs and a folder filter.

    `filter_changed` is emitted when another tab or folder is chosen.
    """

    filter_changed = Signal(str)
    menu_requested = Signal(QPoint)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._title = label(tr("Memory"), look.fonts.title, name="memory.title")
        self.proposals_button = Button(look, "", name="memory.waits", icon="sparkles", tone="learnt")
        self.proposals_button.allow_shrinking()
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
        self._scopes = DropDown(name="memory.place", title=tr("Filter by scope"), font=look.fonts.second)
        self._scopes.setToolTip(tr("Filter by scope"))
        self._scopes.setSizeAdjustPolicy(DropDown.SizeAdjustPolicy.AdjustToContents)
        self._scopes.addItem(tr("All scopes"), "")
        self._scopes.hide()
        self.tabs = TabStrip(
            look, QWidget(), name="memory.tabs", accessible_name=tr("Kinds of memory"), title_padding=TAB_PADDING
        )
        self._lay_out()
        for bar in self.tabs.findChildren(QTabBar):
            bar.setUsesScrollButtons(True)  # otherwise, the nine tabs would determine the minimum width of the window
        self.tabs.chosen.connect(self.filter_changed)
        self._scopes.activated.connect(lambda _: self.filter_changed.emit(self.tab))
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
        """The scope filter: a folder, `EVERY_FOLDER`, or "" for all memories."""
        return str(self._scopes.currentData() or "")

    def choose_tab(self, tab: str) -> None:
        self.tabs.select(tab)

    def choose_scope(self, scope: str) -> None:
        self._scopes.setCurrentIndex(max(0, self._scopes.findData(scope)))

    def show_figures(self, listed: "Sequence[MemoryListing]", proposal_count: int, *, is_limited: bool) -> None:
        """Show statistics of the memories. With `is_limited`, the list does not contain all of them."""
        self._figures.show_text(_statistics(listed, is_limited=is_limited))
        text = tr("{} proposals to review").format(proposal_count)
        if proposal_count == 1:
            text = tr("1 proposal to review")
        self.proposals_button.setText(text)
        self.proposals_button.setAccessibleName(text)
        self.proposals_button.updateGeometry()
        self.proposals_button.setToolTip(f"{text}\n{tr('Memories that agents propose: accept, edit or reject them')}")
        self.proposals_button.setVisible(proposal_count > 0)
        self.tabs.show_counts(PROPOSED, [TabCount(str(proposal_count), "learned")] if proposal_count else [])

    def show_folders(self, folders: Sequence[str]) -> None:
        selected = self.scope_filter
        self._scopes.clear()
        self._scopes.addItem(tr("All scopes"), "")
        self._scopes.addItem(tr("Every folder"), EVERY_FOLDER)
        for folder in folders:
            self._scopes.addItem(folder_label(folder), folder)
        self._scopes.setVisible(bool(folders))
        self.choose_scope(selected)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._figures.setFont(look.fonts.second)
        self._scopes.setFont(look.fonts.second)
        self._scopes.setMinimumWidth(look.size(90))
        self._scopes.setMaximumWidth(look.size(220))
        for part in (self.search, self.proposals_button, self.add, self._more, self.tabs):
            part.restyle(look)
        self.search.setMinimumWidth(look.size(SEARCH_WIDTH))

    def _lay_out(self) -> None:
        heading = plain_row(self._title, self.proposals_button, alignment=Qt.AlignmentFlag.AlignLeft)
        tools = plain_row(self.search, self.add, self._more)
        rows_above_tabs = QVBoxLayout()
        rows_above_tabs.setContentsMargins(20, 11, 16, 8)
        rows_above_tabs.setSpacing(6)
        rows_above_tabs.addWidget(StackingRow(heading, tools))
        figures_row = QHBoxLayout()
        figures_row.addWidget(self._figures, 1)
        figures_row.addWidget(self._scopes)
        figures_row.setContentsMargins(0, 0, 4, 0)
        rows_above_tabs.addLayout(figures_row)
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
        column.addLayout(rows_above_tabs)
        column.addWidget(self.tabs)


def _statistics(listed: "Sequence[MemoryListing]", *, is_limited: bool) -> str:
    """Return how many memories there are, by state, and how often they helped."""
    active = sum(listing.memory.status == "active" for listing in listed)
    low = sum(is_in_tab(listing, LOW_RELEVANCE) for listing in listed)
    archived = sum(listing.memory.status == "archived" for listing in listed)
    forgotten = len(listed) - active - archived
    parts = [
        tr("1 memory") if active == 1 else tr("{} memories").format(f"{active:,}"),
        tr("{} with low relevance").format(f"{low:,}"),
        tr("{} archived").format(f"{archived:,}"),
    ]
    if forgotten:
        parts.append(tr("{} forgotten").format(f"{forgotten:,}"))
    if is_limited:
        parts.append(tr("showing the newest {}; search covers all").format(f"{len(listed):,}"))
    good = sum(listing.memory.usage.good_runs for listing in listed)
    rated = good + sum(listing.memory.usage.bad_runs for listing in listed)
    if rated:
        parts.append(tr("helped in {} of {} rated uses").format(f"{good:,}", f"{rated:,}"))
    return " · ".join(parts)
