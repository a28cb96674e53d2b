"""Passes the user's answers to questions and permission requests to the engine."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.problems import Problem
from core.domain.question import Answer
from ui.ask.approval import Approval, OptionApproval, ScopeApproval
from ui.ask.ask_area import AskArea
from ui.ask.pending_permission import PendingPermission
from ui.base.bridge import Bridge
from ui.base.panel_page import StartTask

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class RequestActions:
    """Answers questions, and allows or denies permission requests.

    `start_task` runs a coroutine and shows its errors.
    """

    def __init__(self, bridge: Bridge, start_task: StartTask) -> None:
        self._bridge = bridge
        self._start = start_task

    def answer(self, question: str, answer: Answer) -> None:
        self._start(self._bridge.ask(lambda engine: engine.answer(question, answer, resume=True)), "answer")

    def allow(self, request_ids: tuple[str, ...], approval: Approval) -> None:
        """Allow the first request as the user chose, and each of the similar requests once.

        Requests are allowed by ID, so that only calls that the user has seen are allowed. A rule saved for the first
        request may have allowed the similar ones already, so their errors are ignored.
        """
        first, *similar = request_ids

        async def allow_all(engine: "Engine") -> None:
            match approval:
                case OptionApproval(option=option):
                    await engine.choose_option(first, option.id, resume=True)
                case ScopeApproval(scope=scope, patterns=patterns):
                    await engine.allow(first, scope, patterns, resume=not similar)
                    for request_id in similar:
                        with suppress(Problem):
                            await engine.allow(request_id, resume=request_id == similar[-1])

        self._start(self._bridge.ask(allow_all), "allow")

    def allow_changed(self, request_id: str, text: str) -> None:
        """Allow a call once, with the changes that the user has made to it."""
        self._start(self._bridge.ask(lambda engine: engine.allow_changed(request_id, text, resume=True)), "allow")

    def deny(self, request_ids: tuple[str, ...], reason: str) -> None:
        async def deny_all(engine: "Engine") -> None:
            for request_id in request_ids:
                await engine.deny(request_id, reason, resume=request_id == request_ids[-1])

        self._start(self._bridge.ask(deny_all), "deny")

    def hold_timeout(self, question: str) -> None:
        """Stop the timeout of a question, because the user has started to answer it."""
        self._start(self._bridge.ask(lambda engine: engine.start_answering(question)), "hold")

    def show_current_file(self, asking: AskArea, request: object) -> None:
        """If a request would write a whole file, load the current contents of the file and show the diff."""
        if not isinstance(request, PendingPermission) or request.request.tool != "write":
            return
        folder = request.request.cwd
        path = str(request.parsed_arguments().get("path", ""))

        async def read(_engine: "Engine") -> str:
            return await asyncio.to_thread(read_current_text, folder, path)

        async def show() -> None:
            if contents := await self._bridge.ask(read):
                asking.set_file_contents(request.id, contents)

        self._start(show(), "read the current file")


def read_current_text(folder: str, path: str) -> str:
    """Return the text of a file in the folder; "" if it cannot be read."""
    from core.workspace.broker import FileBroker  # imported late, because it is needed only in this worker thread

    try:
        with FileBroker(Path(folder)) as broker:
            return broker.read(path).decode("utf-8", "replace")
    except Problem:
        return ""
