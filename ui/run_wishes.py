"""What the person wants of a run that is shown: pause, fork, judge, put files back; carried to the engine."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from PySide6.QtCore import QObject

from ui.bridge import Bridge
from ui.changes.dialog import PutBackDialog
from ui.session_view import SessionView
from ui.tasks import Tasks
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.rewind import Plan

Word = Literal["up", "down", ""]


class RunWishes(QObject):
    """Connected together with the other wishes of a view."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(view)
        self._window, self._view, self._bridge, self._tasks = window, view, bridge, tasks
        self.dialog: PutBackDialog | None = None
        view.page.pause.connect(self.pause)
        view.page.resume.connect(self.resume)
        view.page.fork.connect(self.fork)
        view.page.judged.connect(self.judge)
        view.changes.undo_file_wanted.connect(self.undo_file)
        view.changes.undo_part_wanted.connect(self.undo_part)
        view.changes.back_wanted.connect(self.go_back)
        view.changes.undo_back_wanted.connect(self.undo_back)
        view.context.compact_wanted.connect(self.compact)
        view.page.branch_wanted.connect(self.look_for_branch)
        if folder := window.row(self._session).folder:  # of a session that was shown before somebody listened
            self.look_for_branch(folder)
        view.decisions.revoke_wanted.connect(self.revoke)

    @property
    def _session(self) -> str:
        return self._view.session

    def pause(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.pause(session)), "pause")

    def resume(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.resume(session)), "resume")

    def look_for_branch(self, folder: str) -> None:
        """Not here: a folder may lie on a slow disk."""

        async def look() -> None:
            page = self._view.page
            page.show_branch(folder, await self._bridge.ask(lambda engine: engine.branch(folder)))

        self._tasks.start(look(), "look for the branch")

    def compact(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.compact_context(session)), "compact")

    def fork(self, seq: int) -> None:
        """A new session that begins as this one did; it is shown."""
        session = self._session

        async def fork() -> None:
            self._window.go_to(await self._bridge.ask(lambda engine: engine.history.fork(session, seq or None)))

        self._tasks.start(fork(), "fork")

    def judge(self, run: int, word: str, note: str) -> None:
        session, verdict = self._session, cast("Word", word)
        self._tasks.start(
            self._bridge.ask(lambda engine: engine.history.judge(session, verdict, run=run, note=note)), "judge"
        )

    def undo_file(self, path: str) -> None:
        """One file as it was before the agent touched it."""
        title = self._window.tr("Undo all changes of {}?").format(path)
        self._preview(title, 0, only=path)

    def go_back(self, to: int, name: str) -> None:
        """Every file as it was at a step."""
        self._preview(self._window.tr("Put the files back to how they were {}?").format(name), to)

    def undo_part(self, path: str, held: str, text: str) -> None:
        session = self._session
        self._tasks.start(
            self._bridge.ask(lambda engine: engine.history.replace(session, path, held, text.encode())), "undo a part"
        )

    def undo_back(self) -> None:
        """Take the last put-back back."""
        session = self._session

        async def look() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan_undo(session))
            self._show(self._window.tr("Undo the last put-back?"), plan, lambda forced: self._undo(session, forced))

        self._tasks.start(look(), "look before undoing")

    def revoke(self, rule: str) -> None:
        """A rule holds no more; what it allowed before stays as it was."""

        async def revoke() -> None:
            await self._bridge.ask(lambda engine: engine.revoke(rule))
            self._view.decisions.tell_revoked(rule)

        self._tasks.start(revoke(), "revoke")

    def _preview(self, title: str, to: int, *, only: str = "") -> None:
        session = self._session

        async def look() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan(session, to, only=only))
            self._show(title, plan, lambda forced: self._put_back(session, to, only, forced))

        self._tasks.start(look(), "look before putting back")

    def _show(self, title: str, plan: "Plan", agree: Callable[[tuple[str, ...]], None]) -> None:
        self.dialog = PutBackDialog(self._window.look, title, plan, self._window)
        self.dialog.agreed.connect(agree)
        self.dialog.finished.connect(self._forget)
        self.dialog.open()

    def _forget(self) -> None:
        if self.dialog:
            self.dialog.deleteLater()
            self.dialog = None

    def _put_back(self, session: str, to: int, only: str, forced: tuple[str, ...]) -> None:
        async def act() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan(session, to, forced, only=only))
            await self._bridge.ask(lambda engine: engine.history.rewind(session, plan))

        self._tasks.start(act(), "put back")

    def _undo(self, session: str, forced: tuple[str, ...]) -> None:
        async def act() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan_undo(session, forced))
            await self._bridge.ask(lambda engine: engine.history.rewind(session, plan))

        self._tasks.start(act(), "undo the put-back")
