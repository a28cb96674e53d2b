"""The main window: lays out the panels, applies engine updates to them and emits the user's requests."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from core.domain.sessions import SessionRow
from core.store.reader import Reader
from ui.ask.inbox import InboxMenu
from ui.base.bridge import Bridge
from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import PageContext, StartTask
from ui.base.selection import Selection
from ui.base.tasks import ErrorSource
from ui.base.window_state import WindowState
from ui.sessions.panel import SessionsPanel
from ui.sessions.sessions_footer import FooterPage
from ui.settings.page_titles import SETTINGS_PAGES
from ui.shell.board_source import board_source
from ui.shell.central_area import CentralArea
from ui.shell.close_guard import CloseGuard
from ui.shell.command_actions import window_states
from ui.shell.command_handlers import CommandContext, CommandHandlers
from ui.shell.commands import settings_command_id
from ui.shell.page_registry import PAGES
from ui.shell.page_stack import PAGES_BY_ID, PageStack
from ui.shell.session_index import SessionIndex
from ui.shell.session_pane import SessionPane
from ui.shell.session_view import SessionView
from ui.shell.split_view import SplitView
from ui.shell.status_line import StatusLine
from ui.shell.step_pane_updater import StepPaneUpdater
from ui.shell.unseen_sessions import UnseenSessions
from ui.shell.update_batch import sort_updates
from ui.shell.window_columns import CentralView, WindowColumns
from ui.shell.window_frame import WindowFrame
from ui.shell.window_title import WindowTitle
from ui.start.panel import StartPanel
from ui.style.theme import Look
from ui.timeline.step_pane import StepPane
from ui.widgets.error_bar import ErrorBar
from ui.widgets.labels import hairline
from ui.widgets.toast import Toast

STORAGE: Final = ErrorSource("storage")  # its errors are resolved as soon as an event has been stored


class MainWindow(QWidget):
    """The contents of the main window. Its signals request actions, which the controllers carry out."""

    activated = Signal()
    closed = Signal()
    theme_toggle_requested = Signal()
    scale_requested = Signal(int)
    settings_requested = Signal()
    settings_page_requested = Signal(str)
    setting_changed = Signal(str, object)
    command_ended = Signal()
    """A command of another process has ended, and may have changed settings, rules or schedules."""
    waiting_changed = Signal()
    restyled = Signal(object)  # the new Look
    restore_requested = Signal(str)
    runs_ended = Signal(list)
    """The rows of sessions whose run has ended, or has paused because of an error."""
    local_models_changed = Signal(object)  # LocalModelStates

    def __init__(
        self, shell: WindowFrame, look: Look, selection: Selection, state: WindowState, *, data_folder: Path
    ) -> None:
        super().__init__()
        self._shell = shell
        self.look = look
        self.selection = selection
        self.state = state
        self._reading = DeferredReader()
        self.session_index = SessionIndex(self._reading)
        self._title = WindowTitle(shell, self.session_index, selection)
        self._bridge: Bridge | None = None
        self._start: StartTask | None = None
        self.step_pane = StepPane(look, self._reading)
        self._folder = data_folder
        footer_pages = [FooterPage(page.id, page.title, page.icon) for page in PAGES if page.listed]
        self.sessions = SessionsPanel(look, pages=footer_pages)
        self.start = StartPanel(look, data_folder=str(data_folder))
        self.status = StatusLine(look, data_folder=str(data_folder))
        self.notice = ErrorBar(look)
        self.unseen = UnseenSessions(state)
        self.inbox = InboxMenu(look, self.session_index.pending, self.session_index.undecided, self)
        self.toast = Toast(look)
        self.pages = PageStack(self._page_context)
        self.split_view = SplitView(self._build_pane, self.session_index, selection, state)
        self.setObjectName("window.content")
        self._lay_out()
        self._step_updater = StepPaneUpdater(self.view.page, self.step_pane, self._columns)
        parts = CommandContext(shell, self.sessions, selection, self.split_view, self._columns, self.session_index.row)
        self.commands = CommandHandlers(look, self, state, parts, self._window_handlers())
        self.actions_by_id = self.commands.actions.by_id
        self._connect()
        self.close_guard = CloseGuard(look, shell, self.pages, selection, self.session_index.running)
        shell.set_content(self)
        shell.closing.connect(self.save_state)
        shell.closing.connect(self.closed)
        self._columns.apply_widths()

    @property
    def view(self) -> SessionView:
        """The view of the active session."""
        return self.split_view.active_view

    def connect_engine(self, bridge: Bridge, start: StartTask) -> None:
        """Connect the window to the engine. `start` runs the actions of pages."""
        self._bridge = bridge
        self._start = start

    # Updates that arrive from the engine

    def open_log(self, reader: Reader) -> None:
        """Read sessions from the event log, which is now open."""
        self._reading.reader = reader
        self.sessions.show_sessions(self.session_index.read())
        self.sessions.show_unseen(self.unseen.ids)

    def stop_reading(self) -> None:
        """Stop reading the event log, which is about to be closed."""
        self.split_view.stop_reading()
        self._reading.reader = None

    def show_first(self) -> None:
        """Show the session shown last, else the newest, else the start screen; do nothing if the user has navigated."""
        has_navigated = self.selection.chosen
        last_shown = self.state.text("session")
        session = last_shown if last_shown in self.session_index else self.session_index.newest()
        if session and not has_navigated:
            self.show_session(session)
        else:
            self._show_selected()
        self.split_view.restore(activate=not has_navigated)
        if has_navigated:
            return
        if (page := self.state.text("page")) in PAGES_BY_ID:
            self.selection.choose_page(page)
        self._focus_content()  # otherwise, the first button keeps the focus that the window system gave it

    def show_waiting(self) -> None:
        """Read the requests that wait for the user, and show those of the visible sessions."""
        self._refresh_requests()
        self.split_view.show_questions()
        if self._shell.focusWidget() is self.view.page.view:  # which `show_first` has focused
            self.view.focus_content()

    def apply_updates(self, updates: Sequence[object]) -> None:
        """Apply a batch of engine updates."""
        self.step_pane.live_output.apply(updates)
        batch = sort_updates(updates)
        current_session = self.selection.session
        if batch.deleted:
            self.remove_sessions(batch.deleted)
        if batch.servers:
            self.status.show_servers(batch.servers)
        if batch.local_models:
            self.status.show_local_models(batch.local_models)
            self.local_models_changed.emit(batch.local_models)
        requests_changed = self.session_index.apply_updates(batch)
        for row in batch.touched.values():
            self.sessions.update_session(row)
        if requests_changed:
            self._refresh_requests()
        new_sessions = self.session_index.take_new()
        if batch.updates:
            self.notice.resolve(STORAGE)
        for session in batch.started:
            self.notice.resolve_session(session)
        if batch.command_ended:
            self.command_ended.emit()
        if ended := self.session_index.take_ended():
            self.unseen.add(row.id for row in ended)
            self._mark_seen()
            self.runs_ended.emit(ended)
        self.pages.apply_updates(updates)
        self.split_view.apply_updates(batch, new_sessions if self._central_area.shows(self.split_view) else ())
        if batch.touched:
            self._step_updater.apply_updates(batch)
        if current_session in batch.touched:
            self._title.refresh()
            self._enable_commands()
        if any(draft.session == current_session for draft in batch.drafts):
            self.step_pane.show_live()

    def show_error(self, error: ErrorDetails, source: ErrorSource | None = None) -> None:
        self.notice.show_error(error, source)

    def restyle(self, look: Look) -> None:
        self.look = look
        panels = (self.sessions, self.start, self.split_view, self.step_pane, self.pages)
        bars = (self.status, self.notice, self.toast, self.inbox)
        for part in (*panels, *bars, self.commands, self.close_guard, self._columns):
            part.restyle(look)
        self.restyled.emit(look)

    def remove_sessions(self, names: Sequence[str]) -> None:
        """Remove deleted sessions from all panels."""
        self.session_index.remove(names)
        for name in names:
            self.notice.resolve_session(name)
        self.sessions.remove_sessions(names)
        self.split_view.remove_sessions(names)
        self.unseen.remove(names)
        if self.selection.session in names:
            self.selection.choose_session("")

    def row(self, session: str) -> SessionRow:
        return self.session_index.row(session)

    def show_session(self, session: str) -> None:
        self.selection.choose_session(session)

    def show_event(self, session: str, seq: int) -> None:
        """Show a session at an event. If the event has no row in the timeline, the row before it is shown."""
        self.show_session(session)
        if (row := self._reading.row_of(session, seq)) is not None:
            self.view.show_row(row)

    def save_state(self) -> None:
        """Store the window state and the drafts."""
        self.pages.unsaved_changes()  # pages that keep drafts store them in this call
        self._shell.save_geometry()
        self._columns.save_widths()
        self.state.set_text("page", self.selection.page)
        self.split_view.save_state()
        self.split_view.save_drafts()

    def restore_draft(self, session: str, text: str) -> None:
        """Restore a message that could not be sent to the composer of its session, or to its stored draft."""
        pane = next((pane for pane in self.split_view.panes if pane.session == session), self.split_view.active_pane)
        pane.drafts.restore(session, text, pane.session)

    def _mark_seen(self, *, navigated: bool = False) -> None:
        """Mark the sessions on screen as seen if the window is active, or if the user has just navigated there."""
        if (navigated or self._shell.isActiveWindow()) and self._central_area.shows(self.split_view):
            self.unseen.remove(pane.session for pane in self.split_view.panes)

    def _refresh_requests(self) -> None:
        if self._reading.reader is None:
            return
        self.session_index.requests.refresh()
        self.status.show_waiting(self.session_index.waiting_count())
        self._title.refresh()
        self._count_pages()
        self.waiting_changed.emit()
        self._enable_commands()

    def _show_selected(self, _name: str = "") -> None:
        page = self.selection.page
        self.sessions.footer.mark_current(page)
        self.status.show_page(bool(page))
        if page:
            self._show_page(page)
        else:
            self._columns.fold_sidebar(False)
            self._show_session()
        self._title.refresh()
        self._enable_commands()

    def _show_page(self, name: str) -> None:
        """Show a page in place of the session. The view of the session keeps its state."""
        self.sessions.mark_current("")
        self._columns.fit(CentralView())
        self._central_area.show_part(self.pages)
        self.pages.open(name, self.selection.target)

    def _show_session(self) -> None:
        session = self.selection.session
        exists = bool(session) and self.session_index.find(session) is not None
        self.sessions.mark_current(session if exists else "")
        if not exists:
            self._central_area.show_part(self.start)
            self._columns.fit(CentralView())
            return
        self.split_view.show_session(session)
        self._central_area.show_part(self.split_view, self.view.page)
        self._step_updater.follow(self.view.page)
        self._fit_columns()
        self._mark_seen(navigated=True)

    def go_to_next_request(self) -> None:
        """Go to the open request of the current session or, if that has the focus, to the next session with one."""
        current = "" if self.selection.page else self.selection.session
        current_waits = bool(current) and self.view.has_unfocused_request()
        if session := current if current_waits else self.session_index.next_waiting(current):
            self.go_to_request(session)

    def go_to_request(self, session: str) -> None:
        """Show the waiting request of a session and highlight it."""
        self._columns.uncover_center()
        self.show_session(session)
        self.view.focus_question(navigated=True)

    def _focus_area(self, offset: int) -> None:
        """Move the keyboard focus to the next (1) or previous (-1) area of the window."""
        shows_page = self._central_area.shows(self.pages)
        self._columns.focus_neighbor_area(offset, self.pages.focus_areas() if shows_page else [self._central_area])

    def show_start(self) -> None:
        self.selection.choose_session("")
        self.start.focus_content()

    def start_with(self, task: str) -> None:
        """Show the start screen with this task filled in."""
        self.show_start()
        self.start.form.fill(task)
        self.start.form.focus_task()

    def _window_handlers(self) -> dict[str, Callable[[], object]]:
        handlers: dict[str, Callable[[], object]] = {
            "run.new": self.show_start,
            "run.demo": self.start.demo_requested.emit,
            "composer.attach": self._pick_files,
            "question.next": self.go_to_next_request,
            "toast.undo": self.toast.undo,
            "window.sidebar": self._columns.toggle_sidebar,
            "area.next": partial(self._focus_area, 1),
            "area.previous": partial(self._focus_area, -1),
            **{f"page.{page.id}": partial(self.selection.choose_page, page.id) for page in PAGES},
            "window.step": self._columns.toggle_pane,
            "window.theme": self.theme_toggle_requested.emit,
            "window.close": lambda: self.close_guard.quit(),
            "window.larger": lambda: self.scale_requested.emit(1),
            "window.smaller": lambda: self.scale_requested.emit(-1),
            "window.usual": lambda: self.scale_requested.emit(0),
            "window.settings": self.settings_requested.emit,
            **{
                settings_command_id(title): partial(self.settings_page_requested.emit, title)
                for title in SETTINGS_PAGES
            },
        }
        uncovering = self._columns.uncovering
        return {name: call if name.startswith("window.") else uncovering(call) for name, call in handlers.items()}

    def _pick_files(self) -> None:
        message_form = self.start.form if self.start.isVisible() else self.view.composer
        message_form.pick_files()

    def _enable_commands(self) -> None:
        session = self.selection.session
        on_page = bool(self.selection.page)
        row = self.session_index.row(session) if session in self.session_index and not on_page else None
        obstacle = self.view.page.repeat_obstacle() if row else ""
        states = window_states(
            row,
            waiting=bool(self.session_index.next_waiting("")),
            undo=self.toast.can_undo,
            has_tab=self.split_view.active_has_tab,
            is_split=self.split_view.is_split,
            can_repeat=not obstacle,
            on_page=on_page,
        )
        self.commands.actions.enable(states, {"repeat": obstacle} if obstacle else {})

    def _lay_out(self) -> None:
        self._central_area = CentralArea(self.notice, self.toast, self.start, self.split_view, self.pages)
        self._columns = WindowColumns(self.look, self.state, self.sessions, self._central_area, self.step_pane)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._columns, 1)
        layout.addWidget(hairline())
        layout.addWidget(self.status)

    def _connect(self) -> None:
        self._connect_pane(self.split_view.active_pane)
        self.split_view.pane_created.connect(self._connect_pane)
        self.sessions.compare_requested.connect(partial(self.selection.choose_page, "compare"))
        self.split_view.changed.connect(self._follow_active_pane)
        self.sessions.tab_requested.connect(self.split_view.open_in_tab)
        self.sessions.split_view_requested.connect(self.split_view.show_in_other_pane)
        self.step_pane.row_requested.connect(lambda row: self.view.show_row(row, self.step_pane.session))
        self.step_pane.sub_agent_requested.connect(self.split_view.show_sub_agent)
        self.step_pane.changes_requested.connect(lambda path: self.view.show_changes(path))
        self.selection.session_changed.connect(self._show_selected)
        self.selection.page_changed.connect(self._show_selected)
        self.pages.leave_requested.connect(self.selection.leave_page)
        self.pages.count_changed.connect(self._count_pages)
        self.pages.sidebar_fold_requested.connect(self._columns.fold_sidebar)
        self.sessions.footer.page_requested.connect(self.selection.choose_page)
        self.sessions.chosen.connect(self.show_session)
        self.sessions.hit_chosen.connect(self.show_event)
        self.sessions.page_item_chosen.connect(self.selection.choose_page)
        self.sessions.new_session_requested.connect(self.show_start)
        self.status.inbox_requested.connect(self.inbox.open_at)
        self.inbox.session_chosen.connect(self.go_to_request)
        self.status.theme_toggle_requested.connect(self.theme_toggle_requested)
        self.status.commands_requested.connect(self.commands.open_commands)
        self.sessions.undo_requested.connect(self.toast.undo)
        self.unseen.changed.connect(self.sessions.show_unseen)
        self.sessions.footer.settings_requested.connect(self.settings_requested)
        self.status.help_requested.connect(self.commands.open_help)
        self.status.sidebar_requested.connect(self._columns.toggle_sidebar)
        self.status.back_requested.connect(self.selection.leave_page)
        self._columns.sidebar_shown.connect(self.status.show_sidebar)
        self.toast.undo_changed.connect(self._enable_commands)
        for bar in (self.notice, self.toast):
            bar.focus_released.connect(self._focus_content)

    def _focus_content(self) -> None:
        """Focus what the central area shows."""
        if self._central_area.shows(self.pages):
            self.pages.focus_page()
        elif self._central_area.shows(self.start):
            self.start.focus_content()
        else:
            self.view.focus_content()

    def _build_pane(self) -> SessionPane:
        return SessionPane(
            self.look,
            self.session_index,
            self.state,
            folder=self._folder,
            live_output=self.step_pane.live_output,
            notice=self.notice,
        )

    def _connect_pane(self, pane: SessionPane) -> None:
        """Connect the signals of a pane, which becomes the active one at any user input in it."""
        view = pane.view
        view.page.compare.connect(self.commands.compare)
        view.page.settings_requested.connect(self.settings_requested)
        view.folder_checked.connect(self._enable_commands)
        view.page.step_chosen.connect(lambda _step: self._on_step_chosen(view))
        view.page.details_requested.connect(self._columns.open_pane)
        view.page.tab_chosen.connect(lambda _name: self._fit_columns())
        view.composer.command_submitted.connect(self.commands.actions.trigger)
        view.composer.set_commands(self.commands.actions.slash_commands())
        view.composer.attached.rejected.connect(
            lambda error, cause: self.show_error(ErrorDetails(error, cause), ErrorSource("attach", view.session))
        )
        view.composer.submitted.connect(lambda _: self.notice.resolve(ErrorSource("attach", view.session)))
        view.terminal.command_requested.connect(self.commands.actions.trigger)
        view.review_requested.connect(
            lambda kind: self.selection.choose_page("memory" if kind == "memory" else "skills", "proposed")
        )
        view.asking.unsent_text.connect(self.restore_draft)

    def _on_step_chosen(self, view: SessionView) -> None:
        if view is self.view:
            self._step_updater.schedule_update()

    def _follow_active_pane(self) -> None:
        if self._central_area.shows(self.split_view):
            self._central_area.show_part(self.split_view, self.view.page)
        self._step_updater.follow(self.view.page)
        self._fit_columns()
        self._enable_commands()

    def _page_context(self) -> PageContext:
        if self._bridge is None or self._start is None:
            raise LookupError("there is no engine yet")
        return PageContext(
            look=self.look,
            reader=self._reading,
            selection=self.selection,
            state=self.state,
            bridge=self._bridge,
            start_task=self._start,
            show_error=self.show_error,
            show_toast=self.toast.show_message,
            show_event=self.show_event,
            start_with=self.start_with,
            row=self.row,
            pick_session=self.commands.pick_session,
            board=board_source(self.session_index, self.unseen, self.show_session),
        )

    def _count_pages(self) -> None:
        """Update the number of waiting items beside each page in the sidebar."""
        for page in PAGES:
            if page.badge_count and page.listed:
                self.sessions.footer.set_badge(page.id, page.badge_count(self._reading))

    def _fit_columns(self) -> None:
        shows_steps = self._central_area.shows(self.split_view) and not self.view.wide
        self._columns.fit(CentralView(shows_steps, self.split_view.is_split, self.view.session))

    # Overridden Qt methods

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._mark_seen()
            self.activated.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()
