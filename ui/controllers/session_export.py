"""Exports sessions for the export dialog (preview, progress, cancel), and shows whether traces are received."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QDialog

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.dialogs.export_dialog import ExportDialog, ExportFormat
from ui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

TICK_MS = 100
MAX_SAMPLES = 60  # samples of removed secrets that the dialog lists at most


@dataclass(slots=True)
class _ExportProgress:
    """The progress of an export in bytes. The engine's thread writes it, that of the window reads it."""

    done: int = 0
    size: int = 1

    def update(self, done: int, size: int) -> None:
        self.done = done
        self.size = size


class ExportController(QObject):
    """Opens a dialog for each export, and shows in the status line whether traces are received."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._tasks = tasks
        window.setting_changed.connect(self._on_setting_changed)
        tasks.start(self._show_trace_port(), "read the trace receiver port")

    async def _show_trace_port(self) -> None:
        async def port(engine: "Engine") -> int:
            return engine.settings.current.otlp_receive_port

        self._window.status.show_traces(await self._bridge.ask(port))

    def _on_setting_changed(self, name: str, value: object) -> None:
        if name == "otlp_receive_port" and isinstance(value, int):
            self._window.status.show_traces(value)

    def export(self, session: str) -> None:
        """Show the dialog that exports a session."""
        # Imported late, because the import is slow and not needed at startup.
        from core.exchange.exporters.export_formats import exporters

        row = self._window.row(session)
        formats = [
            ExportFormat(name, exporter.title, exporter.description, exporter.suffix)
            for name, exporter in exporters().items()
        ]
        folder = self._window.state.text("export.folder") or str(Path.home())
        dialog = ExportDialog(self._window.look, row.title or session, formats, folder, self._window)
        work = _DialogTasks(self._tasks, dialog)
        work.tick(lambda: dialog.show_progress(work.progress.done, work.progress.size))
        dialog.export_requested.connect(
            lambda format_name, path, keep_secrets: work.start(
                self._export(session, dialog, work.progress, format_name, Path(path).expanduser(), keep_secrets),
                "export",
            )
        )
        dialog.canceled.connect(work.cancel)
        work.start(self._show_secrets(session, dialog), "look for secrets")
        dialog.open()

    async def _show_secrets(self, session: str, dialog: ExportDialog) -> None:
        """Show which secrets the export would remove."""
        preview = await self._bridge.ask(lambda engine: engine.exchange.preview_export(session))
        samples = [sample.context for sample in preview.samples[:MAX_SAMPLES]]
        dialog.show_secrets(self._secrets_text(preview.removed), samples)

    async def _export(
        self,
        session: str,
        dialog: ExportDialog,
        progress: _ExportProgress,
        format_name: str,
        path: Path,
        keep_secrets: bool,
    ) -> None:
        """Write the file, then show the result or the error in the dialog."""
        try:
            result = await self._bridge.ask(
                lambda engine: engine.exchange.export(
                    session, format_name, path, keep_secrets=keep_secrets, on_progress=progress.update
                )
            )
        except Problem as problem:
            dialog.show_error(str(problem))
            return
        self._window.state.set_text("export.folder", str(result.path.parent))
        removed = "" if keep_secrets or not result.removed else self._secrets_text(result.removed, is_done=True)
        dialog.show_done(str(result.path), result.size, removed)

    def _secrets_text(self, removed: Counter[str], *, is_done: bool = False) -> str:
        if not removed:
            return self.tr("No API keys or passwords found.")
        kinds = ", ".join(f"{kind} {count}" for kind, count in removed.most_common(4))
        before_export = self.tr("API keys and passwords that will be removed: {count} ({kinds}).")
        after_export = self.tr("Removed API keys and passwords: {count} ({kinds}).")
        return (after_export if is_done else before_export).format(count=f"{removed.total():,}", kinds=kinds)


class _DialogTasks(QObject):
    """The tasks of one dialog and the progress that they report. `cancel` cancels all of them."""

    def __init__(self, tasks: Tasks, dialog: QDialog) -> None:
        super().__init__(dialog)
        self.progress = _ExportProgress()
        self._tasks = tasks
        self._running: list[asyncio.Task[Any]] = []
        self._timer = QTimer(self, interval=TICK_MS)

    def tick(self, show_progress: Callable[[], None]) -> None:
        """Call `show_progress` at regular intervals until `cancel` is called."""
        self._timer.timeout.connect(show_progress)
        self._timer.start()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        async def run() -> None:
            if task := asyncio.current_task():
                self._running.append(task)
            await work

        self._tasks.start(run(), name)

    def cancel(self) -> None:
        self._timer.stop()
        for task in self._running:
            task.cancel()
