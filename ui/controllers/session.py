"""Passes the user's actions in a session view to the engine."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject

from core.domain.modes import Mode
from core.domain.problems import Problem
from core.domain.sessions import ACTIVE_STATUSES
from ui.ask.request_actions import RequestActions
from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.controllers.completions import Completions, list_completions
from ui.controllers.folder_trust import confirm_folder_trust
from ui.controllers.git import GitController
from ui.controllers.model_choice import ModelController
from ui.controllers.open_files import OpenFileController
from ui.controllers.queue import QueueController
from ui.controllers.repeat_run import RepeatController
from ui.controllers.run import RunViewController
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.state.unresolved_calls import Resolution


class SessionController(QObject):
    """Connects one session view with the engine.

    An action applies to the session that is shown when it is requested.
    """

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        page = view.page
        composer = view.composer
        asking = view.asking
        page.stop.connect(self.stop)
        page.interruption_resolved.connect(self.resume_after_interrupt)
        page.retry_requested.connect(self.retry)
        composer.submitted.connect(self.send_message)
        composer.submitted_now.connect(lambda text: self.send_message(text, now=True))
        composer.files_requested.connect(self.list_files)
        composer.mode_chosen.connect(self.set_mode)
        view.changes.review.send_requested.connect(self.send_review)
        requests = RequestActions(bridge, tasks.start)
        view.answered.connect(requests.answer)
        asking.allowed.connect(requests.allow)
        asking.changed.connect(requests.allow_changed)
        asking.denied.connect(requests.deny)
        asking.denied_all.connect(self.stop)  # the run is stopped, because otherwise the model would ask again
        asking.first_interaction.connect(requests.hold_timeout)
        asking.request_shown.connect(lambda request: requests.show_current_file(asking, request))
        self.run = RunViewController(window, view, bridge, tasks)
        self.repeat = RepeatController(window, view, bridge, tasks)
        self.files = OpenFileController(window, view, bridge, tasks)
        self.git = GitController(window, view, bridge, tasks)
        self.queue = QueueController(window, view, bridge, tasks)
        self.models = ModelController(window.commands.palette, view, bridge, tasks)

    @property
    def _session(self) -> str:
        return self._view.session

    def send_message(self, text: str, *, now: bool = False) -> None:
        session = self._session
        attached = self._view.composer.attached
        attachments = attached.take()

        def restore_draft() -> None:
            self._window.restore_draft(session, text)
            attached.restore(attachments)

        async def send(engine: "Engine") -> None:
            await engine.send_message(session, text, now=now, files=attachments)

        self._tasks.start(self._send_trusted(session, send, restore_draft), "say")

    def send_review(self, text: str) -> None:
        """Send the comments on changes as one message. If that fails, they become drafts again."""
        session = self._session
        review = self._view.changes.review

        async def send(engine: "Engine") -> None:
            await engine.send_message(session, text)

        self._tasks.start(self._send_trusted(session, send, partial(review.restore_unsent, session)), "review")

    async def _send_trusted(
        self, session: str, send: "Callable[[Engine], Awaitable[object]]", restore: Callable[[], object]
    ) -> None:
        """Send a message; if that fails, or if the user cancels, call `restore`.

        A new run may read the project instructions, so the user is first asked whether to trust the folder.
        """
        row = self._window.row(session)
        starts_run = row.folder and row.status not in ACTIVE_STATUSES
        try:
            if starts_run and not await self._confirm_trust(row.folder):
                restore()
                return
            await self._bridge.ask(send)
        except Problem:
            restore()
            raise

    async def _confirm_trust(self, folder: str) -> bool:
        """Ask about a trusted folder whose project instructions have changed. Return False if the user cancels."""
        return await confirm_folder_trust(self._window, self._bridge, folder, ask_if_undecided=False)

    def list_files(self) -> None:
        """Load the completions for the composer: files, custom commands, MCP resources and prompts."""
        folder = self._window.row(self._session).folder

        async def load() -> None:
            own = await self._bridge.ask(partial(list_completions, folder))
            completion = self._view.composer.completion
            completion.set_results(own.mentions, own.commands)
            # Possibly slow, because it may start an MCP server.
            offered = await self._bridge.ask(_mcp_completions)
            if offered.mentions or offered.commands:
                completion.set_results([*offered.mentions, *own.mentions], {**own.commands, **offered.commands})

        self._tasks.start(load(), "list files")

    def stop(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.stop(session)), "stop")

    def resume_after_interrupt(self, choice: str) -> None:
        session = self._session
        resolution = cast("Resolution", choice)
        self._tasks.start(self._bridge.ask(lambda engine: engine.resume(session, resolution)), "settle")

    def retry(self) -> None:
        session = self._session
        folder = self._window.row(session).folder

        async def begin() -> None:
            if await self._confirm_trust(folder):
                await self._bridge.ask(lambda engine: engine.run_again(session))

        self._tasks.start(begin(), "try again")

    def set_mode(self, mode: Mode) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.set_mode(session, mode)), "set the mode")


async def _mcp_completions(engine: "Engine") -> Completions:
    """Return the resources of the MCP servers and, as commands, their prompts."""
    offered = await engine.mcp_servers.mentions()
    commands: dict[str, str] = {}
    for prompt in offered.prompts:
        placeholders = [f"<{name}>" for name in prompt.arguments]
        commands[prompt.mention_text] = " ".join([*placeholders, prompt.description])
    return Completions(mentions=[resource.mention_text for resource in offered.resources], commands=commands)
