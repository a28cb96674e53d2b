"""Imports transcripts one by one. Progress is shown in the dialog, or in the status line once it is closed."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.dialogs.session_import_dialog import FoundTranscript, SessionImportDialog
from ui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.exchange.session_importer import SessionImportResult

TICK_MS = 100


@dataclass(slots=True)
class _ImportProgress:
    """Progress of one file in bytes and its first session; written in the engine's thread, read in the window's."""

    name: str
    done: int = 0
    size: int = 1
    session: str = ""

    def hear(self, done: int, size: int) -> None:
        self.done, self.size = done, size

    def begin(self, session: str) -> None:
        self.session = self.session or session


class ImportController(QObject):
    """Imports sessions: `open` shows the import dialog, `import_files` imports files without it."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(window)
        self._window, self._bridge, self._tasks = window, bridge, tasks
        self._left: deque[str] = deque()
        self._going: asyncio.Task[None] | None = None
        self._dialog: SessionImportDialog | None = None
        self._far = _ImportProgress("")
        self._shown = ""
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._show)
        window.status.cancel_requested.connect(self.cancel)
        tasks.start(self._index(), "index imports")

    def open(self) -> None:
        dialog = SessionImportDialog(self._window.look, self._window)
        self._dialog = dialog

        async def look() -> None:
            found = await self._bridge.ask(lambda engine: engine.exchange.find_transcripts(Path.home()))
            if self._dialog is dialog:
                dialog.show_found(
                    [FoundTranscript(one.agent, str(one.path), one.size, one.modified_at) for one in found]
                )

        def closed() -> None:
            self._dialog = None

        dialog.import_requested.connect(self.import_files)
        dialog.rejected.connect(self.cancel)
        dialog.finished.connect(closed)
        self._tasks.start(look(), "find transcripts")
        dialog.open()

    def import_files(self, paths: Sequence[str]) -> None:
        """Queue files for import; the import starts unless one is already running."""
        self._left.extend(paths)
        if self._left and not self._timer.isActive():  # the task starts later; the timer marks it as running
            self._timer.start()
            self._tasks.start(self._work(), "import")

    def cancel(self) -> None:
        """Cancel the import. What was read of a file is kept, and importing the file again continues from there."""
        self._left.clear()
        if self._going:
            self._going.cancel()

    async def _work(self) -> None:
        self._going = asyncio.current_task()
        self._shown = ""
        brought: list[SessionImportResult] = []
        try:
            while self._left:
                brought += await self._one(self._left.popleft())
        finally:
            self._going = None
            self._timer.stop()
            self._window.status.show_work("")
        self._tell(brought)
        await self._index()

    async def _one(self, path: str) -> "list[SessionImportResult]":
        far = self._far = _ImportProgress(Path(path).name)

        async def bring(engine: "Engine") -> "SessionImportResult":
            return await engine.exchange.import_file(Path(path), far.hear, far.begin)

        try:
            return [await self._bridge.ask(bring)]
        except Problem as problem:
            if self._dialog:
                self._dialog.show_error(str(problem))
            else:
                self._window.show_error(problem.details)
            return []

    def _show(self) -> None:
        far = self._far
        if far.session and not self._shown:
            self._go_to(far.session)
        words = self.tr("Reading {}…").format(far.name)
        if self._dialog:
            self._dialog.show_progress(words, far.done, far.size)
        else:
            share = min(99, far.done * 100 // max(1, far.size))
            self._window.status.show_work(f"{words} {share}%", cancelable=True)

    def _go_to(self, session: str) -> None:
        self._shown = session
        if self._dialog:
            self._dialog.accept()
        self._window.show_session(session)

    def _tell(self, brought: "Sequence[SessionImportResult]") -> None:
        if not brought:
            return
        if not self._shown:
            self._go_to(brought[-1].session)
        count = sum(len(one.sessions) for one in brought)
        new = any(one.added_events for one in brought)
        words = self.tr("Imported 1 session.") if count == 1 else self.tr("Imported {} sessions.").format(count)
        self._window.toast.show_message(words if new else self.tr("Nothing new to import: this was imported before."))

    async def _index(self) -> None:
        """Show the progress of the search index, which is updated in the background after an import."""

        async def unsearched(engine: "Engine") -> int:
            return engine.exchange.search_backlog()

        most = 0
        while (left := await self._bridge.ask(unsearched)) and self._going is None:
            most = max(most, left)
            self._window.status.show_work(self.tr("Indexing for search… {}%").format((most - left) * 100 // most))
            await asyncio.sleep(TICK_MS / 1000)
        if self._going is None:
            self._window.status.show_work("")
