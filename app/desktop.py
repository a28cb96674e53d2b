"""The program with a window: first paint, then the engine, then everything else, and back in reverse."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication

from app import __version__, places
from app.crash import CrashDoor
from app.engine_thread import EngineThread
from app.heartbeat import Heartbeat
from app.single import Lock
from core.domain.problems import Problem, Trouble
from core.store.reader import Reader, Unreadable
from ui.feed import Feed
from ui.selection import Selection
from ui.theme import Look, dress, load_fonts, load_theme
from ui.window import MainWindow
from ui.window_state import WindowState

if TYPE_CHECKING:
    from ui.bridge import Bridge

SWITCH_S = 0.0005  # how long one thread may keep the others waiting


def show(folder: Path, typed: Namespace) -> int:
    """Open the window and stay until it is closed; where one is open for this folder, bring it forward."""
    lock = Lock(places.lock(folder))
    if not lock.take():
        return _raise_other(folder)
    sys.setswitchinterval(SWITCH_S)
    try:
        return Desktop(folder).live()
    finally:
        lock.release()


def _raise_other(folder: Path) -> int:
    import asyncio

    from app.output import terminal
    from app.owner import ask_owner

    with asyncio.Runner() as runner:
        code = runner.run(ask_owner(places.socket(folder), [], folder, terminal()))
    if code is None:
        raise Problem(
            f"Another Journeyman holds the data folder {folder}.",
            "It is busy with a command, and has no window.",
            "Wait until it is done, or choose another folder with --home.",
        )
    return code


class Desktop(QObject):
    """One window over one data folder."""

    wanted = Signal()
    troubled = Signal(str)

    def __init__(self, folder: Path) -> None:
        self._app = application()
        super().__init__()
        self._folder = folder
        self._state = WindowState(folder)
        self._fonts = load_fonts(float(self._state.text("scale", "1")))
        self._look = self._dressed(self._state.text("theme") or system_theme(self._app))
        self._selection = Selection()
        self._window = MainWindow(self._look, self._selection, self._state, data_folder=folder)
        self._feed = Feed()
        self._feed.told.connect(self._window.hear)
        self._door = CrashDoor(folder, self.troubled.emit)
        self._engine = EngineThread(folder, self._feed, self.wanted.emit)
        self._heartbeat = Heartbeat(folder)
        self._reader: Reader | None = None
        self.wanted.connect(self._come_forward, Qt.ConnectionType.QueuedConnection)
        self.troubled.connect(self._tell_bug, Qt.ConnectionType.QueuedConnection)
        self._window.theme_wanted.connect(self._turn_theme)

    def live(self) -> int:
        """To the end of the program."""
        self._door.open()
        self._open_reader()
        self._window.show()
        self._app.processEvents()  # the first paint, before anything heavy is loaded
        self._engine.start()
        self._heartbeat.start()
        try:
            return self._run()
        finally:
            self._heartbeat.close()
            if self._reader:
                self._reader.close()
            self._window.deleteLater()
            self._door.close()

    def _run(self) -> int:
        import asyncio

        from ui.loop import WindowLoop

        with asyncio.Runner(loop_factory=lambda: WindowLoop(self._app)) as runner:
            runner.get_loop().set_exception_handler(self._door.of_loop)
            return runner.run(self._main())

    async def _main(self) -> int:
        import asyncio

        from ui.wishes import Wishes

        leaving = asyncio.Event()
        self._window.leaving.connect(leaving.set)
        wishes = None
        try:
            for note in await asyncio.wrap_future(self._engine.ready):
                self._window.tell(note)
            if self._reader is None:
                self._open_reader()
            wishes = Wishes(self._window, self._engine, self._start_demo)
        except Problem as problem:
            self._window.tell(problem.trouble)
        await leaving.wait()
        if wishes:
            await wishes.tasks.close()
        await asyncio.to_thread(self._engine.close)
        return 0

    def _open_reader(self) -> None:
        """What is wrong with the file is said by the engine, which may mend it."""
        path = places.database(self._folder)
        if not path.exists() or not path.stat().st_size:
            return
        try:
            reader = Reader(path)
            self._window.read_from(reader)
        except Unreadable:
            return
        self._reader = reader

    async def _start_demo(self, bridge: "Bridge") -> str:
        from app.commands.run import DEMO_TASK, demo_script, sample_folder
        from core.domain.events import RunStarted, Text
        from core.models.catalogue import SCRIPTED

        began = RunStarted(SCRIPTED, 60, Text(demo_script()), attended=True)
        return await bridge.ask(lambda engine: engine.start(DEMO_TASK, sample_folder(self._folder), began))

    def _turn_theme(self) -> None:
        name = "light" if self._look.theme.dark else "dark"
        self._state.keep_text("theme", name)
        self._look = self._dressed(name)
        self._window.restyle(self._look)

    def _dressed(self, name: str) -> Look:
        theme = load_theme(name)
        dress(self._app, theme, self._fonts)
        return Look(theme, self._fonts)

    def _come_forward(self) -> None:
        self._window.setWindowState(self._window.windowState() & ~Qt.WindowState.WindowMinimized)
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()

    def _tell_bug(self, line: str) -> None:
        self._window.tell(
            Trouble("Journeyman made a mistake.", f"{line}.", f"It is written down in {self._folder / 'crash.log'}.")
        )


def application() -> QApplication:
    """The one QApplication."""
    app = QApplication.instance() or QApplication(["journeyman"])
    assert isinstance(app, QApplication)
    app.setApplicationName("journeyman")
    app.setApplicationDisplayName("Journeyman")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("journeyman")
    app.setQuitOnLastWindowClosed(False)
    return app


def system_theme(app: QApplication) -> str:
    """What the desktop asks for; light where it says nothing."""
    return "dark" if app.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"
