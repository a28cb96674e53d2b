"""The page of memories: tabs over the list, what is chosen beside it, and what waits for a word."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QStackedWidget, QVBoxLayout, QWidget

from core.domain.clock import now as wall_clock
from core.domain.memory import Memory
from core.domain.proposal import Proposal, ProposalMade, ProposalSettled
from core.domain.recalled import MemoryRecalled
from core.domain.sessions import SessionRow
from core.store.told import Told
from ui.bridge import Bridge
from ui.memory.card import MemoryCard
from ui.memory.doing import Doing
from ui.memory.door import MOST, Door
from ui.memory.head import MemoryHead
from ui.memory.list import MemoryList
from ui.memory.review import ProposalCard
from ui.memory.rows import ALL, ARCHIVE, PREFIX, PROPOSED, Line, belongs, is_for, line, places, wanted
from ui.memory.words import folder_words, tr
from ui.page import Page, Say, Start
from ui.reading import Reading
from ui.selection import Selection
from ui.theme import Look
from ui.visible import visible
from ui.widgets.halves import halves
from ui.widgets.own_keys import OwnKeys
from ui.widgets.words import label
from ui.without import Without

if TYPE_CHECKING:
    from core.engine.memory import Listed, Shown

HEARD: Final = (ProposalMade, ProposalSettled, MemoryRecalled)
PAUSE_MS: Final = 150  # after the last letter of a search
SIDE: Final = 384
LEAST: Final = 500  # pixels for the list, below which the sidebar folds
SIDEBAR: Final = 264
CARD_KEYS: Final = {
    Qt.Key.Key_E: "edit",
    Qt.Key.Key_P: "pin",
    Qt.Key.Key_A: "archive",
    Qt.Key.Key_R: "restore",
    Qt.Key.Key_Delete: "forget",
}
REVIEW_KEYS: Final = {Qt.Key.Key_Y: "keep", Qt.Key.Key_E: "edit", Qt.Key.Key_N: "reject"}


class MemoryPanel(Page, OwnKeys):
    """Looks anew whenever it is opened, after each deed, and when a run recalls or proposes something."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start: Start,
        say: Say,
        selection: Selection,
        reading: Reading,
        go_to: Callable[[str, int], None],
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__()
        self.look = look
        self._start, self._selection, self._reading, self._go_to, self._clock = start, selection, reading, go_to, clock
        self._listed: Sequence[Listed] = ()
        self._found: Sequence[Listed] | None = None
        self._asked = ("", "", "")
        self._proposals: dict[str, Proposal] = {}
        self._wanted, self._key, self._folded = "", "", False
        self.door = Door(bridge)
        self.head = MemoryHead(look)
        self.list = MemoryList(look)
        self.card = MemoryCard(look, self._title_of)
        self.review = ProposalCard(look, self._title_of)
        self.doing = Doing(self, self, self.door, start=start, say=say)
        self._without = Without(bridge, start, selection, reading)
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(PAUSE_MS)
        self._lay_out()
        self._connect()

    # What is shown

    def open_on(self, about: tuple[str, ...]) -> None:
        """`about` is the id of a memory, or `proposed`."""
        if about and about[0] == PROPOSED:
            self.head.choose(PROPOSED)
        elif about:
            self._wanted = about[0]
        self.refresh()

    def refresh(self, wanted: str = "") -> None:
        """Bring the page up to date, with this one chosen."""
        self._wanted = wanted or self._wanted

        async def look() -> None:
            self.show_all(await self.door.listed(), await self.door.proposed())
            if self.head.search.text().strip():
                self._search()

        self._start(look(), "list the memories")

    def show_all(self, listed: "Sequence[Listed]", proposals: Sequence[Proposal]) -> None:
        self._listed = listed
        self._proposals = {one.id: one for one in proposals}
        self.head.show_figures(listed, len(proposals), more=len(listed) >= MOST)
        self.head.show_places(places(listed))
        if self._wanted and self._wanted in {one.memory.id for one in listed}:
            self._bring(self._wanted)
        self.counted.emit()
        self._arrange(keep=not self._wanted)
        self._wanted = ""

    def show_memory(self, shown: "Shown") -> None:
        self.card.show_memory(shown)
        self._stack.setCurrentWidget(self.card)

    def show_proposal(self, proposal: Proposal, before: str | None) -> None:
        self.review.show_proposal(proposal, before)
        self._stack.setCurrentWidget(self.review)

    def open(self, key: str) -> None:
        """Show a memory, or a proposal, beside the list."""
        self._key = key
        self.list.mark(key)
        if key.startswith(PREFIX):
            proposal = self._proposals[key.removeprefix(PREFIX)]

            async def review() -> None:
                before = await self.door.before(proposal.id)
                if self._key == key:  # else another was chosen meanwhile
                    self.show_proposal(proposal, before)

            self._start(review(), "look at a proposal")
            return

        async def look() -> None:
            shown = await self.door.show(key)
            if self._key == key:
                self.show_memory(shown)

        self._start(look(), "look at a memory")

    def folders(self) -> Sequence[str]:
        """Those that a memory may be for: where the session works that was looked at, and those that have some."""
        row = self._row(self._selection.session)
        here = [row.folder] if row and row.folder else []
        return list(dict.fromkeys([*here, *places(self._listed)]))

    def hear(self, facts: Sequence[object]) -> None:
        if any(isinstance(fact, Told) and isinstance(fact.entry.event, HEARD) for fact in facts):
            self.refresh()

    def unsaved(self) -> str:
        return tr("the words of a proposal") if self.review.proposal and self.review.editing else ""

    def restyle(self, look: Look) -> None:
        self.look = look
        self._empty.setFont(look.fonts.text)
        for part in (self.head, self.list, self.card, self.review):
            part.restyle(look)

    # The list

    def _bring(self, name: str) -> None:
        """The tab where it stands, unless the one that is shown has it."""
        one = next(each for each in self._listed if each.memory.id == name)
        if not belongs(one, self.head.tab) or not is_for(one.memory, self.head.place):
            self.head.choose_place("")
            self.head.choose(ALL if one.memory.standing == "active" else ARCHIVE)

    def _lines(self) -> list[Line]:
        tab, at = self.head.tab, self._clock()
        if tab == PROPOSED:
            return [wanted(one, self._title_of, at) for one in self._proposals.values()]
        words = self.head.search.text().strip().casefold()
        found = self._listed
        if words:  # what has them as they were typed is known at once, and stays first when the others are found
            has = [one for one in found if words in one.memory.said.text.casefold()]
            found = has if tab == ARCHIVE or self._found is None else _first(has, self._found)
        place = self.head.place
        return [line(one, self._title_of, at) for one in found if belongs(one, tab) and is_for(one.memory, place)]

    def _arrange(self, *, keep: bool = True) -> None:
        """The lines of the tab; what was chosen stays so, or what stands in its place. Others begin with the first."""
        lines = self._lines()
        keys = [each.key for each in lines]
        held = self._key if keep else self._wanted
        before, self._asked = self._asked, (self.head.tab, self.head.place, self.head.search.text().strip())
        was = self.list.currentIndex().row() if before == self._asked else 0
        key = held if held in keys else (keys[min(max(was, 0), len(keys) - 1)] if keys else "")
        self.list.show_lines(lines, key)
        if not keep:
            self.list.scrollTo(self.list.currentIndex())
        elif before != self._asked:
            self.list.scrollToTop()
        self.list.setVisible(bool(lines))
        self._empty.setVisible(not lines)
        self._empty.setText("" if lines else self._nothing())
        self._key = key
        if key:
            self.open(key)
        else:
            self._stack.setCurrentWidget(self._blank)

    def _nothing(self) -> str:
        if self.head.search.text().strip():
            return tr("Nothing that is remembered has these words. Try fewer, or another tab.")
        if self.head.tab == PROPOSED:
            return tr("Nothing waits for a word. After real work a run may propose what is worth keeping.")
        if self.head.tab == ARCHIVE:
            return tr("The archive is empty. What nobody uses for long goes there, and can be brought back.")
        if self._listed:
            return tr("Nothing of this kind is remembered yet.")
        told = tr("Nothing is remembered yet. Runs learn as they work; or write down yourself what agents should know.")
        return told + " " + tr("Begin with Add, or import a MEMORY.md, CLAUDE.md or JSON file from the menu.")

    def _search(self) -> None:
        words = self.head.search.text().strip()
        if not words:
            self._found = None
            self._arrange()
            return

        async def look() -> None:
            found = await self.door.find(words)
            if self.head.search.text().strip() == words:
                self._found = found
                self._arrange()

        self._start(look(), "search the memories")

    # What is done

    def _do(self, deed: str) -> None:
        if (memory := self.card.memory) and self._stack.currentWidget() is self.card:
            self.doing.do(deed, memory)

    def _decide(self, how: str, text: object) -> None:
        if proposal := self.review.proposal:
            self.doing.settle(proposal, how, text if isinstance(text, str) else None, self.review.drop)

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setObjectName("memory.menu")
        menu.setAccessibleName(tr("More to do with memories"))
        memory = self.card.memory if self._stack.currentWidget() is self.card else None
        for said, act in (
            (tr("Import…"), self.doing.ask_import),
            (tr("Export…"), self.doing.ask_export),
            (tr("Archive what faded, look for lessons"), self.doing.tidy),
            *self._try_deeds(memory),
            *self._forget_deeds(memory),
        ):
            menu.addAction(said).triggered.connect(act)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def _try_deeds(self, memory: Memory | None) -> list[tuple[str, Callable[[], None]]]:
        """The newest run that was told of it, once more without it."""
        uses = self.card.shown.uses if memory and self.card.shown else ()
        ask = partial(self._without.ask, memory.id if memory else "", uses, self.look, self)
        return [(tr("Try its last run again without it…"), ask)] if uses else []

    def _forget_deeds(self, memory: Memory | None) -> list[tuple[str, Callable[[], None]]]:
        """All that a session or a folder taught, of the memory that is chosen."""
        deeds: list[tuple[str, Callable[[], None]]] = []
        if memory and memory.session:
            title = visible(self._title_of(memory.session) or memory.session)
            said = tr("Forget what “{}” taught").format(title if len(title) < 40 else f"{title[:39]}…")
            deeds.append((said, partial(self.doing.forget_all, session=memory.session)))
        if memory and memory.said.reach == "folder":
            folder = memory.said.place
            said = tr("Forget what was learnt for {}").format(folder_words(folder))
            deeds.append((said, partial(self.doing.forget_all, folder=folder)))
        return deeds

    def _go_to_step(self, session: str, number: int) -> None:
        """The step that a person calls so."""
        reader = self._reading.reader
        step = reader.numbered(session, number) if reader and number else None
        self._go_to(session, step.first if step else 0)

    def _title_of(self, session: str) -> str:
        row = self._row(session)
        return row.title if row else ""

    def _row(self, session: str) -> SessionRow | None:
        return self._reading.reader.session(session) if self._reading.reader and session else None

    def _lay_out(self) -> None:
        self._empty = label("", self.look.fonts.text, "second", name="memory.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter)
        self._empty.setContentsMargins(40, 60, 40, 0)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addWidget(self._empty, 1)
        column.addWidget(self.list, 1)
        self._blank = QWidget()
        self._stack = QStackedWidget()
        for part in (self._blank, self.card, self.review):
            self._stack.addWidget(part)
        side = QFrame()
        side.setProperty("surface", "panel")
        beside = QVBoxLayout(side)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.addWidget(self._stack)
        side.setMinimumWidth(self.look.size(280))
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(halves(left, side, (900, self.look.size(SIDE)), grows=0))

    def _connect(self) -> None:
        head = self.head
        head.chosen.connect(lambda _: self._arrange())
        head.search.textChanged.connect(lambda _: self._typed.start())
        self._typed.timeout.connect(self._search)
        head.add.clicked.connect(lambda: self.doing.write())
        head.menu_wanted.connect(self._open_menu)
        self.list.menu_wanted.connect(self._open_menu)
        self.list.chosen.connect(self.open)
        self.card.wanted.connect(self._do)
        self.card.other.connect(self.refresh)
        self.card.go_to.connect(self._go_to)
        self.card.taken_back.connect(self._take_back)
        self.review.decided.connect(self._decide)
        self.review.go_to.connect(self._go_to_step)
        self.own_keys = {
            "Ctrl+F": head.search.setFocus,
            "Ctrl+Shift+N": self.doing.write,
            "F6": self._next_part,
            **{f"Alt+{place + 1}": partial(head.tabs.choose_at, place) for place in range(9)},
        }

    def _take_back(self, number: int) -> None:
        if memory := self.card.memory:
            self.doing.take_back(memory, number)

    def _next_part(self) -> None:
        """From the list to what stands beside it, and back."""
        if self._stack.isAncestorOf(self.focusWidget()):
            self.list.setFocus(Qt.FocusReason.TabFocusReason)
        elif self._stack.currentWidget() is self.review:
            self.review.focus_first()
        else:
            self.card.focus_first()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.width() - self._stack.width()
        fold = room < self.look.size(LEAST + (SIDEBAR if self._folded else 0))
        if fold != self._folded:
            self._folded = fold
            self.fold_wanted.emit(fold)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Letters act on what is chosen, while nobody writes."""
        key = Qt.Key(event.key())
        reviewing = self._stack.currentWidget() is self.review
        deed = (REVIEW_KEYS if reviewing else CARD_KEYS).get(key) if not event.modifiers() else None
        if deed is None:
            super().keyPressEvent(event)
        elif reviewing:
            {"keep": self.review.keep, "edit": self.review.edit, "reject": self.review.reject}[deed]()
        elif self._stack.currentWidget() is self.card:
            self.card.do(deed)


def _first(some: Iterable["Listed"], then: Iterable["Listed"]) -> list["Listed"]:
    """Each once, as it was told last."""
    return list({one.memory.id: one for one in (*some, *then)}.values())
