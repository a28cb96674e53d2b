"""Imports transcripts one by one. The dialog shows the progress or, when it is closed, the status line."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QDialog

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import ErrorSource, Tasks
from ui.dialogs.session_import_dialog import FoundTranscript, SessionImportDialog
from ui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.exchange.import_result import SessionImportResult
    from core.exchange.transcript_finder import TranscriptFile

TICK_MS = 100
FAILED_FILES: Final = ErrorSource("import files")  # errors that are shown until the next import begins
TITLES_AT_ONCE = 20


@dataclass(slots=True)
class _FileProgress:
    """The progress of a file in bytes, and its first session.

    The engine's thread writes it, that of the window reads it.
    """

    name: str
    done: int = 0
    size: int = 1
    session: str = ""

    def update(self, done: int, size: int) -> None:
        self.done = done
        self.size = size

    def begin(self, session: str) -> None:
        self.session = self.session or session


@dataclass(slots=True)
class _Import:
    """An import in progress. Files that are requested before it ends are added to it."""

    task: asyncio.Task[bool] | None = None
    queue: deque[str] = field(default_factory=deque)
    progress: _FileProgress | None = None
    results: "list[SessionImportResult]" = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    session_opened: bool = False


class ImportController(QObject):
    """Imports sessions. `open` shows the import dialog; `import_files` imports files without a dialog."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._tasks = tasks
        self._dialog: SessionImportDialog | None = None
        self._import: _Import | None = None
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._show_progress)
        window.status.cancel_requested.connect(self.cancel)
        self._indexing: asyncio.Task[bool] | None = None
        self._follow_indexing()

    def open(self) -> None:
        dialog = SessionImportDialog(self._window.look, self._window)

        def closed(result: int) -> None:
            self._dialog = None
            if result == QDialog.DialogCode.Rejected:
                self.cancel()

        dialog.import_requested.connect(self.import_files)
        dialog.finished.connect(closed)
        self._dialog = dialog
        self._tasks.start(self._list_transcripts(dialog), "find transcripts")
        dialog.open()

    def import_files(self, paths: Sequence[str]) -> None:
        """Import files. If an import is in progress, they are imported after its files."""
        if not paths:
            return
        if self._import is not None:
            self._import.queue.extend(paths)
            return
        self._window.notice.resolve(FAILED_FILES)
        self._import = current = _Import(queue=deque(paths))
        current.task = self._tasks.start(self._import_queued(current), "import")
        self._timer.start()

    def cancel(self) -> None:
        """Cancel the import. What was read of a file is kept; importing the file again continues from there."""
        if self._import and self._import.task:
            self._import.task.cancel()
            self._end_import(self._import)

    async def _list_transcripts(self, dialog: SessionImportDialog) -> None:
        """List the transcripts on this computer in the dialog, and then their titles, which take longer to read."""
        transcripts = await self._bridge.ask(lambda engine: engine.exchange.find_transcripts(Path.home()))
        if self._dialog is dialog:
            dialog.show_found(
                [FoundTranscript(file.agent, str(file.path), file.size, file.modified_at) for file in transcripts]
            )
        for first in range(0, len(transcripts), TITLES_AT_ONCE):
            titles = await self._bridge.ask(partial(_read_titles, transcripts[first : first + TITLES_AT_ONCE]))
            if self._dialog is not dialog:
                return
            dialog.show_titles(first, titles)

    async def _import_queued(self, current: _Import) -> None:
        try:
            while current.queue:
                await self._import_file(current, Path(current.queue.popleft()))
        except Exception:
            self._end_import(current)
            raise
        if current.results and not current.session_opened:
            self._open_session(current, current.results[-1].session)
        self._end_import(current)

    async def _import_file(self, current: _Import, path: Path) -> None:
        progress = current.progress = _FileProgress(path.name)

        async def import_file(engine: "Engine") -> "SessionImportResult":
            return await engine.exchange.import_file(path, progress.update, progress.begin)

        try:
            current.results.append(await self._bridge.ask(import_file))
        except Problem as problem:
            current.problems.append(problem)

    def _end_import(self, ended: _Import) -> None:
        """Report which files were imported and which were not, and let the next import begin.

        An import that was canceled has ended already; its task may still fail later.
        """
        if self._import is not ended:
            return
        self._import = None
        self._timer.stop()
        self._window.status.show_work("")
        if self._dialog:
            self._dialog.show_error("\n".join(map(str, ended.problems)))
        else:
            for problem in ended.problems:
                self._window.show_error(problem.details, FAILED_FILES)
        if ended.results:
            self._window.toast.show_message(self._summary(ended.results))
        self._follow_indexing()

    def _summary(self, results: "Sequence[SessionImportResult]") -> str:
        if not any(result.added_events for result in results):
            return self.tr("Nothing new to import: this was imported before.")
        count = sum(len(result.sessions) for result in results)
        return self.tr("Imported 1 session.") if count == 1 else self.tr("Imported {} sessions.").format(count)

    def _show_progress(self) -> None:
        if self._import is None or self._import.progress is None:
            return
        progress = self._import.progress
        if progress.session and not self._import.session_opened:
            self._open_session(self._import, progress.session)
        text = self.tr("Reading {}…").format(progress.name)
        if self._dialog:
            self._dialog.show_progress(text, progress.done, progress.size)
        else:
            percent = min(99, progress.done * 100 // max(1, progress.size))
            self._window.status.show_work(f"{text} {percent}%", cancelable=True)

    def _open_session(self, current: _Import, session: str) -> None:
        """Open an imported session and close the dialog. The import continues."""
        current.session_opened = True
        if self._dialog:
            self._dialog.accept()
        self._window.show_session(session)

    def _follow_indexing(self) -> None:
        """Show the progress of the search index from now on, instead of what an earlier task still shows."""
        if self._indexing is not None:
            self._indexing.cancel()
        self._indexing = self._tasks.start(self._show_indexing(), "index imports")

    async def _show_indexing(self) -> None:
        """Show the progress of the search index, which is updated in the background after an import."""

        async def unsearched(engine: "Engine") -> int:
            return engine.exchange.search_backlog()

        total = 0
        while (remaining := await self._bridge.ask(unsearched)) and self._import is None:
            total = max(total, remaining)
            self._window.status.show_work(
                self.tr("Indexing for search… {}%").format((total - remaining) * 100 // total)
            )
            await asyncio.sleep(TICK_MS / 1000)
        if self._import is None:
            self._window.status.show_work("")


async def _read_titles(files: "Sequence[TranscriptFile]", engine: "Engine") -> list[str]:
    return await engine.exchange.transcript_titles(files)
