"""Connects the signals of the window with the engine, and owns the other controllers."""

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject

from core.domain.search_query import parse_query
from core.settings.schema import MCP_SERVERS
from ui.base.bridge import Bridge
from ui.base.tasks import PAGE, SessionTasks, Tasks
from ui.controllers.local_models import LocalModelsController
from ui.controllers.new_session import NewSessionController
from ui.controllers.page_search import search_pages
from ui.controllers.replays import ReplayController
from ui.controllers.session import SessionController
from ui.controllers.session_export import ExportController
from ui.controllers.session_import import ImportController
from ui.controllers.session_list import SessionListController
from ui.controllers.settings import SettingsController
from ui.sessions.session_rows import SessionHit
from ui.shell.main_window import MainWindow
from ui.shell.session_pane import SessionPane

StartDemo = Callable[[Bridge], Awaitable[str]]


class WindowController(QObject):
    """The controller of the window.

    It is created when the event loop is running. Requests made while the engine starts are carried out when it is
    ready.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, start_demo: StartDemo, folder: str) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._start_demo = start_demo
        self.tasks = Tasks(window.show_error, window.notice.resolve, self)
        self.sessions: list[SessionController] = []
        window.connect_engine(bridge, lambda work, name: self.tasks.start(work, name, PAGE))
        # The errors of a page are about what the page shows.
        window.selection.page_changed.connect(lambda _page: window.notice.resolve_session(PAGE))
        self.settings = SettingsController(window, bridge, self.tasks, folder)
        self.exports = ExportController(window, bridge, self.tasks)
        self.imports = ImportController(window, bridge, self.tasks)
        self.replays = ReplayController(window, bridge, self.tasks)
        self.session_list = SessionListController(window, bridge, self.tasks, self.exports, self.imports, self.replays)
        self.new_session = NewSessionController(window, bridge, self.tasks)
        self.settings.agent_profiles_changed.connect(self.new_session.load_agents)
        self.settings.providers_listed.connect(self.new_session.show_overview)
        self.local_models = LocalModelsController(window, bridge, self.tasks, self.new_session, self.settings, folder)
        self.new_session.drop.files_dropped.connect(self.imports.import_files)
        window.start.import_requested.connect(self.imports.open)
        window.settings_requested.connect(lambda: self.settings.open())
        window.settings_page_requested.connect(self.settings.open)
        window.status.servers_requested.connect(lambda: self.settings.open(window.tr(MCP_SERVERS)))
        window.start.demo_requested.connect(self.start_demo)
        window.sessions.search_changed.connect(self.search)
        window.sessions.renamed.connect(self.rename)
        window.step_pane.context_tab.items_requested.connect(self.load_context)
        for pane in window.split_view.panes:
            self._add_controller(pane)
        window.split_view.pane_created.connect(self._add_controller)

    def _add_controller(self, pane: SessionPane) -> None:
        """Create the controllers for a new pane of the split view."""
        controller = SessionController(
            self._window, pane.view, self._bridge, SessionTasks(self.tasks, lambda: pane.view.session)
        )
        pane.view.page.replay_requested.connect(lambda row: self.replays.open(pane.view.session, row))
        pane.view.page.export.connect(lambda: self.exports.export(pane.view.session))
        self.sessions.append(controller)

    def start_demo(self) -> None:
        async def begin() -> None:
            self._window.show_session(await self._start_demo(self._bridge))

        self.tasks.start(begin(), "start the demo")

    def rename(self, session: str, title: str) -> None:
        self.tasks.start(self._bridge.ask(lambda engine: engine.archive.rename(session, title)), "rename")

    def search(self, text: str) -> None:
        async def search_sessions() -> None:
            hits = await self._bridge.ask(lambda engine: engine.search(text))
            query = parse_query(text)
            folder = self._window.row(self._window.selection.session).folder
            words = "" if query.filters else query.words  # filters apply only to sessions, so nothing else is searched
            items = await self._bridge.ask(lambda engine: search_pages(engine, words, folder))
            self._window.sessions.show_hits(text, [SessionHit(hit.session, hit.text, hit.seq) for hit in hits], items)

        if text:
            self.tasks.start(search_sessions(), "search")

    def load_context(self, session: str, seq: int) -> None:
        """Load the context that was sent with a model request, and show it in the step pane."""

        async def read() -> None:
            items = await self._bridge.ask(lambda engine: engine.analytics.context(session, seq))
            self._window.step_pane.context_tab.show_items(session, seq, items)

        self.tasks.start(read(), "read the context of a request")
