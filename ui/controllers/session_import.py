"""Imports transcripts one by one. Progress is shown in the dialog, or in the status line once it is closed."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
    from core.exchange.transcript_finder import TranscriptFile

TICK_MS = 100
TITLES_AT_ONCE = 20


@dataclass(slots=True)
class _ImportProgress:
    """Progress of one file in bytes and its first session; written in the engine's thread, read in the window's."""

    name: str
    done: int = 0
    size: int = 1
    session: str = ""

    def update(self, done: int, size: int) -> None:
        self.done, self.size = done, size

    def begin(self, session: str) -> None:
        self.session = self.session or session


class ImportController(QObject):
    """Imports sessions: `open` shows the import dialog, `import_files` imports files without it."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._tasks = tasks
        self._queue: deque[str] = deque()
        self._import_task: asyncio.Task[None] | None = None
        self._dialog: SessionImportDialog | None = None
        self._progress = _ImportProgress("")
        self._shown = ""
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._show)
        window.status.cancel_requested.connect(self.cancel)
        tasks.start(self._index(), "index imports")

    def open(self) -> None:
        dialog = SessionImportDialog(self._window.look, self._window)
        self._dialog = dialog

        async def look() -> None:
            transcripts = await self._bridge.ask(lambda engine: engine.exchange.find_transcripts(Path.home()))
            if self._dialog is dialog:
                rows = [
                    FoundTranscript(file.agent, str(file.path), file.size, file.modified_at) for file in transcripts
                ]
                dialog.show_found(rows)
            for first in range(0, len(transcripts), TITLES_AT_ONCE):
                titles = await self._bridge.ask(partial(_read_titles, transcripts[first : first + TITLES_AT_ONCE]))
                if self._dialog is not dialog:
                    return
                dialog.show_titles(first, titles)

        def closed() -> None:
            self._dialog = None

        dialog.import_requested.connect(self.import_files)
        dialog.rejected.connect(self.cancel)
        dialog.finished.connect(closed)
        self._tasks.start(look(), "find transcripts")
        dialog.open()

    def import_files(self, paths: Sequence[str]) -> None:
        """Queue files for import; the import starts unless one is already running."""
        self._queue.extend(paths)
        if self._queue and not self._timer.isActive():  # the task starts later; the timer marks it as running
            self._timer.start()
            self._tasks.start(self._import_queued(), "import")

    def cancel(self) -> None:
        """Cancel the import. What was read of a file is kept, and importing the file again continues from there."""
        self._queue.clear()
        if self._import_task:
            self._import_task.cancel()

    async def _import_queued(self) -> None:
        self._import_task = asyncio.current_task()
        self._shown = ""
        results: list[SessionImportResult] = []
        try:
            while self._queue:
                results += await self._import_file(self._queue.popleft())
        finally:
            self._import_task = None
            self._timer.stop()
            self._window.status.show_work("")
        self._show_results(results)
        await self._index()

    async def _import_file(self, path: str) -> "list[SessionImportResult]":
        progress = self._progress = _ImportProgress(Path(path).name)

        async def import_file(engine: "Engine") -> "SessionImportResult":
            return await engine.exchange.import_file(Path(path), progress.update, progress.begin)

        try:
            return [await self._bridge.ask(import_file)]
        except Problem as problem:
            if self._dialog:
                self._dialog.show_error(str(problem))
            else:
                self._window.show_error(problem.details)
            return []

    def _show(self) -> None:
        progress = self._progress
        if progress.session and not self._shown:
            self._open_session(progress.session)
        text = self.tr("Reading {}…").format(progress.name)
        if self._dialog:
            self._dialog.show_progress(text, progress.done, progress.size)
        else:
            percent = min(99, progress.done * 100 // max(1, progress.size))
            self._window.status.show_work(f"{text} {percent}%", cancelable=True)

    def _open_session(self, session: str) -> None:
        self._shown = session
        if self._dialog:
            self._dialog.accept()
        self._window.show_session(session)

    def _show_results(self, results: "Sequence[SessionImportResult]") -> None:
        if not results:
            return
        if not self._shown:
            self._open_session(results[-1].session)
        count = sum(len(result.sessions) for result in results)
        new = any(result.added_events for result in results)
        message = self.tr("Imported 1 session.") if count == 1 else self.tr("Imported {} sessions.").format(count)
        self._window.toast.show_message(message if new else self.tr("Nothing new to import: this was imported before."))

    async def _index(self) -> None:
        """Show the progress of the search index, which is updated in the background after an import."""

        async def unsearched(engine: "Engine") -> int:
            return engine.exchange.search_backlog()

        total = 0
        while (remaining := await self._bridge.ask(unsearched)) and self._import_task is None:
            total = max(total, remaining)
            self._window.status.show_work(
                self.tr("Indexing for search… {}%").format((total - remaining) * 100 // total)
            )
            await asyncio.sleep(TICK_MS / 1000)
        if self._import_task is None:
            self._window.status.show_work("")


async def _read_titles(files: "Sequence[TranscriptFile]", engine: "Engine") -> list[str]:
    return await engine.exchange.transcript_titles(files)
