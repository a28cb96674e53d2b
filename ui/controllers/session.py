"""Passes the user's actions in a session view to the engine."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from PySide6.QtCore import QObject

from core.domain.modes import Mode
from core.domain.permissions import RuleScope
from core.domain.problems import Problem
from core.domain.question import Answer
from ui.ask.pending_permission import PendingPermission
from ui.ask.scope_row import EXTERNAL_OPTION
from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.controllers.completions import list_completions
from ui.controllers.folder_trust import confirm_folder_trust
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
    """Connects one session view to the engine. An action applies to the session that is shown when it is requested."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window, self._view, self._bridge, self._tasks = window, view, bridge, tasks
        page, composer, asking = view.page, view.composer, view.asking
        page.stop.connect(self.stop)
        page.interruption_resolved.connect(self.resume_after_interrupt)
        page.retry_requested.connect(self.retry)
        composer.submitted.connect(self.send_message)
        composer.submitted_now.connect(lambda text: self.send_message(text, now=True))
        composer.files_requested.connect(self.list_files)
        composer.mode_chosen.connect(self.set_mode)
        view.changes.review.send_requested.connect(self.send_review)
        view.answered.connect(self.answer)
        asking.allowed.connect(self.allow)
        asking.denied.connect(self.deny)
        asking.denied_all.connect(self.stop)  # stop the run, or the model would ask again
        asking.first_interaction.connect(self.hold_timeout)
        asking.request_shown.connect(self.show_current_file)
        self.run = RunViewController(window, view, bridge, tasks)
        self.repeat = RepeatController(window, view, bridge, tasks)
        self.files = OpenFileController(window, view, bridge, tasks)
        self.queue = QueueController(window, view, bridge, tasks)
        self.models = ModelController(view, bridge, tasks)

    @property
    def _session(self) -> str:
        return self._view.session

    def send_message(self, text: str, *, now: bool = False) -> None:
        session, attached = self._session, self._view.composer.attached
        attachments = attached.take()
        files = [(file.name, file.media_type, file.body) for file in attachments]

        def restore_draft() -> None:
            self._window.restore_draft(session, text)
            attached.restore(attachments)

        send = partial(_send, session, text, now, files)
        self._tasks.start(self._send_trusted(session, send, restore_draft), "say")

    def send_review(self, text: str) -> None:
        """Send the comments on the changes as one message; they become drafts again if that fails."""
        session, review = self._session, self._view.changes.review
        send, restore = partial(_send, session, text, False, []), partial(review.restore_unsent, session)
        self._tasks.start(self._send_trusted(session, send, restore), "review")

    async def _send_trusted(
        self, session: str, send: "Callable[[Engine], Awaitable[object]]", restore: Callable[[], object]
    ) -> None:
        """Send a message, or restore it if that fails or the user does not want to decide whether to trust the folder.

        A new run may read the project instructions, so the user first decides whether to trust the folder.
        """
        row = self._window.row(session)
        try:
            starts_run = row.folder and row.status not in {"running", "waiting"}
            if starts_run and not await confirm_folder_trust(
                self._window, self._bridge, row.folder, ask_if_undecided=False
            ):
                restore()
                return
            await self._bridge.ask(send)
        except Problem:
            restore()
            raise

    def list_files(self) -> None:
        """Load the completions of the composer: files, custom commands, MCP resources and prompts."""
        folder = self._window.row(self._session).folder

        async def load() -> None:
            files, commands = await self._bridge.ask(partial(list_completions, folder))
            completion = self._view.composer.completion
            completion.set_results(files, commands)
            resources, prompts = await self._bridge.ask(_extras)  # can be slow: it may start an MCP server
            if resources or prompts:
                completion.set_results([*resources, *files], {**commands, **prompts})

        self._tasks.start(load(), "list files")

    def stop(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.stop(session)), "stop")

    def resume_after_interrupt(self, choice: str) -> None:
        session = self._session
        resolution = cast("Resolution", choice)
        self._tasks.start(self._bridge.ask(lambda engine: engine.resume(session, resolution)), "settle")

    def retry(self) -> None:
        session, folder = self._session, self._window.row(self._session).folder

        async def begin() -> None:
            if await confirm_folder_trust(self._window, self._bridge, folder, ask_if_undecided=False):
                await self._bridge.ask(lambda engine: engine.run_again(session))

        self._tasks.start(begin(), "try again")

    def answer(self, question: str, answer: Answer) -> None:
        self._tasks.start(self._bridge.ask(lambda engine: engine.answer(question, answer, resume=True)), "answer")

    def allow(self, names: tuple[str, ...], scope: RuleScope | Literal["option"], patterns: tuple[str, ...]) -> None:
        """Allow the first request with the chosen scope, and each similar request once.

        Requests are allowed by ID, so that only calls that the user has seen are allowed. A rule saved for the first
        request may already have allowed the similar ones, so their errors are ignored.
        """
        first, *similar = names

        async def allow_all(engine: "Engine") -> None:
            if scope == EXTERNAL_OPTION:
                await engine.choose_option(first, patterns[0], resume=True)
                return
            await engine.allow(first, scope, patterns, resume=not similar)
            for name in similar:
                with suppress(Problem):
                    await engine.allow(name, resume=name == similar[-1])

        self._tasks.start(self._bridge.ask(allow_all), "allow")

    def deny(self, names: tuple[str, ...], reason: str) -> None:
        async def deny_all(engine: "Engine") -> None:
            for name in names:
                await engine.deny(name, reason, resume=name == names[-1])

        self._tasks.start(self._bridge.ask(deny_all), "deny")

    def hold_timeout(self, question: str) -> None:
        """Stop the timeout of a question, because the user has begun to answer it."""
        self._tasks.start(self._bridge.ask(lambda engine: engine.start_answering(question)), "hold")

    def set_mode(self, mode: Mode) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.set_mode(session, mode)), "set the mode")

    def show_current_file(self, request: object) -> None:
        """For a request to write a whole file, load the current contents and show the diff."""
        if not isinstance(request, PendingPermission) or request.request.tool != "write":
            return
        folder, path = request.request.cwd, str(request.parsed_arguments().get("path", ""))

        async def read(_engine: "Engine") -> str:
            return await asyncio.to_thread(read_current_text, folder, path)

        async def show() -> None:
            if before := await self._bridge.ask(read):
                self._view.asking.set_file_contents(request.id, before)

        self._tasks.start(show(), "read the current file")


async def _send(session: str, text: str, now: bool, files: list[tuple[str, str, bytes]], engine: "Engine") -> None:
    await engine.send_message(session, text, now=now, files=files)


def read_current_text(folder: str, path: str) -> str:
    """Return the text of a file in the folder, or an empty string if it cannot be read."""
    from core.workspace.broker import FileBroker  # imported lazily, in a worker thread

    try:
        with FileBroker(Path(folder)) as broker:
            return broker.read(path).decode("utf-8", "replace")
    except Problem:
        return ""


async def _extras(engine: "Engine") -> tuple[list[str], dict[str, str]]:
    """Return the resources (for `@`) and prompts (for `/`) of the MCP servers."""
    mentions = await engine.mcp_servers.mentions()
    prompts = {
        mention.mention_text: " ".join((*(f"<{name}>" for name in mention.arguments), mention.description))
        for mention in mentions.prompts
    }
    return [mention.mention_text for mention in mentions.resources], prompts
