"""Between the dialog of export and the engine that does it: previews, progress, cuts; and what is received."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QDialog

from core.domain.problems import Problem
from ui.bridge import Bridge
from ui.export_dialog import ExportDialog, Format
from ui.tasks import Tasks
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine

TICK_MS = 100
AROUND = 60  # samples of what is removed


@dataclass(slots=True)
class _Far:
    """How far something is: written in the engine's thread, looked at in the window's."""

    done: int = 0
    size: int = 1

    def hear(self, done: int, size: int) -> None:
        self.done, self.size = done, size


class ExchangeDoor(QObject):
    """A dialog for each export; what is received is said at the foot."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(window)
        self._window, self._bridge, self._tasks = window, bridge, tasks
        window.setting_changed.connect(self._hear_setting)
        tasks.start(self._look_for_traces(), "traces of others")

    async def _look_for_traces(self) -> None:
        async def port(engine: "Engine") -> int:
            return engine.settings.now.receive_traces

        self._window.status.show_traces(await self._bridge.ask(port))

    def _hear_setting(self, name: str, value: object) -> None:
        if name == "receive_traces" and isinstance(value, int):
            self._window.status.show_traces(value)

    def export(self, session: str) -> None:
        """Ask how a session is to leave, and let it."""
        from core.exchange.exporters.table import exporters  # heavy for a first paint, and few export at once

        row, state = self._window.row(session), self._window.state
        formats = [Format(name, one.title, one.about, one.suffix) for name, one in exporters().items()]
        folder = state.text("export.folder") or str(Path.home())
        dialog = ExportDialog(self._window.look, row.title or session, formats, folder, self._window)
        work = _Work(self._tasks, dialog)

        async def look() -> None:
            found = await self._bridge.ask(lambda engine: engine.desk.preview(session))
            samples = [one.around for one in found.samples[:AROUND]]
            dialog.show_secrets(self._removed(found.removed), samples)

        async def write(form: str, path: str, keep: bool) -> None:
            try:
                done = await self._bridge.ask(
                    lambda engine: engine.desk.export(
                        session, form, Path(path).expanduser(), keep_secrets=keep, heard=work.far.hear
                    )
                )
            except Problem as problem:
                dialog.show_trouble(str(problem))
                return
            state.keep_text("export.folder", str(done.path.parent))
            said = self._removed(done.removed, done=True) if done.removed and not keep else ""
            dialog.show_done(str(done.path), done.size, said)  # that none were found stands there already

        work.tick(lambda: dialog.show_progress(work.far.done, work.far.size))
        dialog.wanted.connect(lambda form, path, keep: work.start(write(form, path, keep), "export"))
        dialog.cut.connect(work.cut)
        work.start(look(), "look for secrets")
        dialog.open()

    def _removed(self, removed: Counter[str], *, done: bool = False) -> str:
        if not removed:
            return self.tr("No keys or passwords were found.")
        kinds = ", ".join(f"{kind} {count}" for kind, count in removed.most_common(4))
        will = self.tr("Keys and passwords that will be removed: {count} ({kinds}).")
        was = self.tr("Keys and passwords removed: {count} ({kinds}).")
        return (was if done else will).format(count=f"{removed.total():,}", kinds=kinds)


class _Work(QObject):
    """What a dialog has going: ended with it."""

    def __init__(self, tasks: Tasks, dialog: QDialog) -> None:
        super().__init__(dialog)
        self.far = _Far()
        self._tasks = tasks
        self._going: list[asyncio.Task[Any]] = []
        self._timer = QTimer(self, interval=TICK_MS)

    def tick(self, act: Any) -> None:
        self._timer.timeout.connect(act)
        self._timer.start()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        async def do() -> None:
            if task := asyncio.current_task():
                self._going.append(task)
            await work

        self._tasks.start(do(), name)

    def cut(self) -> None:
        self._timer.stop()
        for task in self._going:
            task.cancel()
