"""Commits the changes in a session's repository, pushes them and opens a pull request, each at the user's request."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import ErrorSource, SessionTasks
from ui.dialogs.commit_dialog import CommitDialog
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView
from ui.widgets.link_dialog import LinkDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.workspace.git_repository import GitRepository, GitStatus

COMMIT = ErrorSource("commit")  # its errors are shown in the window once the dialog has been closed
Work = Callable[["GitRepository"], Any]


class GitController(QObject):
    """Opens the commit dialog of one session view. Nothing is staged, committed or sent unless the user requests it."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        self._run_programs = False
        self._dialog: CommitDialog | None = None
        view.changes.commit_requested.connect(self.open)

    def open(self) -> None:
        """Open the dialog for the repository of the session's folder."""
        row = self._window.row(self._view.session)
        folder = Path(row.folder)
        self._run_programs = False

        async def show() -> None:
            status = await self._bridge.ask(partial(_status, folder, self._run_programs))
            dialog = CommitDialog(self._window.look, partial(_propose, row.title), self._window)
            self._dialog = dialog
            dialog.finished.connect(self._forget)
            self._connect(dialog, folder)
            dialog.show_status(status)
            dialog.open()

        self._tasks.start(show(), "read the repository")

    def _connect(self, dialog: CommitDialog, folder: Path) -> None:
        """Connect the signals of the dialog. Each action shows its result, and then the new state of the repository."""

        def act(work: Work, finish: Callable[[Any], object] = lambda _: None) -> None:
            self._tasks.start(self._act(dialog, folder, work, finish), "git")

        def allow(allowed: bool) -> None:
            self._run_programs = allowed
            act(lambda _: None)

        def create_branch(name: str) -> None:
            created = self.tr("Created the branch {}").format(name)
            act(lambda git: git.create_branch(name), lambda _: dialog.show_result(created))

        def commit(message: str, shown: "GitStatus") -> None:
            committed = self.tr("Committed as {}")
            act(lambda git: git.commit(message, shown), lambda name: dialog.finish_commit(committed.format(name)))

        def push(shown: "GitStatus") -> None:
            pushed = self.tr("Pushed to {}")
            act(lambda git: git.push(shown), lambda target: dialog.show_result(pushed.format(target)))

        def open_pull_request(title: str, body: str, shown: "GitStatus") -> None:
            act(lambda git: git.open_pull_request(title, body, shown), partial(self._show_pull_request, dialog))

        dialog.programs_allowed.connect(allow)
        dialog.staged.connect(lambda paths, on: act(lambda git: git.stage(paths, on)))
        dialog.committed.connect(commit)
        dialog.branch_requested.connect(create_branch)
        dialog.push_requested.connect(push)
        dialog.pull_request_requested.connect(open_pull_request)

    async def _act(self, dialog: CommitDialog, folder: Path, work: Work, finish: Callable[[Any], object]) -> None:
        """Run `work` on the repository, then pass its result to `finish` or show the error, and show the new state."""
        dialog.set_busy(True)
        try:
            result = await self._bridge.ask(partial(_work_on, folder, self._run_programs, work))
            self._window.notice.resolve(COMMIT)
            if self._dialog is dialog:
                finish(result)
        except Problem as problem:
            self._show_problem(dialog, problem)
        try:
            status = await self._bridge.ask(partial(_status, folder, self._run_programs))
            if self._dialog is dialog:
                dialog.show_status(status)
        except Problem as problem:
            self._show_problem(dialog, problem)
        if self._dialog is dialog:
            dialog.set_busy(False)

    def _show_problem(self, dialog: CommitDialog, problem: Problem) -> None:
        """Show an error in the dialog or, if that has been closed, in the window."""
        if self._dialog is dialog:
            dialog.show_error(problem.details)
        else:
            self._window.show_error(problem.details, COMMIT)

    def _forget(self) -> None:
        self._dialog = None

    def _show_pull_request(self, dialog: CommitDialog, address: str) -> None:
        dialog.finish_pull_request(self.tr("Opened {}").format(address))
        LinkDialog(self._window.look, address, dialog).open()


async def _status(folder: Path, run_programs: bool, _engine: "Engine") -> "GitStatus":
    from core.workspace.git_repository import GitRepository

    return await asyncio.to_thread(GitRepository(folder, run_programs=run_programs).status)


async def _work_on(folder: Path, run_programs: bool, work: Work, _engine: "Engine") -> Any:
    """Call `work` with the repository of a folder in a worker thread, and return its result."""
    from core.workspace.git_repository import GitRepository

    return await asyncio.to_thread(work, GitRepository(folder, run_programs=run_programs))


def _propose(title: str, paths: list[str]) -> str:
    from core.workspace.git_repository import propose_message

    return propose_message(title, paths)
