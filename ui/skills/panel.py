"""The page of skills: the list at the left, the skill that is open beside it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.domain.problems import Trouble
from core.domain.proposal import ProposalMade, ProposalSettled
from core.domain.skill import MAIN, Moved, OpenSkill, Saved, SkillRow, SkillUsed
from core.store.told import Told
from ui.bridge import Bridge
from ui.page import Page, Say, Start
from ui.reading import Reading
from ui.selection import Selection
from ui.skills.desk import BOTH, USED, Desk
from ui.skills.doing import Doing
from ui.skills.door import Door
from ui.skills.moved import MovedDialog
from ui.skills.reviewing import PREFIX, Reviewing
from ui.skills.rows import Proposed
from ui.skills.side import SkillSide
from ui.skills.work import Body, Work
from ui.skills.works import Works
from ui.theme import Look
from ui.widgets.halves import halves
from ui.widgets.own_keys import OwnKeys
from ui.widgets.words import label
from ui.window_state import WindowState
from ui.without import Without

HEARD: Final = (ProposalMade, ProposalSettled, SkillUsed)
LEAST: Final = 640  # pixels for text, below which the sidebar folds
SIDEBAR: Final = 264


class SkillsPanel(Page, OwnKeys):
    """Opens one skill at a time; what is not saved of the others waits on the disk."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start: Start,
        tell: Callable[[Trouble], None],
        say: Say,
        selection: Selection,
        reading: Reading,
        state: WindowState,
        go_to: Callable[[str, int], None],
        begin: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._look, self._start, self._tell, self._say = look, start, tell, say
        self._selection, self._reading, self._state = selection, reading, state
        self._begin, self._go_to = begin, go_to
        self._opening = ""
        self._wanted, self._folded, self._saving, self._write = "", False, False, False
        self.door = Door(bridge)
        self.works = Works(state.folder)
        self.side = SkillSide(look)
        self.desk = Desk(look)
        self._without = Without(bridge, start, selection, reading)
        self._doing = Doing(self, self, look, self.door, start=start, say=say, tell=tell)
        self.reviewing = Reviewing(
            self, self, self.door, start=start, say=say, title_of=self._title_of, go_to=self._go_to_row
        )
        self._lay_out()
        self._connect()

    # What is shown

    def open_on(self, about: tuple[str, ...]) -> None:
        if about:
            self._wanted = about[0]
        session = self._reading.reader.session(self._selection.session) if self._reading.reader else None
        self.door.folder = session.folder if session else ""
        self.works.look()
        self.side.show_unsaved(self.works.unsaved())
        self.refresh()

    def refresh(self, wanted: str = "", *, write: bool = False) -> None:
        """Bring the list up to date, and open what is wanted of it; `write` brings the keyboard into its text."""
        self._wanted = wanted or self._wanted
        self._write = self._write or write

        async def look() -> None:
            rows = await self.door.rows()
            self.show_rows(rows, self.reviewing.lines(await self.door.proposed()))

        self._start(look(), "list the skills")

    def show_rows(self, rows: Sequence[SkillRow], proposed: Sequence[Proposed]) -> None:
        self.side.show_rows(rows, proposed, self.door.folder)
        self.counted.emit()
        if self.reviewing.knows(self.reviewing.shown) and not self._wanted:
            return
        held = self.desk.opened.row.key if self.desk.opened else ""
        known = {row.key: row for row in rows}
        named = {row.name: row.key for row in reversed(rows)}
        key = self._wanted if self._wanted in known else named.get(self._wanted, "")
        key = key or (held if held in known else self._state.text("skill"))
        key = key if key in known else next(iter(known), "")
        if key == self._wanted or named.get(self._wanted) == key:
            self._wanted = ""
        self._stack.setCurrentWidget(self.desk if key else self._empty)
        if key and (key != held or (self.desk.opened and known[key].digest != self.desk.opened.row.digest)):
            self.open(key)
        elif key and self.desk.opened:
            self.desk.show_row(known[key])

    def open(self, key: str) -> None:
        """Show a skill, or a proposal; text of it that was not saved stands there again."""
        self.keep()
        if key.startswith(PREFIX):
            self._stack.setCurrentWidget(self.desk)
            self._opening = key
            self.reviewing.open(key.removeprefix(PREFIX))
            self.side.list.mark(key)
            return
        self._opening = key

        async def look() -> None:
            opened = await self.door.open(key)
            if self._opening == key:  # else another was chosen meanwhile
                self.show_skill(opened)

        self._start(look(), "open a skill")

    def show_skill(self, opened: OpenSkill) -> None:
        key = opened.row.key
        self.keep()  # what was typed while it was on its way
        self.reviewing.shown = ""
        self.desk.show_skill(opened, self.works.of(opened))
        self.side.list.mark(key)
        self._state.keep_text("skill", key)
        self.check()
        if self._write:
            self._write = False
            self.desk.focus_text()
        if self.desk.tabs.current() == USED:
            self.show_uses()

    def check(self) -> None:
        """Ask what is to be said of the text as it is now."""
        text, work, name = self.desk.editor.text(), self.desk.work, self.desk.checked_as
        if not name:
            self.desk.show_findings((), None)
            return

        async def look() -> None:
            found = await self.door.check(text, work.paths(), name)
            if self.desk.work is work:
                self.desk.show_findings(found.findings, found.measures)

        self._start(look(), "check a skill")

    def show_uses(self) -> None:
        key = self.desk.work.key

        async def look() -> None:
            self.desk.used.show_uses(await self.door.uses(key))

        self._start(look(), "look where a skill was used")

    def unsaved(self) -> str:
        """Nothing is lost when the window closes: it is kept first."""
        self.keep()
        return ""

    def hear(self, facts: Sequence[object]) -> None:
        """What a run proposes, decides or uses is seen at once."""
        if any(isinstance(fact, Told) and isinstance(fact.entry.event, HEARD) for fact in facts):
            self.refresh()

    # What is done

    def save(self) -> None:
        """A new version; where somebody else saved meanwhile, both are shown and nothing is overwritten."""
        changes, work = self.desk.now(), self.desk.work
        text = self.desk.editor.text()
        if not changes or self._saving or self.desk.read_only or self.desk.opened is None:
            return

        async def send() -> None:
            self._saving = True
            try:
                done = await self.door.save(work.key, text, changes, work.base)
            finally:
                self._saving = False
            if isinstance(done, Moved):
                self._ask_which(done, text)
            else:
                self._settle(done, work, {**changes, MAIN: text})

        self._start(send(), "save a skill")

    def keep(self) -> None:
        """What is written is on the disk, whatever ends the program."""
        work = self.desk.work
        if not work.key or self.desk.read_only:
            return
        self.desk.now()
        try:
            self.works.keep(work)
        except OSError as error:
            what = self.tr("What is written here would be lost in an accident.")
            self._tell(Trouble(what, f"{error.strerror or error}.", self.tr("Save it, or make room on the disk.")))
        self.side.show_unsaved(self.works.unsaved())

    def discard(self) -> None:
        """Throw away what is not saved; it can be taken back."""
        draft = self.desk.work.draft()

        def show() -> None:
            self.desk.clear()
            self.open(draft.key)

        def undo() -> None:
            self.works.put_back(draft)
            show()

        self.works.drop(draft.key)
        self.works.forget(draft.key)
        show()
        self._say(self.tr("What was not saved is thrown away."), undo)

    def take_up(self, key: str) -> None:
        """A proposal that was being edited is edited on."""
        draft = self.works.draft(key)
        text = draft.texts.get(MAIN) if draft else None
        if text is not None:
            self.desk.edit_proposal()
            self.desk.editor.source.replace_all(text)

    def do(self, name: str) -> None:
        """A deed of the head, the menu or the card."""
        mine: dict[str, Callable[[], None]] = {
            "save": self.save,
            "discard": self.discard,
            "versions": lambda: self.desk.choose("compare"),
            "try": self.try_it,
            "without": self.try_without,
        }
        if name in mine:
            mine[name]()
        elif self.desk.opened:
            self._doing.do(name, self.desk.opened.row)
        else:
            self.reviewing.do(name)

    def try_it(self) -> None:
        """A run that is asked to use it; what is not saved would not be in it."""
        if self.desk.opened and self.desk.work.changed:
            self._say(self.tr("Save it first: a run uses the version that was saved."))
        elif self.desk.opened:
            self._begin(self.tr("Use the skill {} to ").format(self.desk.opened.row.name))

    def try_without(self) -> None:
        """The newest run that used it, once more without it."""
        if (opened := self.desk.opened) is not None:
            row = opened.row

            async def look() -> None:
                self._without.ask(row.name, await self.door.uses(row.key), self._look, self)

            self._start(look(), "look where a skill was used")

    def _settle(self, done: Saved, work: Work, saved: dict[str, Body]) -> None:
        self.works.settle(work, done, saved)
        self.keep()
        self.desk.show_saving()
        said = self.tr("Nothing differed from version {}.") if done.unchanged else self.tr("Saved as version {}.")
        self._say(said.format(done.version))
        self.open(done.key)
        self.refresh(done.key)

    def _ask_which(self, moved: Moved, mine: str) -> None:
        dialog = MovedDialog(self._look, moved, mine, moved.head.by, self)
        dialog.agreed.connect(lambda text: self.desk.take(text, moved.head.number))
        dialog.agreed.connect(lambda _: self.keep())
        dialog.open()

    def _compare(self, before: int, after: int) -> None:
        work, changes = self.desk.work, self.desk.now() if not after else {}

        async def look() -> None:
            files = await self.door.compared(work, before, after, changes)
            if self.desk.work is work:
                self.desk.show_files(files)

        self._start(look(), "compare two versions")

    def _load(self, path: str) -> None:
        work = self.desk.work

        async def look() -> None:
            work.loaded(path, await self.door.body(work.key, path))
            if self.desk.work is work:
                self.desk.files.show_file(path)

        self._start(look(), "read a file of a skill")

    def _title_of(self, session: str) -> str:
        row = self._reading.reader.session(session) if self._reading.reader else None
        return row.title if row else ""

    def _go_to_row(self, session: str, _row: int) -> None:
        self._go_to(session, 0)

    def _lay_out(self) -> None:
        words = self.tr(
            "A skill tells an agent how to do something well. Begin one with +, or drop a folder or a zip here."
        )
        self._empty = label(words, self._look.fonts.text, "second", name="skills.empty", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setContentsMargins(40, 0, 40, 0)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.desk)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(halves(self.side, self._stack, (self._look.size(280), 800)))
        self.setAcceptDrops(True)
        self.desk.choose(BOTH)

    def _connect(self) -> None:
        desk, side = self.desk, self.side
        side.list.chosen.connect(self.open)
        side.list.menu_wanted.connect(desk.header.open_menu)
        side.new_wanted.connect(self._doing.ask_new)
        side.import_wanted.connect(self._doing.ask_import)
        desk.wanted.connect(self.do)
        desk.keep.connect(self.keep)
        desk.check_wanted.connect(self.check)
        desk.compare_wanted.connect(self._compare)
        desk.compare.restore_wanted.connect(self._doing.restore)
        desk.files.wanted.connect(self._load)
        desk.files.given.connect(self._doing.take_file)
        desk.files.removed.connect(self._doing.say_removed)
        desk.used.wanted.connect(lambda session, _run: self._go_to(session, 0))
        desk.tab_changed.connect(lambda tab: self.show_uses() if tab == USED and desk.opened else None)
        desk.editor.link.connect(self._doing.open_link)
        self.own_keys = {
            "Ctrl+S": self.save,
            "Ctrl+Shift+N": self._doing.ask_new,
            "F6": self._next_part,
            **{f"Alt+{place + 1}": partial(desk.tabs.choose_at, place) for place in range(5)},
        }

    def _next_part(self) -> None:
        """From the list to the text, to what stands beside it, and back to the list."""
        parts: list[QWidget] = [self.side.list, self.desk.editor.source, self.desk.editor.preview]
        parts += [self.desk.compare, self.desk.files, self.desk.used]
        shown = [part for part in parts if part.isVisible()]
        here = next(
            (at for at, part in enumerate(shown) if part.hasFocus() or part.isAncestorOf(self.focusWidget())), -1
        )
        shown[(here + 1) % len(shown)].setFocus(Qt.FocusReason.TabFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.side.restyle(look)
        self.desk.restyle(look)
        self._doing.restyle(look)
        self._empty.setFont(look.fonts.text)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        text = self.width() - self.side.width()
        fold = text < LEAST if not self._folded else text < LEAST + self._look.size(SIDEBAR)
        if fold != self._folded:
            self._folded = fold
            self.fold_wanted.emit(fold)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        names = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if names:
            event.acceptProposedAction()
            self._doing.look_in(names[0])
