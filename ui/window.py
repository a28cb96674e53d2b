"""What is in the window: puts panels in their places, and lets facts in and wishes out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.domain.consent import ConsentAsked, ConsentGiven
from core.domain.events import RunEnded, RunStarted
from core.domain.problems import Trouble
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.engine.drafts import Draft
from core.store.reader import Reader
from core.store.told import Gone, Told
from ui.actions import states
from ui.ask.inbox import Inbox
from ui.ask.place import Asked
from ui.columns import Columns
from ui.deeds import Deeds, Parts
from ui.reading import Reading
from ui.selection import Selection
from ui.session_view import SessionView
from ui.sessions.panel import SessionsPanel
from ui.shell import Shell
from ui.start.panel import StartPanel
from ui.status_line import StatusLine
from ui.theme import Look
from ui.timeline.step_pane import StepPane
from ui.unsent import Unsent
from ui.widgets.notice import Notice
from ui.widgets.toast import Toast
from ui.widgets.words import hairline
from ui.window_state import WindowState

FOLD_BELOW: Final = 1100
ASKING: Final = (QuestionAsked, QuestionAnswered, ConsentAsked, ConsentGiven, RunEnded, RunStarted)
LOOK_BACK: Final = 40  # rows among which the latest step is found: the rest would be words and lines


class MainWindow(QWidget):
    """Knows what is shown; what should happen it says in signals, which `wishes` carries to the engine."""

    leaving = Signal()
    theme_wanted = Signal()
    scale_wanted = Signal(int)
    stop_wanted = Signal()
    pause_wanted = Signal()
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
        self._rows: dict[str, SessionRow] = {}
        self._questions: list[tuple[str, Asked]] = []
        self._chosen = False
        self._recount = False
        self.view = SessionView(look, self._reading)
        self._unsent = Unsent(self.view.composer, state, data_folder, self.tell)
        self.pane = StepPane(look, self._reading)
        home = str(data_folder)
        self.sessions = SessionsPanel(look)
        self.start = StartPanel(look, data_folder=home)
        self.status = StatusLine(look, data_folder=home)
        self.notice = Notice(look)
        self.inbox = Inbox(look, self.waiting, self)
        self.toast = Toast(look)
        self.setObjectName("window.content")
        self._lay_out()
        parts = Parts(shell, self.sessions, selection, lambda name: self.row(name))
        self.deeds = Deeds(look, self, state, parts, self._acts())
        self.actions_by_id = self.deeds.actions.by_id
        self._connect()
        shell.fill(self)
        shell.closing.connect(self._leave)
        self._columns.share_out()

    @property
    def look(self) -> Look:
        return self._look

    # Facts in

    def read_from(self, reader: Reader) -> None:
        """From now on there is a file to read."""
        self._reading.reader = reader
        rows = reader.sessions()
        self._rows = {row.id: row for row in rows}
        self.sessions.show_sessions(rows)
        self._look_for_questions()

    def show_first(self) -> None:
        """The session shown last, else the newest, else how to begin."""
        last = self._state.text("session")
        newest = max(self._rows.values(), key=lambda row: row.updated, default=None)
        name = last if last in self._rows else (newest.id if newest else "")
        if name:
            self.go_to(name)
        else:
            self._show_selected()

    def hear(self, facts: Sequence[object]) -> None:
        """A batch from the engine."""
        touched: dict[str, SessionRow] = {}
        steps: list[Step] = []
        drafts: set[str] = set()
        shown = self.selection.session
        for fact in facts:
            match fact:
                case Told():
                    touched[fact.session.id] = fact.session
                    if fact.session.id == shown:
                        steps += fact.steps
                    self.pane.live.settle(fact.session.id, fact.entry.event)
                    self._recount = self._recount or isinstance(fact.entry.event, ASKING)
                case Draft():
                    self.pane.live.hear(fact)
                    drafts.add(fact.session)
                case Gone():
                    self.drop_sessions(fact.sessions)
                case _:
                    raise TypeError(fact)
        if touched:
            self._hear_sessions(touched, steps)
        if shown in drafts:
            self._show_draft()
            self.pane.show_live()

    def tell(self, trouble: Trouble) -> None:
        self.notice.tell(trouble)

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (
            self.sessions, self.start, self.status, self.notice, self.inbox, self.view, self.pane, self.toast,
            self.deeds,
        ):  # fmt: skip
            part.restyle(look)

    def drop_sessions(self, names: Sequence[str]) -> None:
        """These are gone for good."""
        for name in names:
            self._rows.pop(name, None)
            self._unsent.drop(name)
        self.sessions.drop_sessions(names)
        if self.selection.session in names:
            self.selection.choose_session("")

    def row(self, session: str) -> SessionRow:
        """What is known of a session; an empty line of one that is not known."""
        return self._rows.get(session, SessionRow(session))

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
        state.keep_text("session", self.selection.session)
        self.view.composer.keep_draft()
        state.flush()

    def give_back(self, session: str, words: str) -> None:
        """What could not be sent stands in the composer again."""
        self._unsent.give_back(session, words, self.selection.session)

    def _hear_sessions(self, touched: dict[str, SessionRow], steps: list[Step]) -> None:
        asked_before = {asked.id for _, asked in self._questions}
        known = all(name in self._rows for name in touched)
        changed, self._recount = self._recount or not known, False
        self._rows |= touched
        for row in touched.values():
            self.sessions.update_session(row)
        if changed:
            self._look_for_questions()
        shown = touched.get(self.selection.session)
        if shown is None:
            return
        self.view.show_session(shown)
        self.view.apply(steps)
        self._show_questions()
        if any(name == shown.id and asked.id not in asked_before for name, asked in self._questions):
            self.view.focus_question()
        self._update_pane(steps)
        self._enable_commands()

    def _show_draft(self) -> None:
        text = self.pane.live.reply(self.selection.session)
        if text:
            self.view.page.draft(text)
        else:
            self.view.page.end_draft()

    def _look_for_questions(self) -> None:
        if self._reading.reader is None:
            return
        self._questions = self._reading.waiting()
        count = len(self._questions)
        self.status.show_waiting(count)
        self._shell.setWindowTitle(f"({count}) Journeyman" if count else "Journeyman")
        self.waiting_changed.emit()
        self._enable_commands()

    # What is shown

    def _show_selected(self, _name: str = "") -> None:
        row = self._rows.get(self.selection.session)
        if row is None and self._reading.reader and self.selection.session:
            row = self._reading.reader.session(self.selection.session)
        if row is None:
            self.sessions.mark("")
            self._centre.setCurrentWidget(self.start)
            self._set_pane_visible(False)
            self._enable_commands()
            return
        view = self.view
        self._unsent.show(row.id)
        view.show_session(row)
        self._show_questions()
        self._show_draft()
        self.sessions.mark(row.id)
        self._centre.setCurrentWidget(view)
        self._show_latest()
        self._set_pane_visible(self._pane_wanted)
        self._enable_commands()

    def _show_questions(self) -> None:
        mine = [asked for name, asked in self._questions if name == self.selection.session]
        self.view.show_questions(mine)

    def _show_step(self, step: Step) -> None:
        self._chosen = True
        self.pane.show_step(self.selection.session, step)

    def _show_latest(self) -> None:
        """Until the person chooses a row, the pane shows what was done last."""
        self._chosen = False
        model = self.view.page.model
        for row in range(model.count - 1, max(-1, model.count - LOOK_BACK), -1):
            step = model.step_of_row(row)
            if step and step.number:
                self.pane.show_step(self.selection.session, step)
                return
        self.pane.clear()

    def _update_pane(self, steps: list[Step]) -> None:
        if not self.pane.isVisible():
            return
        if not self._chosen and any(step.number for step in steps):
            self._show_latest()
            return
        for step in {step.row: step for step in steps}.values():
            self.pane.update_step(step)

    # Commands

    def next_question(self) -> None:
        """The next session that waits, after the one that is shown."""
        names = list(dict.fromkeys(name for name, _ in self._questions))
        if not names:
            return
        shown = self.selection.session
        place = names.index(shown) + 1 if shown in names else 0
        self.go_to(names[place % len(names)])
        self.view.focus_question(sent=True)

    def waiting(self) -> list[tuple[SessionRow, Asked]]:
        """All that waits for the person, the oldest first."""
        return [(self._rows.get(name, SessionRow(name)), asked) for name, asked in self._questions]

    def go_to_question(self, session: str) -> None:
        """What waits in a session, with the eye led to it."""
        self.go_to(session)
        self.view.focus_question(sent=True)

    def new_run(self) -> None:
        self.selection.choose_session("")

    def _acts(self) -> dict[str, Callable[[], object]]:
        return {
            "run.new": self.new_run,
            "run.demo": self.start.demo_wanted.emit,
            "run.stop": self.stop_wanted.emit,
            "run.pause": self.pause_wanted.emit,
            "run.compact": self.view.context.compact_wanted.emit,
            "run.find": self.view.page.find_words,
            "composer.attach": self.view.composer.choose_files,
            "composer.focus": self.view.focus_composer,
            "question.next": self.next_question,
            "toast.undo": self.toast.undo,
            "window.sidebar": lambda: self.sessions.setVisible(not self.sessions.isVisible()),
            "window.step": lambda: self._want_pane(not self._pane_wanted),
            "window.theme": self.theme_wanted.emit,
            "window.larger": lambda: self.scale_wanted.emit(1),
            "window.smaller": lambda: self.scale_wanted.emit(-1),
            "window.usual": lambda: self.scale_wanted.emit(0),
            "window.settings": self.settings_wanted.emit,
        }

    def _enable_commands(self) -> None:
        row = self._rows.get(self.selection.session)
        self.deeds.actions.enable(states(row, waiting=bool(self._questions), undo=self.toast.isVisible()))

    # Places

    def _lay_out(self) -> None:
        self._pane_wanted = self._state.text("pane", "yes") == "yes"
        self._centre = QStackedWidget()
        self._centre.setMinimumWidth(420)
        self._centre.addWidget(QWidget())  # until it is known what there is to show
        self._centre.addWidget(self.start)
        self._centre.addWidget(self.view)
        middle = QWidget()
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        around_notice = QVBoxLayout()
        around_notice.setContentsMargins(12, 0, 12, 0)
        around_notice.addWidget(self.notice)
        column.addLayout(around_notice)
        column.addWidget(self._centre, 1)
        column.addWidget(self.toast)
        self._columns = Columns(self._look, self._state, self.sessions, middle, self.pane)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.setSpacing(0)
        around.addWidget(self._columns, 1)
        around.addWidget(hairline())
        around.addWidget(self.status)

    def _connect(self) -> None:
        self.view.page.step_chosen.connect(self._show_step)
        self.view.page.stop.connect(self.stop_wanted)
        self.view.page.tab_chosen.connect(lambda _: self._set_pane_visible(self._pane_wanted))
        self.view.composer.commanded.connect(self.deeds.actions.trigger)
        self.view.composer.set_commands(self.deeds.actions.slash())
        self.view.composer.attached.refused.connect(lambda what, why: self.tell(Trouble(what, why)))
        self.pane.folded.connect(lambda: self._want_pane(False))
        self.pane.row_wanted.connect(self.view.show_row)
        self.pane.changes_wanted.connect(self.view.show_changes)
        self.selection.session_changed.connect(self._show_selected)
        self.sessions.chosen.connect(self.go_to)
        self.sessions.place_chosen.connect(self.go_to_place)
        self.sessions.new_run.connect(self.new_run)
        self.status.inbox_wanted.connect(self.inbox.open_at)
        self.inbox.chosen.connect(self.go_to_question)
        self.view.asking.unsent.connect(self.give_back)
        self.status.theme_wanted.connect(self.theme_wanted)
        self.status.commands_wanted.connect(self.deeds.open_commands)
        self.sessions.undo_wanted.connect(self.toast.undo)
        self.sessions.foot.settings_wanted.connect(self.settings_wanted)
        self.sessions.foot.help_wanted.connect(self.deeds.open_help)
        self.toast.turned.connect(self._enable_commands)

    def _leave(self) -> None:
        self.keep_state()
        self.leaving.emit()

    def _want_pane(self, wanted: bool) -> None:
        self._pane_wanted = wanted
        self._state.keep_text("pane", "yes" if wanted else "no")
        self._set_pane_visible(wanted)

    def _set_pane_visible(self, visible: bool) -> None:
        room = self.width() >= FOLD_BELOW
        here = self._centre.currentWidget() is self.view and not self.view.wide
        self.pane.setVisible(visible and room and here)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_pane_visible(self._pane_wanted)
