"""What is in the window: puts panels in their places, and lets facts in and wishes out."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.problems import Trouble
from core.domain.sessions import SessionRow
from core.store.reader import Reader
from ui.actions import states
from ui.ask.inbox import Inbox
from ui.batch import sort
from ui.bridge import Bridge
from ui.centre import Centre
from ui.chosen_step import ChosenStep
from ui.columns import Columns
from ui.deeds import Deeds, Parts
from ui.desk import Desk
from ui.known import Known
from ui.page import PageParts, Start
from ui.pages import KNOWN, Pages
from ui.panels import PANELS
from ui.reading import Reading
from ui.selection import Selection
from ui.session_view import SessionView
from ui.sessions.panel import SessionsPanel
from ui.shell import Shell
from ui.side import Side
from ui.start.panel import StartPanel
from ui.status_line import StatusLine
from ui.theme import Look
from ui.timeline.step_pane import StepPane
from ui.unsaved import Unsaved
from ui.widgets.notice import Notice
from ui.widgets.toast import Toast
from ui.widgets.words import hairline
from ui.window_state import WindowState


class MainWindow(QWidget):
    """Knows what is shown; what should happen it says in signals, which `wishes` carries to the engine."""

    leaving = Signal()
    theme_wanted = Signal()
    scale_wanted = Signal(int)
    settings_wanted = Signal()
    setting_changed = Signal(str, object)
    waiting_changed = Signal()
    restore_wanted = Signal(str)

    def __init__(
        self, shell: Shell, look: Look, selection: Selection, state: WindowState, *, data_folder: Path
    ) -> None:
        super().__init__()
        self._shell = shell
        self._look, self._state = look, state
        self.selection, self.state = selection, state
        self._reading = Reading()
        self.known = Known(self._reading)
        self._bridge: Bridge | None = None
        self._start: Start | None = None
        self.pane = StepPane(look, self._reading)
        self._folder = data_folder
        home = str(data_folder)
        self.sessions = SessionsPanel(look, pages=[(one.id, one.title, one.icon) for one in PANELS if one.listed])
        self.start = StartPanel(look, data_folder=home)
        self.status = StatusLine(look, data_folder=home)
        self.notice = Notice(look)
        self.inbox = Inbox(look, self.known.asked, self)
        self.toast = Toast(look)
        self.pages = Pages(self._page_parts)
        self.desk = Desk(self._build_side, self.known, selection, state)
        self._step = ChosenStep(self.view.page, self.pane)
        self.setObjectName("window.content")
        self._lay_out()
        parts = Parts(shell, self.sessions, selection, self.desk, self.known.row)
        self.deeds = Deeds(look, self, state, parts, self._acts())
        self.actions_by_id = self.deeds.actions.by_id
        self._connect()
        self._unsaved = Unsaved(look, shell, self.pages, selection)
        shell.fill(self)
        shell.closing.connect(self._leave)
        self._columns.share_out()

    @property
    def look(self) -> Look:
        return self._look

    @property
    def view(self) -> SessionView:
        """Of the session that is worked in."""
        return self.desk.view

    def meet(self, bridge: Bridge, start: Start) -> None:
        """From now on there is an engine to ask."""
        self._bridge, self._start = bridge, start

    # Facts in

    def read_from(self, reader: Reader) -> None:
        """From now on there is a file to read."""
        self._reading.reader = reader
        self.sessions.show_sessions(self.known.read())

    def stop_reading(self) -> None:
        """The file is about to be closed."""
        self.desk.stop_reading()
        self._reading.reader = None

    def show_first(self) -> None:
        """The session shown last, else the newest, else how to begin; but what the person chose meanwhile stays."""
        state, chosen = self._state, self.selection.chosen
        last = state.text("session")
        name = last if last in self.known else self.known.newest()
        if name and not chosen:
            self.go_to(name)
        else:
            self._show_selected()
        self.desk.restore(work=not chosen)
        if not chosen and (page := state.text("page")) in KNOWN:
            self.selection.choose_page(page)

    def show_waiting(self) -> None:
        """What waits for the person, also in the session that is shown."""
        self._look_for_questions()
        self.desk.show_questions()

    def hear(self, facts: Sequence[object]) -> None:
        """A batch from the engine."""
        self.pane.live.take(facts)
        batch, shown = sort(facts), self.selection.session
        if batch.gone:
            self.drop_sessions(batch.gone)
        if batch.servers:
            self.status.show_servers(batch.servers)
        ask_anew = self.known.take(batch)
        for row in batch.touched.values():
            self.sessions.update_session(row)
        if ask_anew:
            self._look_for_questions()
        fresh = self.known.take_fresh()
        self.pages.hear(facts)
        self.desk.hear(batch, fresh if self._centre.shows(self.desk) else ())
        if batch.touched:
            self._step.update(batch)
        if shown in batch.touched:
            self._enable_commands()
        if any(draft.session == shown for draft in batch.drafts):
            self.pane.show_live()

    def tell(self, trouble: Trouble) -> None:
        self.notice.tell(trouble)

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (
            self.sessions, self.start, self.status, self.notice, self.inbox, self.desk, self.pane,
            self.toast, self.deeds, self.pages, self._unsaved, self._columns,
        ):  # fmt: skip
            part.restyle(look)

    def drop_sessions(self, names: Sequence[str]) -> None:
        """These are gone for good."""
        self.known.drop(names)
        self.sessions.drop_sessions(names)
        self.desk.drop_sessions(names)
        if self.selection.session in names:
            self.selection.choose_session("")

    def row(self, session: str) -> SessionRow:
        return self.known.row(session)

    def go_to(self, session: str) -> None:
        """Show a session."""
        self.selection.choose_session(session)

    def go_to_place(self, session: str, seq: int) -> None:
        """Show a session at a line of its journal; at the line above it where that one has no row of its own."""
        self.go_to(session)
        if (row := self._reading.row_of(session, seq)) is not None:
            self.view.show_row(row)

    def keep_state(self) -> None:
        """Remember how the window is left."""
        state = self._state
        self._shell.keep_place()
        self._columns.keep()
        state.keep_text("page", self.selection.page)
        self.desk.keep()
        self.desk.keep_drafts()

    def give_back(self, session: str, words: str) -> None:
        """What could not be sent stands in the composer again."""
        side = next((side for side in self.desk.sides if side.name == session), self.desk.side)
        side.unsent.give_back(session, words, side.name)

    def _look_for_questions(self) -> None:
        if self._reading.reader is None:
            return
        count = self.known.waiting.look()
        self.status.show_waiting(count)
        self._shell.setWindowTitle(f"({count}) Journeyman" if count else "Journeyman")
        self._count_pages()
        self.waiting_changed.emit()
        self._enable_commands()

    # What is shown

    def _show_selected(self, _name: str = "") -> None:
        page = self.selection.page
        self.sessions.foot.mark(page)
        self._columns.fold(False)
        if page:
            self._show_page(page)
        else:
            self._show_session()
        self._enable_commands()

    def _show_page(self, name: str) -> None:
        """In the place of the session, which stays as it is behind it."""
        self.sessions.mark("")
        self._columns.fit_pane(False)
        self._centre.show_part(self.pages)
        self.pages.open(name, self.selection.about)

    def _show_session(self) -> None:
        name = self.selection.session
        found = bool(name) and self.known.find(name) is not None
        self.sessions.mark(name if found else "")
        if not found:
            self._centre.show_part(self.start)
            self._columns.fit_pane(False)
            return
        self.desk.show_session(name)
        self._centre.show_part(self.desk)
        self._step.turn_to(self.view.page)
        self._fit_pane()

    # Commands

    def next_question(self) -> None:
        """The next session that waits, after the one that is shown."""
        if name := self.known.waiting.after("" if self.selection.page else self.selection.session):
            self.go_to_question(name)

    def go_to_question(self, session: str) -> None:
        """What waits in a session, with the eye led to it."""
        self.go_to(session)
        self.view.focus_question(sent=True)

    def new_run(self) -> None:
        self.selection.choose_session("")

    def begin_with(self, words: str) -> None:
        """A run may begin with these words."""
        self.new_run()
        self.start.begin.fill(words)
        self.start.begin.focus_words()

    def _acts(self) -> dict[str, Callable[[], object]]:
        return {
            "run.new": self.new_run,
            "run.demo": self.start.demo_wanted.emit,
            "run.stop": lambda: self.view.page.stop.emit(),
            "run.pause": lambda: self.view.page.pause.emit(),
            "run.compact": lambda: self.view.context.compact_wanted.emit(),
            "run.find": lambda: self.view.page.find_words(),
            "composer.attach": lambda: self.view.composer.choose_files(),
            "composer.focus": lambda: self.view.focus_composer(),
            "question.next": self.next_question,
            "toast.undo": self.toast.undo,
            "window.sidebar": self._columns.turn_sidebar,
            **{f"page.{panel.id}": partial(self.selection.choose_page, panel.id) for panel in PANELS},
            "window.step": self._columns.turn_pane,
            "window.theme": self.theme_wanted.emit,
            "window.larger": lambda: self.scale_wanted.emit(1),
            "window.smaller": lambda: self.scale_wanted.emit(-1),
            "window.usual": lambda: self.scale_wanted.emit(0),
            "window.settings": self.settings_wanted.emit,
        }

    def _enable_commands(self) -> None:
        name = self.selection.session
        row = self.known.row(name) if name in self.known and not self.selection.page else None
        waiting, undo = bool(self.known.waiting.asked), self.toast.isVisible()
        tab, sides = self.desk.at_hand, self.desk.double
        self.deeds.actions.enable(states(row, waiting=waiting, undo=undo, tab=tab, sides=sides))

    # Places

    def _lay_out(self) -> None:
        self._centre = Centre(self.notice, self.toast, self.start, self.desk, self.pages)
        self._columns = Columns(self._look, self._state, self.sessions, self._centre, self.pane)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.setSpacing(0)
        around.addWidget(self._columns, 1)
        around.addWidget(hairline())
        around.addWidget(self.status)

    def _connect(self) -> None:
        self._connect_side(self.desk.side)
        self.desk.built.connect(self._connect_side)
        self.sessions.compared.connect(partial(self.selection.choose_page, "compare"))
        self.desk.changed.connect(self._follow_desk)
        self.sessions.placed.connect(self.desk.place)
        self.pane.folded.connect(lambda: self._columns.want_pane(False))
        self.pane.row_wanted.connect(self._show_row)
        self.pane.child_wanted.connect(self.desk.show_child)
        self.pane.changes_wanted.connect(lambda path: self.view.show_changes(path))
        self.selection.session_changed.connect(self._show_selected)
        self.selection.page_changed.connect(self._show_selected)
        self.pages.left.connect(self.selection.leave_page)
        self.pages.counted.connect(self._count_pages)
        self.pages.fold_wanted.connect(self._columns.fold)
        self.sessions.foot.page_wanted.connect(self.selection.choose_page)
        self.sessions.chosen.connect(self.go_to)
        self.sessions.place_chosen.connect(self.go_to_place)
        self.sessions.new_run.connect(self.new_run)
        self.status.inbox_wanted.connect(self.inbox.open_at)
        self.inbox.chosen.connect(self.go_to_question)
        self.status.theme_wanted.connect(self.theme_wanted)
        self.status.commands_wanted.connect(self.deeds.open_commands)
        self.sessions.undo_wanted.connect(self.toast.undo)
        self.sessions.foot.settings_wanted.connect(self.settings_wanted)
        self.status.help_wanted.connect(self.deeds.open_help)
        self.toast.turned.connect(self._enable_commands)

    def _show_row(self, row: int) -> None:
        """Of the session of the step in the pane."""
        self.view.show_row(self.view.page.model.row_in(self.pane.session, row))

    def _build_side(self) -> Side:
        return Side(
            self._look, self.known, self._state, folder=self._folder, words=self.pane.live.reply, tell=self.tell
        )

    def _connect_side(self, side: Side) -> None:
        """What is wished in a session is wished of that one: whoever acts there has turned to it."""
        view = side.view
        view.page.compare.connect(self.deeds.compare)
        view.page.step_chosen.connect(lambda _: self._step.show() if view is self.view else None)
        view.page.tab_chosen.connect(lambda _: self._fit_pane())
        view.composer.commanded.connect(self.deeds.actions.trigger)
        view.composer.set_commands(self.deeds.actions.slash())
        view.composer.attached.refused.connect(lambda what, why: self.tell(Trouble(what, why)))
        view.review_wanted.connect(self._review)
        view.asking.unsent.connect(self.give_back)

    def _follow_desk(self) -> None:
        self._step.turn_to(self.view.page)
        self._fit_pane()
        self._enable_commands()

    def _page_parts(self) -> PageParts:
        if self._bridge is None or self._start is None:
            raise LookupError("there is no engine yet")
        return PageParts(
            self._look, self._reading, self.selection, self._state, self._bridge, self._start, self.tell,
            self.toast.say, self.go_to_place, self.begin_with, self.row, self.deeds.pick_session,
        )  # fmt: skip

    def _count_pages(self) -> None:
        """What waits on each page."""
        for panel in PANELS:
            if panel.waits and panel.listed:
                self.sessions.foot.count(panel.id, panel.waits(self._reading))

    def _review(self, of: str) -> None:
        """What waits for a word, on its page."""
        about = ("proposed",) if of == "memory" else ()
        self.selection.choose_page("memory" if about else "skills", *about)

    def _leave(self) -> None:
        self.keep_state()
        self.leaving.emit()

    def _fit_pane(self) -> None:
        fits = self._centre.shows(self.desk) and not self.view.wide
        self._columns.fit_pane(fits, double=self.desk.double)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_pane()
