"""Runs session exports for the export dialog (preview, progress, cancel) and shows the state of the trace receiver."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
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
MAX_SAMPLES = 60  # most samples of removed secrets that the dialog lists


@dataclass(slots=True)
class _ExportProgress:
    """Progress in bytes; written in the engine's thread, read in the window's."""

    done: int = 0
    size: int = 1

    def update(self, done: int, size: int) -> None:
        self.done, self.size = done, size


class ExportController(QObject):
    """Opens one dialog per export, and shows in the status line whether traces are received."""

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
        """Show the export dialog for a session and run the export."""
        from core.exchange.exporters.export_formats import exporters  # slow to import, so not at startup

        row, state = self._window.row(session), self._window.state
        formats = [
            ExportFormat(name, exporter.title, exporter.description, exporter.suffix)
            for name, exporter in exporters().items()
        ]
        folder = state.text("export.folder") or str(Path.home())
        dialog = ExportDialog(self._window.look, row.title or session, formats, folder, self._window)
        work = _DialogTasks(self._tasks, dialog)

        async def look() -> None:
            preview = await self._bridge.ask(lambda engine: engine.exchange.preview_export(session))
            samples = [sample.context for sample in preview.samples[:MAX_SAMPLES]]
            dialog.show_secrets(self._removed(preview.removed), samples)

        async def write(format_name: str, path: str, keep: bool) -> None:
            try:
                result = await self._bridge.ask(
                    lambda engine: engine.exchange.export(
                        session,
                        format_name,
                        Path(path).expanduser(),
                        keep_secrets=keep,
                        on_progress=work.progress.update,
                    )
                )
            except Problem as problem:
                dialog.show_error(str(problem))
                return
            state.set_text("export.folder", str(result.path.parent))
            removed_text = self._removed(result.removed, done=True) if result.removed and not keep else ""
            dialog.show_done(str(result.path), result.size, removed_text)

        work.tick(lambda: dialog.show_progress(work.progress.done, work.progress.size))
        dialog.export_requested.connect(
            lambda format_name, path, keep: work.start(write(format_name, path, keep), "export")
        )
        dialog.canceled.connect(work.cancel)
        work.start(look(), "look for secrets")
        dialog.open()

    def _removed(self, removed: Counter[str], *, done: bool = False) -> str:
        if not removed:
            return self.tr("No API keys or passwords found.")
        kinds = ", ".join(f"{kind} {count}" for kind, count in removed.most_common(4))
        before_export = self.tr("API keys and passwords that will be removed: {count} ({kinds}).")
        after_export = self.tr("Removed API keys and passwords: {count} ({kinds}).")
        return (after_export if done else before_export).format(count=f"{removed.total():,}", kinds=kinds)


class _DialogTasks(QObject):
    """The tasks of one dialog; `cancel` ends them."""

    def __init__(self, tasks: Tasks, dialog: QDialog) -> None:
        super().__init__(dialog)
        self.progress = _ExportProgress()
        self._tasks = tasks
        self._running: list[asyncio.Task[Any]] = []
        self._timer = QTimer(self, interval=TICK_MS)

    def tick(self, act: Any) -> None:
        self._timer.timeout.connect(act)
        self._timer.start()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        async def do() -> None:
            if task := asyncio.current_task():
                self._running.append(task)
            await work

        self._tasks.start(do(), name)

    def cancel(self) -> None:
        self._timer.stop()
        for task in self._running:
            task.cancel()
