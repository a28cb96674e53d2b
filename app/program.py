"""The program behind the window: the engine, the feed, what goes wrong; and all of it back in reverse."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication

from app.crash import CrashDoor
from app.display import THEMES, give_icon, theme_name
from app.engine_thread import EngineThread
from app.heartbeat import Heartbeat
from app.mishaps import Mishaps
from app.restoring import Restart, restored
from core.domain.problems import Problem, Trouble
from core.store.reader import Reader
from ui.feed import Feed
from ui.loop import WindowLoop
from ui.selection import Selection
from ui.shell import Shell
from ui.theme import Look, dress, load_fonts, load_theme
from ui.tray import Tray
from ui.window import MainWindow
from ui.window_state import WindowState
from ui.wishes import Wishes

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.walls import WallsFound
    from ui.bridge import Bridge

SCALES = (80, 90, 100, 110, 125, 150, 175, 200)  # per cent of the letters
SWITCH_S = 0.0005  # how long one thread may keep the others waiting
SAFE = Trouble(
    "This is safe mode.",
    "Hooks are off, so is what folders bring along (AGENTS.md, skills); no schedule begins; the window is as at first.",
    "Close the window and start Journeyman as usual to have them back.",
)


class Program(QObject):
    """One window over one data folder, filled now that it is on the screen."""

    wanted = Signal(list)  # files to open
    troubled = Signal(Trouble)

    def __init__(
        self, app: QApplication, shell: Shell, state: WindowState, folder: Path, files: Sequence[str] = (), *,
        safe: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._app, self._shell, self._state, self._folder, self._safe = app, shell, state, folder, safe
        self._look = self._chosen(theme_name(app, state))
        dress(app, self._look.theme, self._look.fonts)
        self.window = MainWindow(shell, self._look, Selection(), state, data_folder=folder)
        self._feed = Feed()
        self._feed.told.connect(self.window.hear)
        self.engine = EngineThread(folder, self._feed, self.wanted.emit, self._report, safe=safe)
        self._mishaps = Mishaps(self.window, lambda: self.engine.fallen, self)
        self._mishaps.restart_wanted.connect(self._leave_to_restart)
        self._door = CrashDoor(folder, self._mishaps.happened.emit)
        self._heartbeat = Heartbeat(folder)
        self._reader: Reader | None = None
        self._tray: Tray | None = None
        self._files = list(files)
        self._take: Callable[[Sequence[str]], None] = self._files.extend  # until somebody can open them
        self.wanted.connect(self._hear_other, Qt.ConnectionType.QueuedConnection)
        self.troubled.connect(self.window.tell, Qt.ConnectionType.QueuedConnection)
        self._set: Callable[[str, Any], None] = lambda name, value: self._use(name, value)
        self.window.theme_wanted.connect(self._turn_theme)
        self.window.setting_changed.connect(self._use)
        self.window.restore_wanted.connect(self._leave_for)
        self.backup = ""  # the one to put in the place of the data once this is over
        self.again: Restart | None = None
        app.styleHints().colorSchemeChanged.connect(lambda _: self._follow_system())
        self.window.scale_wanted.connect(self._scale)
        give_icon(app)

    def run(self) -> int:
        """To the end of the program."""
        sys.setswitchinterval(SWITCH_S)
        with asyncio.Runner(loop_factory=lambda: WindowLoop(self._app)) as runner:
            runner.run(self.live())
        return 0

    async def live(self) -> None:
        """Until the window is closed and the journal is safe."""
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()
        self._door.open()
        loop.set_exception_handler(self._door.of_loop)
        self.window.leaving.connect(leaving.set)
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._shell.leave)
        self._heartbeat.start()
        # What this thread imports is imported by now: it must never wait for what the other one imports.
        engine = self.engine
        engine.start()
        wishes = Wishes(self.window, engine, self._start_demo, str(self._folder))
        self._set = wishes.settings.change
        self._take = wishes.imports.take
        wishes.tasks.start(self._begin(engine), "meet the engine")
        try:
            await leaving.wait()
        finally:
            await wishes.tasks.close()
            engine.leave()
            await asyncio.wrap_future(engine.ended)
            self._close()

    def _close(self) -> None:
        self._heartbeat.close()
        if self._tray:
            self._tray.close()
        self.window.stop_reading()
        self._state.flush()
        self._shell.deleteLater()
        if self._reader:
            self._reader.close()
        self._door.close()

    async def _begin(self, engine: EngineThread) -> None:
        try:
            await self._meet(engine)
        finally:
            if not gc.isenabled():
                gc.freeze()  # what is there now stays; each search through it would hold all threads for 100 ms
                gc.enable()

    async def _meet(self, engine: EngineThread) -> None:
        """The file is read only now: the engine has looked it over, and may have mended or replaced it."""
        opened = await engine.met()
        for note in opened.notes:
            self.window.tell(note)
        if self._door.left:
            self._mishaps.show_left(self._door.left)
        if self._safe:
            self.window.tell(SAFE)
        if said := restored(self._state):
            self.window.toast.say(said) if isinstance(said, str) else self.window.tell(said)
        self._reader = Reader(opened.path, frozen=opened.frozen)
        self.window.read_from(self._reader)
        for show in (self.window.show_first, self.window.show_waiting, engine.go_on):
            await asyncio.sleep(0)  # a click may come in between, and what was shown is painted
            show()
        self._take(self._files)
        self._open_tray()
        # Proven while nothing is asked of them: the first command need not wait for it.
        found = await engine.ask(lambda engine: engine.walls())
        self.window.status.show_walls(found.level, _of_walls(found))

    def _open_tray(self) -> None:
        """What the desktop shows of us; there may be no place for it."""
        window, dot = self.window, self._look.theme.waiting
        self._tray = Tray(self._app, self._shell, self._app.windowIcon(), window.known.asked, dot)
        self._tray.wanted.connect(self._show_waiting)
        self._tray.new_run.connect(window.new_run)
        self._tray.new_run.connect(self._come_forward)
        self._tray.leaving.connect(self._shell.close)
        window.waiting_changed.connect(self._tray.count)

    def _show_waiting(self, session: str) -> None:
        self._come_forward()
        if session:
            self.window.go_to_question(session)

    async def _start_demo(self, bridge: "Bridge") -> str:
        async def start(engine: "Engine") -> str:
            # Imported in the engine's thread: the window's must not wait for what that one is importing.
            from app.commands.run import DEMO_TASK, demo_script, sample_folder
            from core.domain.events import RunStarted
            from core.domain.text import Text
            from core.models.catalogue import SCRIPTED

            folder = sample_folder(self._folder)
            began = RunStarted(SCRIPTED, 60, Text(demo_script()), attended=True, mode="trust")
            return await engine.start(DEMO_TASK, folder, began)

        return await bridge.ask(start)

    def _turn_theme(self) -> None:
        self._choose("theme", "light" if self._look.theme.dark else "dark")

    def _scale(self, direction: int) -> None:
        """One step larger or smaller; 0 is the usual size."""
        now = round(self._state.number("scale", 1.0) * 100)
        nearest = min(range(len(SCALES)), key=lambda place: abs(SCALES[place] - now))
        step = min(max(nearest + direction, 0), len(SCALES) - 1)
        self._choose("font_scale", SCALES[step] if direction else 100)

    def _choose(self, name: str, value: object) -> None:
        """Shown at once, and set: what cannot be written is told, and stays until the window is closed."""
        self._use(name, value)
        self._set(name, value)

    def _use(self, name: str, value: object) -> None:
        """What was set is seen. The state keeps a copy, for the first paint of the next start."""
        if name == "theme":
            self._state.keep_text("theme", str(value))
        elif name == "font_scale" and isinstance(value, int):
            self._state.keep_text("scale", str(value / 100))
        else:
            return
        self._wear()

    def _theme(self) -> str:
        chosen = self._state.text("theme")
        if chosen in THEMES:
            return chosen
        return "dark" if self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"

    def _follow_system(self) -> None:
        if self._state.text("theme") not in THEMES:
            self._wear()

    def _wear(self) -> None:
        """The look that is chosen, unless it is worn already: to dress all widgets takes long."""
        look = self._chosen(self._theme())
        if look != self._look:
            self._look = look
            dress(self._app, look.theme, look.fonts)
            self.window.restyle(look)

    def _chosen(self, theme: str) -> Look:
        return Look(load_theme(theme), load_fonts(self._state.number("scale", 1.0)))

    def _hear_other(self, files: list[str]) -> None:
        """Somebody wanted to open another window here."""
        self._come_forward()
        self._take(files)

    def _come_forward(self) -> None:
        self._shell.setWindowState(self._shell.windowState() & ~Qt.WindowState.WindowMinimized)
        self._shell.show()
        self._shell.raise_()
        self._shell.activateWindow()

    def _leave_for(self, backup: str) -> None:
        """End, so that nobody has the data open; whoever ran this puts the backup in its place."""
        self.backup, self.again = backup, "usual"
        self._shell.leave()

    def _leave_to_restart(self, safe: bool) -> None:
        self.again = "safe" if safe else "usual"
        self._shell.leave()

    def _report(self, error: BaseException) -> None:
        """From any thread: the world's faults are told, bugs of ours are written down as well."""
        if isinstance(error, Problem):
            self.troubled.emit(error.trouble)
        else:
            self._door.report(error)


def _of_walls(found: "WallsFound") -> str:
    if found.off:
        return str(found.off)
    can = f" A command can {', '.join(found.open)}." if found.open else ""
    return f"Proven here: {found.name}, {found.level}.{can}"
