"""Replays a session in a dialog. The engine replays it step by step in a temporary data folder."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from core.domain.problems import Problem
from core.domain.steps import Step
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.dialogs.replay_dialog import ReplayDialog
from ui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.history.stepped_replay import SteppedReplay


class ReplayController:
    """Opens a dialog for each replay."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        self._window = window
        self._bridge = bridge
        self._tasks = tasks

    def open(self, session: str, from_row: int = 0) -> None:
        """Open the replay of a session. It runs to row `from_row` at once, and waits there."""

        async def show() -> None:
            async def read(engine: "Engine") -> list[Step]:
                return engine.timeline_steps(engine.session(session))

            steps = await self._bridge.ask(read)
            dialog = ReplayDialog(self._window.look, self._window.row(session).title, steps, self._window)
            dialog.open()
            _DialogReplay(dialog, session, self._bridge, self._tasks).start(from_row)

        self._tasks.start(show(), "replay a session", session)


class _DialogReplay(QObject):
    """The replay in one dialog. `reported` passes its progress from the engine's thread to that of the window."""

    reported = Signal(object, object)

    def __init__(self, dialog: ReplayDialog, session: str, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(dialog)
        self._dialog = dialog
        self._session = session
        self._bridge = bridge
        self._tasks = tasks
        self._replay: SteppedReplay | None = None
        self._closed = False
        self.reported.connect(self._show)
        dialog.step_requested.connect(lambda steps: self._tell(lambda replay: replay.advance(steps)))
        dialog.row_requested.connect(lambda row: self._tell(lambda replay: replay.advance_to(row)))
        dialog.restart_requested.connect(self._restart)
        dialog.finished.connect(self._end)

    def start(self, from_row: int = 0) -> None:
        # Imported late, because the window does not need it to open.
        from core.engine.history.stepped_replay import SteppedReplay

        replay = self._replay = SteppedReplay(self._session, lambda progress: self.reported.emit(replay, progress))
        if from_row:
            replay.advance_to(from_row)
        self._tasks.start(self._run(replay), "play a session", self._session)

    async def _run(self, replay: "SteppedReplay") -> None:
        try:
            await self._bridge.ask(lambda engine: engine.history.run_replay(replay))
        except Problem as problem:
            if not self._closed:
                self._dialog.show_error(str(problem))

    def _show(self, replay: object, progress: object) -> None:
        if not self._closed and replay is self._replay:
            self._dialog.show_progress(progress)  # type: ignore[arg-type]  # a signal between threads carries objects

    def _restart(self) -> None:
        self._tell(lambda replay: replay.close())
        self.start()

    def _end(self) -> None:
        self._closed = True
        self._tell(lambda replay: replay.close())

    def _tell(self, act: "Callable[[SteppedReplay], None]") -> None:
        """Call `act` with the replay on the engine's thread."""
        replay = self._replay

        async def tell(_engine: "Engine") -> None:
            if replay:
                act(replay)

        self._tasks.start(self._bridge.ask(tell), "go on with a replay", self._session)
