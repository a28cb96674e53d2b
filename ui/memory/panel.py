"""The Memory page: the list with its tabs on the left, and the selected memory or proposal on the right."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QStackedWidget, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from core.domain.memory import Memory
from core.domain.proposal import Proposal, ProposalCreated, ProposalStateChanged
from core.domain.recall_events import MemoriesRecalled
from core.domain.sessions import SessionRow
from core.store.journal_update import CommandEnded, JournalUpdate, MemoriesChanged
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import PanelPage, ShowToast, StartTask
from ui.base.selection import Selection
from ui.base.window_state import WindowState
from ui.memory.card import MemoryCard
from ui.memory.controller import MAX_LISTED, MemoryAction, MemoryController
from ui.memory.header import MemoryHeader
from ui.memory.memory_actions import MemoryActions
from ui.memory.memory_lines import (
    ALL,
    ARCHIVED,
    PROPOSAL_PREFIX,
    PROPOSED,
    MemoryLine,
    is_in_tab,
    matches_scope,
    memory_line,
    merge_listings,
    proposal_line,
    scope_folders,
)
from ui.memory.memory_list import MemoryList
from ui.memory.proposal_card import MemoryProposalCard
from ui.memory.texts import folder_label, tr
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.labels import label
from ui.widgets.local_shortcuts import LocalShortcuts
from ui.widgets.proposal_keys import PROPOSAL_KEYS, ProposalAction
from ui.widgets.rerun_without import RerunWithout
from ui.widgets.splitter import horizontal_splitter, remember_sizes

if TYPE_CHECKING:
    from core.engine.services.memory_results import MemoryDetails, MemoryListing

REFRESH_EVENTS: Final = (ProposalCreated, ProposalStateChanged, MemoriesRecalled)
SEARCH_DELAY_MS: Final = 150  # milliseconds from the last key press in the search field to the search
SIDE: Final = 384
MIN_LIST_WIDTH: Final = 500  # pixels; if the list would be narrower, the page hides the sidebar of the window
SIDEBAR_WIDTH: Final = 264
CARD_KEYS: Final = {
    Qt.Key.Key_P: MemoryAction.PIN,
    Qt.Key.Key_A: MemoryAction.ARCHIVE,
    Qt.Key.Key_R: MemoryAction.RESTORE,
    Qt.Key.Key_Delete: MemoryAction.FORGET,
    Qt.Key.Key_Plus: MemoryAction.RATE_HELPFUL,
    Qt.Key.Key_Minus: MemoryAction.RATE_UNHELPFUL,
}


class _MenuEntry(NamedTuple):
    text: str
    action: Callable[[], None]


class _Filter(NamedTuple):
    """What determines which lines the list shows."""

    tab: str = ""
    scope: str = ""
    query: str = ""


class MemoryPanel(PanelPage, LocalShortcuts):
    """The page.

    It reloads its data when it is opened, after each action, and when a run recalls or proposes memories.
    """

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start_task: StartTask,
        show_toast: ShowToast,
        selection: Selection,
        reader: DeferredReader,
        state: WindowState,
        show_event: Callable[[str, int], None],
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__()
        self.look = look
        self._start_task = start_task
        self._show_event = show_event
        self._clock = clock
        self._selection = selection
        self._reader = reader
        self._state = state
        self._listed: Sequence[MemoryListing] = ()
        self._search_results: Sequence[MemoryListing] | None = None
        self._filter = _Filter()
        self._proposals: dict[str, Proposal] = {}
        self._open_key = ""
        self._hides_sidebar = False
        self.controller = MemoryController(bridge)
        self.header = MemoryHeader(look)
        self.list = MemoryList(look)
        self.card = MemoryCard(look, self._title_of)
        self.proposal_card = MemoryProposalCard(look, self._title_of)
        self.memory_actions = MemoryActions(self, self, self.controller, start_task=start_task, show_toast=show_toast)
        self._rerun = RerunWithout(bridge, start_task, selection, reader)
        self._search_timer = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._lay_out()
        self._connect()

    def activate(self, about: tuple[str, ...]) -> None:
        """Update the page because it is shown.

        `about` may contain the ID of a memory to open, or `proposed` for proposals.
        """
        if about and about[0] == PROPOSED:
            self.header.choose_tab(PROPOSED)
            self.refresh()
        else:
            self.refresh(about[0] if about else "")

    def refresh(self, memory_id: str = "") -> None:
        """Reload the page; if `memory_id` is not empty, open this memory."""

        async def load() -> None:
            memories = await self.controller.list_memories()
            proposals = await self.controller.open_proposals()
            self.show_all(memories, proposals, memory_id)
            if self._query():
                self._search()

        self._start_task(load(), "list the memories")

    def show_all(self, listed: "Sequence[MemoryListing]", proposals: Sequence[Proposal], id_to_open: str = "") -> None:
        self._listed = listed
        self._proposals = {item.id: item for item in proposals}
        self.header.show_figures(listed, len(proposals), is_limited=len(listed) >= MAX_LISTED)
        self.header.show_folders(scope_folders(listed))
        if id_to_open in {item.memory.id for item in listed}:
            self._reveal(id_to_open)
        self.count_changed.emit()
        self._update_list(id_to_open)

    def show_memory(self, details: "MemoryDetails") -> None:
        self.card.show_memory(details)
        self._stack.setCurrentWidget(self.card)

    def show_proposal(self, proposal: Proposal, before: str | None) -> None:
        self.proposal_card.show_proposal(proposal, before)
        self._stack.setCurrentWidget(self.proposal_card)

    def open(self, key: str) -> None:
        """Show a memory or proposal beside the list."""
        self._open_key = key
        self.list.mark_open(key)
        if key.startswith(PROPOSAL_PREFIX):
            proposal = self._proposals[key.removeprefix(PROPOSAL_PREFIX)]

            async def load_proposal() -> None:
                before = await self.controller.current_text(proposal.id)
                if self._open_key == key:  # otherwise, the user has opened another item in the meantime
                    self.show_proposal(proposal, before)

            self._start_task(load_proposal(), "open a proposal")
            return

        async def load_memory() -> None:
            details = await self.controller.details(key)
            if self._open_key == key:
                self.show_memory(details)

        self._start_task(load_memory(), "open a memory")

    def scope_folders(self) -> Sequence[str]:
        """Return the folders that can be chosen as a scope: that of the session viewed last, and those of memories."""
        row = self._row(self._selection.session)
        folders = [row.folder] if row and row.folder else []
        return list(dict.fromkeys([*folders, *scope_folders(self._listed)]))

    def apply_updates(self, updates: Sequence[object]) -> None:
        """Refresh the page if an update of a run or of another process may have changed memories or proposals."""
        if any(map(_may_change_memories, updates)):
            self.refresh()

    def focus_areas(self) -> Sequence[QWidget]:
        return (self.list, self._stack)

    def unsaved_changes(self) -> str:
        is_editing = self.proposal_card.proposal is not None and self.proposal_card.editing
        return tr("your edit of a memory proposal") if is_editing else ""

    def restyle(self, look: Look) -> None:
        self.look = look
        self._empty.setFont(look.fonts.text)
        for part in (self.header, self.list, self.card, self.proposal_card):
            part.restyle(look)

    def _reveal(self, name: str) -> None:
        """Switch to a tab that contains a memory, unless the current tab does."""
        listing = next(listing for listing in self._listed if listing.memory.id == name)
        current = self._current_filter()
        if not is_in_tab(listing, current.tab) or not matches_scope(listing.memory, current.scope):
            self.header.choose_scope("")
            self.header.choose_tab(ALL if listing.memory.status == "active" else ARCHIVED)

    def _query(self) -> str:
        return self.header.search.text().strip()

    def _current_filter(self) -> _Filter:
        return _Filter(tab=self.header.tab, scope=self.header.scope_filter, query=self._query())

    def _lines(self) -> list[MemoryLine]:
        """Return the lines that match the current filter."""
        current, now = self._current_filter(), self._clock()
        if current.tab == PROPOSED:
            lines = [proposal_line(proposal, self._title_of, now) for proposal in self._proposals.values()]
            words = current.query.casefold().split()
            return [line for line in lines if all(word in line.accessible_text.casefold() for word in words)]
        listings = self._matching_memories(current) if current.query else self._listed
        return [
            memory_line(listing, self._title_of, now)
            for listing in listings
            if is_in_tab(listing, current.tab) and matches_scope(listing.memory, current.scope)
        ]

    def _matching_memories(self, current: _Filter) -> "Sequence[MemoryListing]":
        """Return the memories that contain the query literally and, once the search has ended, its results below."""
        query = current.query.casefold()
        literal_matches = [listing for listing in self._listed if query in listing.memory.content.text.casefold()]
        if self._search_results is None or current.tab == ARCHIVED:
            return literal_matches
        return merge_listings(literal_matches, self._search_results)

    def _update_list(self, id_to_open: str = "") -> None:
        """Show the lines of the current tab, and open this item or, if it is empty, keep the open one.

        If the item is not listed, the item now at its position is opened instead, or the first item if the tab or a
        filter has changed.
        """
        lines = self._lines()
        is_same_filter = self._filter == self._current_filter()
        self._filter = self._current_filter()
        position = self.list.currentIndex().row() if is_same_filter else 0
        key = _key_to_open([line.key for line in lines], id_to_open or self._open_key, position)
        self.list.show_lines(lines, key)
        if id_to_open:
            self.list.scrollTo(self.list.currentIndex())
        elif not is_same_filter:
            self.list.scrollToTop()
        self.list.setVisible(bool(lines))
        self._empty.setVisible(not lines)
        self._empty.setText("" if lines else self._empty_text())
        self._open_key = key
        if key:
            self.open(key)
        else:
            self._stack.setCurrentWidget(self._blank)
        if self.window().focusWidget() is self:  # the page has just been opened, and no widget in it has the focus
            self._focus_list()

    def _empty_text(self) -> str:
        """Return why the list is empty."""
        is_proposed = self.header.tab == PROPOSED
        if is_proposed and not self._proposals:
            return tr("There are no proposals. Agents propose memories after longer runs.")
        if self._query():
            no_match = tr("No proposals match your search.") if is_proposed else tr("No memories match your search.")
            return no_match + " " + tr("Try fewer words or another tab.")
        if self.header.tab == ARCHIVED:
            return tr("There are no archived memories. Memories are archived if they are unused for a long time.")
        if self._listed:
            return tr("There are no memories of this kind yet.")
        text = tr("There are no memories yet. Agents learn as they work, and you can add what they should know.")
        return text + " " + tr("Click Add, or import a MEMORY.md, CLAUDE.md or JSON file from the menu.")

    def _search(self) -> None:
        query = self._query()
        if not query:
            self._search_results = None
            self._update_list()
            return

        async def search() -> None:
            results = await self.controller.search(query)
            if self._query() == query:
                self._search_results = results
                self._update_list()
                if self._empty.isVisible():
                    announce(self._empty, self._empty.text())

        self._start_task(search(), "search the memories")

    def _shown_memory(self) -> Memory | None:
        """Return the memory on display; None if there is none, or a proposal instead."""
        return self.card.memory if self._stack.currentWidget() is self.card else None

    def _edit(self) -> None:
        if memory := self._shown_memory():
            self.memory_actions.open_dialog(memory)

    def _run_action(self, action: str) -> None:
        if memory := self._shown_memory():
            self.memory_actions.run_action(MemoryAction(action), memory)

    def _accept_proposal(self, text: str | None) -> None:
        if proposal := self.proposal_card.proposal:
            self.memory_actions.accept_proposal(proposal, text, self.proposal_card.discard)
            self._focus_list()

    def _reject_proposal(self) -> None:
        if proposal := self.proposal_card.proposal:
            self.memory_actions.reject_proposal(proposal, self.proposal_card.discard)
            self._focus_list()

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setObjectName("memory.menu")
        menu.setAccessibleName(tr("More memory actions"))
        memory = self._shown_memory()
        for entry in (
            _MenuEntry(tr("Import…"), self.memory_actions.ask_import),
            _MenuEntry(tr("Export…"), self.memory_actions.ask_export),
            _MenuEntry(tr("What was learned, by day…"), self.memory_actions.show_journal),
            _MenuEntry(tr("Archive decayed memories and derive lessons"), self.memory_actions.tidy),
            *self._rerun_entries(memory),
            *self._forget_entries(memory),
        ):
            menu.addAction(entry.text).triggered.connect(entry.action)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def _rerun_entries(self, memory: Memory | None) -> list[_MenuEntry]:
        """Return a menu entry that repeats the last run with this memory in its context, this time without the memory.

        There is no entry if the memory has not been used.
        """
        uses = self.card.details.uses if self.card.details else ()
        if not memory or not uses:
            return []
        confirm = partial(self._rerun.confirm, memory.id, uses, self.look, self)
        return [_MenuEntry(tr("Repeat its last run without this memory…"), confirm)]

    def _forget_entries(self, memory: Memory | None) -> list[_MenuEntry]:
        """Return menu entries that forget everything that was learned from the memory's session or for its folder."""
        entries = []
        if memory and memory.session:
            title = visible(self._title_of(memory.session) or memory.session)
            text = tr("Forget what was learned from “{}”").format(title if len(title) < 40 else f"{title[:39]}…")
            entries.append(_MenuEntry(text, partial(self.memory_actions.forget_all, session=memory.session)))
        if memory and memory.content.scope == "folder":
            folder = memory.content.scope_id
            text = tr("Forget what was learned for {}").format(folder_label(folder))
            entries.append(_MenuEntry(text, partial(self.memory_actions.forget_all, folder=folder)))
        return entries

    def _go_to_step(self, session: str, number: int) -> None:
        """Open a session at the step with this number. Steps are numbered as in the timeline."""
        self._show_event(session, self._reader.seq_of_step(session, number))

    def _title_of(self, session: str) -> str:
        row = self._row(session)
        return row.title if row else ""

    def _row(self, session: str) -> SessionRow | None:
        return self._reader.reader.session(session) if self._reader.reader and session else None

    def _lay_out(self) -> None:
        self._empty = label("", self.look.fonts.text, "second", name="memory.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter)
        self._empty.setContentsMargins(40, 60, 40, 0)
        list_side = QWidget()
        column = QVBoxLayout(list_side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._empty, 1)
        column.addWidget(self.list, 1)
        self._blank = QWidget()
        self._stack = QStackedWidget()
        for part in (self._blank, self.card, self.proposal_card):
            self._stack.addWidget(part)
        side = QFrame()
        side.setProperty("surface", "panel")
        beside = QVBoxLayout(side)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.addWidget(self._stack)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        splitter = horizontal_splitter(
            list_side, side, left_width=900, right_width=self.look.size(SIDE), stretches_left=True
        )
        layout.addWidget(splitter)
        remember_sizes(splitter, self._state, "memory_columns")

    def _connect(self) -> None:
        head = self.header
        head.filter_changed.connect(lambda _: self._update_list())
        head.search.textChanged.connect(lambda _: self._search_timer.start())
        self._search_timer.timeout.connect(self._search)
        head.search.list_requested.connect(self._focus_list)
        head.add.clicked.connect(lambda: self.memory_actions.open_dialog())
        head.menu_requested.connect(self._open_menu)
        self.list.menu_requested.connect(self._open_menu)
        self.list.chosen.connect(self.open)
        self.card.action_requested.connect(self._run_action)
        self.card.edit_requested.connect(self._edit)
        self.card.memory_requested.connect(self.refresh)
        self.card.event_requested.connect(self._show_event)
        self.card.undo_requested.connect(self._undo_change)
        self.proposal_card.accepted.connect(self._accept_proposal)
        self.proposal_card.rejected.connect(self._reject_proposal)
        self.proposal_card.step_requested.connect(self._go_to_step)
        self.local_shortcuts = {
            "Ctrl+F": head.search.setFocus,
            "Ctrl+Shift+N": self.memory_actions.open_dialog,
            **{f"Alt+{index + 1}": partial(head.tabs.select_index, index) for index in range(9)},
        }

    def _focus_list(self) -> None:
        """Focus the list, or the page if the list is empty."""
        (self.list if self.list.isVisible() else self).setFocus(Qt.FocusReason.OtherFocusReason)

    def _undo_change(self, number: int) -> None:
        if memory := self.card.memory:
            self.memory_actions.undo_change(memory, number)

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        list_width = self.width() - self._stack.width()
        # While the sidebar is hidden, the list is wider by its width.
        min_width = MIN_LIST_WIDTH + (SIDEBAR_WIDTH if self._hides_sidebar else 0)
        hide_sidebar = list_width < self.look.size(min_width)
        if hide_sidebar != self._hides_sidebar:
            self._hides_sidebar = hide_sidebar
            self.sidebar_fold_requested.emit(hide_sidebar)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle single-key shortcuts for the open memory or proposal. Text fields receive the keys first."""
        key = Qt.Key(event.key())
        # On many keyboards, + needs Shift.
        is_unmodified = event.modifiers() == Qt.KeyboardModifier.NoModifier or key == Qt.Key.Key_Plus
        handler = self._key_handler(key) if is_unmodified else None
        if handler is None:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():  # a key that is held down would also decide about the next proposal
            handler()

    def _key_handler(self, key: Qt.Key) -> Callable[[], None] | None:
        """Return what a key does with the memory or proposal on display."""
        if self._stack.currentWidget() is not self.proposal_card:
            if key == Qt.Key.Key_E:
                return self.card.edit
            action = CARD_KEYS.get(key)
            return partial(self.card.run_action, action) if action else None
        match PROPOSAL_KEYS.get(key):
            case ProposalAction.ACCEPT:
                return self.proposal_card.accept
            case ProposalAction.EDIT:
                return self.proposal_card.edit
            case ProposalAction.REJECT:
                return self.proposal_card.reject
            case None:
                return None


def _key_to_open(keys: Sequence[str], wanted: str, position: int) -> str:
    """Return the key of the item to open: the wanted one or, if it is not listed, the one at a position; "" if none."""
    if not keys:
        return ""
    return wanted if wanted in keys else keys[min(max(position, 0), len(keys) - 1)]


def _may_change_memories(update: object) -> bool:
    if isinstance(update, JournalUpdate):
        return isinstance(update.entry.event, REFRESH_EVENTS)
    return isinstance(update, MemoriesChanged | CommandEnded)
