"""Passes actions on a run to the engine, such as pause, fork, rate and revert files."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from PySide6.QtCore import QObject

from ui.base.bridge import Bridge
from ui.base.pausing import PauseRequested
from ui.base.tasks import SessionTasks
from ui.changes.revert_dialog import RevertDialog
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView
from ui.widgets.announce import announce

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.history.rewind import RewindPlan

RatingValue = Literal["up", "down", ""]


class RunViewController(QObject):
    """Connects the panels of one session view with the engine."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        self.dialog: RevertDialog | None = None
        view.page.pause.connect(self.pause)
        view.page.resume.connect(self.resume)
        view.page.fork.connect(self.fork)
        view.page.rated.connect(self.rate)
        view.changes.revert_file_requested.connect(self.revert_file)
        view.changes.revert_hunk_requested.connect(self.revert_hunk)
        view.changes.refused.connect(window.toast.show_message)
        view.changes.review.comments_removed.connect(window.toast.show_message)
        view.changes.revert_to_requested.connect(self.revert_to)
        view.page.rewind_requested.connect(self.revert_to)
        view.changes.undo_revert_requested.connect(self.undo_revert)
        view.changes.review_requested.connect(self.mark_reviewed)
        view.context.compact_requested.connect(self.compact)
        view.context.prompt_size_chosen.connect(self.choose_prompt_size)
        view.page.branch_requested.connect(self.load_branch)
        # A session may have been shown before this controller was connected.
        if folder := window.row(self._session).folder:
            self.load_branch(folder)
        view.decisions.revoke_requested.connect(self.revoke)

    @property
    def _session(self) -> str:
        return self._view.session

    def pause(self) -> None:
        session = self._session

        async def pause() -> None:
            await self._bridge.ask(lambda engine: engine.pause(session))
            self._window.apply_updates([PauseRequested(session)])

        self._tasks.start(pause(), "pause")

    def resume(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.resume(session)), "resume")

    def load_branch(self, folder: str) -> None:
        """Show the git branch of a folder, or that the folder is missing. A slow disk does not block the engine."""

        async def load() -> None:
            missing = await self._bridge.ask(lambda _engine: asyncio.to_thread(_is_missing, folder))
            self._view.mark_folder(folder, missing=missing)
            branch = await self._bridge.ask(lambda engine: engine.branch(folder))
            self._view.show_branch(folder, branch)

        self._tasks.start(load(), "look for the branch")

    def compact(self) -> None:
        session = self._session

        async def compact() -> None:
            if not await self._bridge.ask(lambda engine: engine.compact_context(session)):
                text = self.tr("Nothing to compact yet: the context holds only the task and the latest exchanges")
                self._window.toast.show_message(text)

        self._tasks.start(compact(), "compact")

    def choose_prompt_size(self, size: str) -> None:
        """Set the prompt size for the next runs, and offer to undo the change."""
        compact_text = self.tr("The next run has a compact prompt")
        full_text = self.tr("The next run has the full prompt")

        async def choose() -> None:
            before = await self._bridge.ask(lambda engine: _set_prompt_size(engine, size))

            def undo() -> asyncio.Task[bool]:
                back = self._bridge.ask(lambda engine: _set_prompt_size(engine, before))
                return self._tasks.start(back, "restore the prompt size")

            self._window.toast.show_message(compact_text if size == "compact" else full_text, undo)

        self._tasks.start(choose(), "choose the prompt size")

    def fork(self, seq: int) -> None:
        """Fork the session at the event `seq` (0 means at its end), and show the fork."""
        session = self._session

        async def fork() -> None:
            self._window.show_session(await self._bridge.ask(lambda engine: engine.history.fork(session, seq or None)))

        self._tasks.start(fork(), "fork")

    def rate(self, run: int, value: str, note: str) -> None:
        session = self._session
        rating = cast("RatingValue", value)
        self._tasks.start(
            self._bridge.ask(lambda engine: engine.history.rate(session, rating, run=run, note=note)), "rate"
        )

    def revert_file(self, path: str) -> None:
        """Show a preview of reverting a file to its state before the agent changed it."""
        title = self._window.tr("Revert all changes to {}?").format(path)
        self._preview(title, 0, only=path)

    def revert_to(self, to: int, name: str) -> None:
        """Show a preview of reverting all files to their state at a step.

        `to` is the sequence number of an event, `name` the name of its step.
        """
        self._preview(self._window.tr("Revert the files to their state {}?").format(name), to)

    def revert_hunk(self, path: str, digest: str, text: str) -> None:
        session = self._session
        self._tasks.start(
            self._bridge.ask(lambda engine: engine.history.replace_contents(session, path, digest, text.encode())),
            "revert a hunk",
        )

    def undo_revert(self) -> None:
        """Show a preview of undoing the last revert."""
        self._preview_undo(self._session)

    def _preview_undo(self, session: str) -> asyncio.Task[bool]:
        async def preview() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan_undo(session))
            title = self._window.tr("Undo the last revert?")
            self._open_dialog(title, plan, lambda forced: self._undo(session, forced))

        return self._tasks.start(preview(), "preview an undo")

    def mark_reviewed(self, reviewed: dict[str, str] | None) -> None:
        """Trust files again that the user has reviewed: paths with the hash of the reviewed contents.

        None for all files.
        """
        folder = Path(self._window.row(self._session).folder)

        async def mark() -> None:
            marked = await self._bridge.ask(lambda engine: engine.mark_reviewed(folder, reviewed))
            self._view.changes.refresh_unreviewed()
            if not marked:
                self._window.toast.show_message(self._window.tr("The file has changed since. Look at it again."))

        self._tasks.start(mark(), "mark as reviewed")

    def revoke(self, rule: str) -> None:
        """Revoke saved rules, and offer to undo that.

        `rule` contains their IDs, separated by spaces. Calls that they have allowed are not affected.
        """

        async def revoke() -> None:
            revoked = await self._bridge.ask(partial(_revoke_rules, rule.split()))
            self._view.decisions.mark_revoked(rule)
            text = self.tr("Revoked the rule.")
            if len(revoked) > 1:
                text = self.tr("Revoked {} rules.").format(len(revoked))

            def undo() -> None:
                self._tasks.start(restore(revoked), "undo the revocation of a rule")

            self._window.toast.show_message(text, undo)

        async def restore(revoked: list[str]) -> None:
            await self._bridge.ask(partial(_restore_rules, revoked))
            self._view.decisions.mark_revoked(rule, revoked=False)

        self._tasks.start(revoke(), "revoke")

    def _preview(self, title: str, to: int, *, only: str = "") -> None:
        session = self._session

        async def preview() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan_rewind(session, to, only=only))
            self._open_dialog(title, plan, lambda forced: self._revert(session, to, only, forced))

        self._tasks.start(preview(), "preview a revert")

    def _open_dialog(self, title: str, plan: "RewindPlan", act: Callable[[tuple[str, ...]], None]) -> None:
        """Show what a plan would change.

        If the user agrees, call `act` with the files that are to be reverted although they have changed since.
        """
        self.dialog = RevertDialog(self._window.look, title, plan, self._window)
        self.dialog.confirmed.connect(act)
        self.dialog.finished.connect(self._delete_dialog)
        self.dialog.open()

    def _delete_dialog(self) -> None:
        if self.dialog:
            self.dialog.deleteLater()
            self.dialog = None

    def _revert(self, session: str, to: int, only: str, forced: tuple[str, ...]) -> None:
        async def revert() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan_rewind(session, to, forced, only=only))
            await self._bridge.ask(lambda engine: engine.history.rewind(session, plan))
            self._window.toast.show_message(self._window.tr("Files reverted"), partial(self._preview_undo, session))

        self._tasks.start(revert(), "revert files")

    def _undo(self, session: str, forced: tuple[str, ...]) -> None:
        async def undo() -> None:
            plan = await self._bridge.ask(lambda engine: engine.history.plan_undo(session, forced))
            await self._bridge.ask(lambda engine: engine.history.rewind(session, plan))
            announce(self._view, self._window.tr("Revert undone"))

        self._tasks.start(undo(), "undo a revert")


def _is_missing(folder: str) -> bool:
    return not Path(folder).is_dir()


async def _set_prompt_size(engine: "Engine", size: str) -> str:
    """Change the prompt size in the settings and return the previous one. Called on the engine's thread."""
    before = engine.settings.current.prompt_size
    engine.settings.change(prompt_size=size)
    return before


async def _revoke_rules(ids: list[str], engine: "Engine") -> list[str]:
    """Revoke those of these rules that are still in effect, or that cannot be read, and return their IDs."""
    rules = engine.rules().rules
    revoked = [name for name in ids if rules is None or any(rule.id == name for rule in rules)]
    for name in revoked:
        await engine.revoke(name)
    return revoked


async def _restore_rules(ids: list[str], engine: "Engine") -> None:
    for name in ids:
        await engine.restore_rule(name)
