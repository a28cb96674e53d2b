"""Connects the window with the engine thread, the tray, the crash handler and the signals of the system."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from app.process.crash import CrashHandler
from app.process.termination import SAVE_S, TerminationWatch
from app.window.backup_restore import RestartMode, take_restore_result
from app.window.crash_reporter import CrashReporter
from app.window.desktop_notifications import DesktopNotifications
from app.window.engine_thread import EngineThread
from app.window.qt_application import THEMES, set_window_icon, theme_name
from app.window.stall_log import StallLog
from core.domain.problems import ErrorDetails, Problem, StorageProblem
from core.domain.sessions import SessionRow
from core.store.reader import Reader
from ui.base.feed import Feed
from ui.base.panel_page import StartTask
from ui.base.selection import Selection
from ui.base.window_loop import WindowLoop
from ui.base.window_state import WindowState
from ui.controllers.window import WindowController
from ui.dialogs.close_dialog import QuitDialog
from ui.dialogs.sandbox_dialog import SandboxDialog
from ui.shell.main_window import STORAGE, MainWindow
from ui.shell.tray import Tray
from ui.shell.window_frame import WindowFrame
from ui.style.theme import Look, apply_theme, load_fonts, load_theme
from ui.widgets.announce import announce
from ui.widgets.keyboard_focus import KeyboardFocus

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.sandbox_status import SandboxStatus
    from core.settings.schema import CloseAction
    from core.settings.settings_file import SettingsFile
    from ui.base.bridge import Bridge

SCALES = (80, 90, 100, 110, 125, 150, 175, 200)  # text sizes, in percent of the default
NOTIFICATION_S = 2.0
QUIT_CHECK_S = 0.1
SWITCH_INTERVAL_S = 0.0005  # for sys.setswitchinterval: how long a thread may hold the GIL while others wait
SAFE_MODE_NOTICE = ErrorDetails(
    "Journeyman runs in safe mode.",
    "Hooks, schedules, MCP servers and project instructions are off, and the window has its default layout.",
    "To turn them on again, close the window and start Journeyman as usual.",
)


class DesktopApp(QObject):
    """The desktop app on one data folder, created after the window's first paint."""

    files_requested = Signal(list)  # paths of files to open, sent by another process
    error_occurred = Signal(ErrorDetails, object)  # the error, and an ErrorSource that says where it occurred, or None

    def __init__(
        self,
        app: QApplication,
        shell: WindowFrame,
        state: WindowState,
        folder: Path,
        files: Sequence[str] = (),
        *,
        safe: bool = False,
    ) -> None:
        super().__init__()
        self._app = app
        self._shell = shell
        self._state = state
        self._folder = folder
        self._safe = safe
        self._look = self._load_look(theme_name(app, state))
        apply_theme(app, self._look.theme, self._look.fonts)
        self.window = MainWindow(shell, self._look, Selection(), state, data_folder=folder)
        KeyboardFocus(app, self)
        self._feed = Feed()
        self._feed.delivered.connect(self.window.apply_updates)
        self.engine = EngineThread(folder, self._feed, self.files_requested.emit, self._report, safe=safe)
        self._crash_reporter = CrashReporter(self.window, lambda: self.engine.failed, self)
        self._crash_reporter.restart_requested.connect(self._exit_to_restart)
        self._crash_handler = CrashHandler(folder, self._crash_reporter.happened.emit, self._report)
        self._stall_log = StallLog(folder)
        self._reader: Reader | None = None
        self._tray: Tray | None = None
        self._files = list(files)
        # Collects the files until the window can open them.
        self._open_files: Callable[[Sequence[str]], None] = self._files.extend
        self.files_requested.connect(self._open_other_files, Qt.ConnectionType.QueuedConnection)
        self.error_occurred.connect(self.window.show_error, Qt.ConnectionType.QueuedConnection)
        self._save_setting: Callable[[str, Any], None] = lambda name, value: self._apply_setting(name, value)
        self.window.theme_toggle_requested.connect(self._toggle_theme)
        self.window.setting_changed.connect(self._apply_setting)
        self.window.restore_requested.connect(self._exit_to_restore)
        self._start_task: StartTask = lambda work, _name: work.close()  # drops work until the controllers exist
        self.backup = ""  # the backup to restore after the window is closed; empty for none
        self.restart_mode: RestartMode | None = None
        app.commitDataRequest.connect(self._save_window, Qt.ConnectionType.DirectConnection)
        guard = self.window.close_guard
        guard.has_tray = QSystemTrayIcon.isSystemTrayAvailable
        guard.background_requested.connect(self._continue_in_background)
        guard.stop_requested.connect(lambda: self._start_task(self._pause_and_quit(), "quit"))
        guard.remembered.connect(lambda action: self._save_setting("on_close", action))
        self.window.runs_ended.connect(self._on_runs_ended)
        app.styleHints().colorSchemeChanged.connect(lambda _: self._follow_system())
        self.window.scale_requested.connect(self._scale)
        set_window_icon(app)

    def run(self) -> int:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        with asyncio.Runner(loop_factory=lambda: WindowLoop(self._app)) as runner:
            runner.run(self.run_until_closed())
        return 0

    async def run_until_closed(self) -> None:
        """Run until the window is closed, all runs have ended and the database is closed."""
        window_closed = asyncio.Event()
        self._crash_handler.open()
        asyncio.get_running_loop().set_exception_handler(self._crash_handler.handle_loop_exception)
        self.window.closed.connect(window_closed.set)
        watch = TerminationWatch(dict.fromkeys((signal.SIGTERM, signal.SIGINT), self._shell.shut_down), self._save)
        self._stall_log.start()
        # From here on, this thread must not import anything: it would wait for the imports of the engine's thread.
        engine = self.engine
        engine.start()
        controller = WindowController(self.window, engine, self._start_demo, str(self._folder))
        self._save_setting = controller.settings.change
        self._open_files = controller.imports.import_files
        self._start_task = controller.tasks.start
        controller.tasks.start(self._begin(engine), "meet the engine")
        try:
            await window_closed.wait()
        finally:
            await controller.tasks.close()
            engine.shut_down()
            await asyncio.wrap_future(engine.ended)
            self._close()
            watch.close()

    def _save(self) -> None:
        """End the runs and close the database. Called on another thread if the window's thread is blocked."""
        self.engine.shut_down()
        wait([self.engine.ended], SAVE_S)

    def _close(self) -> None:
        self._stall_log.close()
        if self._tray:
            self._tray.close()
        self.window.stop_reading()
        self._state.flush()
        self._shell.deleteLater()
        if self._reader:
            self._reader.close()
        self._crash_handler.close()

    async def _begin(self, engine: EngineThread) -> None:
        try:
            await self._fill_window(engine)
        finally:
            if not gc.isenabled():
                gc.freeze()  # excludes today's long-lived objects: visiting them would block all threads for 100 ms
                gc.enable()

    async def _fill_window(self, engine: EngineThread) -> None:
        """Show the sessions and settings.

        The window opens the database only now: the engine may have repaired it before.
        """
        opened = await engine.opened()
        for warning in opened.warnings:
            self.window.show_error(warning)
        if self._crash_handler.previous_crash:
            self._crash_reporter.show_previous(self._crash_handler.previous_crash)
        if self._safe:
            self.window.show_error(SAFE_MODE_NOTICE)
        restore_result = take_restore_result(self._state)
        if isinstance(restore_result, str):
            self.window.toast.show_message(restore_result)
        elif restore_result:
            self.window.show_error(restore_result)
        self._reader = opened.open_reader()
        self.window.open_log(self._reader)
        for show in (self.window.show_first, self.window.show_waiting, engine.allow_imports):
            await asyncio.sleep(0)  # lets the window paint and handle input
            show()
        self._open_files(self._files)
        self._open_tray()
        settings = await engine.ask(_settings)
        for note in settings.notes:
            self.window.show_error(note)
        for setting in fields(settings.current):  # the file may have been changed while the window was closed
            self._apply_setting(setting.name, getattr(settings.current, setting.name))
        # Test the sandbox now, so that the first command does not wait for it.
        sandbox = await engine.ask(lambda engine: engine.sandbox_status())
        self.window.status.show_sandbox(sandbox.level, _sandbox_text(sandbox))
        self.window.status.sandbox_requested.connect(lambda: self._show_sandbox(sandbox))

    def _open_tray(self) -> None:
        """Create the tray icon, which is invisible on desktops without a tray."""
        window = self.window
        index = window.session_index
        self._tray = Tray(
            self._app,
            self._shell,
            self._app.windowIcon(),
            waiting=index.pending,
            badge_color=self._look.theme.waiting,
            last_reply=index.reader.last_reply,
            shown_session=lambda: "" if window.selection.page else window.selection.session,
            undecided=index.undecided,
        )
        self._tray.show_requested.connect(self._show_waiting)
        self._tray.new_session_requested.connect(window.show_start)
        self._tray.new_session_requested.connect(self._raise_window)
        self._tray.quit_requested.connect(self._quit)
        window.waiting_changed.connect(self._tray.refresh)
        notifications = DesktopNotifications(self.engine, self._start_task, self)
        self._tray.notification_requested.connect(notifications.show)
        notifications.unavailable.connect(self._tray.show_message)
        notifications.clicked.connect(self._show_waiting)
        window.activated.connect(notifications.withdraw)
        notifications.start()

    def _quit(self) -> None:
        self._raise_window()  # so that the user sees the question about unsaved changes, or what the program waits for
        self.window.close_guard.quit()

    def _continue_in_background(self) -> None:
        """Hide the window while the sessions go on. The tray icon, or starting Journeyman again, shows it."""
        self._save_window()
        self._shell.hide()

    def _save_window(self, _manager: QSessionManager | None = None) -> None:
        """Store the window state and drafts now.

        Also called by Qt when the user's desktop session may be about to end.
        """
        self.window.save_state()
        self._state.flush()

    async def _pause_and_quit(self) -> None:
        """Pause the running sessions, wait until their current steps have ended, and quit."""
        running, dialog = self.window.session_index.running, QuitDialog(self._look, self._shell)
        is_waiting = True

        def stop_waiting() -> None:
            nonlocal is_waiting
            is_waiting = False

        dialog.rejected.connect(stop_waiting)
        dialog.quit_requested.connect(self._shell.shut_down)
        dialog.open()
        try:
            for row in running():
                with suppress(Problem):  # the run has ended meanwhile
                    await self.engine.ask(partial(_pause, row.id))
            while is_waiting and (rows := running()):
                dialog.show_running(rows)
                await asyncio.sleep(QUIT_CHECK_S)
        finally:
            dialog.deleteLater()
        if is_waiting:
            self._shell.shut_down()

    def _on_runs_ended(self, rows: Sequence[SessionRow]) -> None:
        """Notify the user that runs ended. If nothing can show the hidden window again, quit after the last run."""
        if self._tray:
            self._tray.notify_ended(rows)
        if self._is_out_of_reach():
            self._start_task(self._quit_if_out_of_reach(), "quit")

    def _is_out_of_reach(self) -> bool:
        """Return whether the window is hidden, there is no tray icon to show it, and no session is running."""
        can_be_shown = self._shell.isVisible() or self.window.close_guard.has_tray()
        return not can_be_shown and not self.window.session_index.running()

    async def _quit_if_out_of_reach(self) -> None:
        await asyncio.sleep(NOTIFICATION_S)  # leave time to show the notification of the last run
        if self._is_out_of_reach():
            self._shell.shut_down()

    def _show_waiting(self, session: str) -> None:
        self._raise_window()
        if session:
            self.window.go_to_request(session)

    async def _start_demo(self, bridge: "Bridge") -> str:
        async def start(engine: "Engine") -> str:
            # Imported here, in the engine's thread, so that the window's thread does not wait.
            from app.commands.run import DEMO_TASK, DEMO_TURNS, demo_script
            from core.domain.events import RunStarted
            from core.domain.text import Text
            from core.models.catalog import SCRIPTED
            from core.workspace.sample_folder import sample_folder

            folder = sample_folder(self._folder)
            run_started = RunStarted(
                model=SCRIPTED, max_turns=DEMO_TURNS, script=Text(demo_script()), interactive=True, mode="auto"
            )
            return await engine.start(DEMO_TASK, folder, run_started)

        return await bridge.ask(start)

    def _show_sandbox(self, status: "SandboxStatus") -> None:
        titles = {
            "verified": self.tr("Commands are sandboxed"),
            "reduced": self.tr("Commands are partly sandboxed"),
            "none": self.tr("Commands are not sandboxed"),
        }
        if status.disabled:
            result = str(status.disabled)
        else:
            result = self.tr("Tested on this computer: {}.").format(status.name)
            if status.gaps and not status.install_command:
                result += " " + self.tr("Allow bubblewrap to create user namespaces, so that it prevents this too.")
        SandboxDialog(self._look, titles[status.level], result, status.gaps, status.install_command, self._shell).open()

    def _toggle_theme(self) -> None:
        name = "light" if self._look.theme.dark else "dark"
        self._change_setting("theme", name)
        announce(self.window, self.window.tr("Light theme") if name == "light" else self.window.tr("Dark theme"))

    def _scale(self, direction: int) -> None:
        """Make the text one step larger (1) or smaller (-1), or reset it (0)."""
        if direction == 0:
            self._set_scale(100)
            return
        percent = round(self._state.number("scale", 1.0) * 100)
        nearest = min(range(len(SCALES)), key=lambda index: abs(SCALES[index] - percent))
        step = min(max(nearest + direction, 0), len(SCALES) - 1)
        self._set_scale(SCALES[step])

    def _set_scale(self, percent: int) -> None:
        self._change_setting("font_scale", percent)
        announce(self.window, self.window.tr("Text size {}%").format(percent))

    def _change_setting(self, name: str, value: object) -> None:
        """Apply a setting to the window, then save it. If saving fails, the setting lasts until the window closes."""
        self._apply_setting(name, value)
        self._save_setting(name, value)

    def _apply_setting(self, name: str, value: object) -> None:
        """Apply a setting if it concerns the window: at the start and after each change.

        Theme and text size are also stored for the first paint of the next start.
        """
        if name == "on_close":
            self.window.close_guard.action = cast("CloseAction", value)
        if name == "theme":
            self._state.set_text("theme", str(value))
        elif name == "font_scale" and isinstance(value, int):
            self._state.set_text("scale", str(value / 100))
        else:
            return
        self._apply_look()

    def _theme_name(self) -> str:
        chosen = self._state.text("theme")
        if chosen in THEMES:
            return chosen
        return "dark" if self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"

    def _follow_system(self) -> None:
        if self._state.text("theme") not in THEMES:
            self._apply_look()

    def _apply_look(self) -> None:
        """Apply the theme and text size if they have changed. Restyling all widgets is slow."""
        look = self._load_look(self._theme_name())
        if look != self._look:
            self._look = look
            self._shell.setUpdatesEnabled(False)  # until the restyle, so that nothing is painted in mixed colors
            apply_theme(self._app, look.theme, look.fonts)
            QTimer.singleShot(0, self, self._restyle)  # as an event of its own, so that pending input is handled first

    def _restyle(self) -> None:
        self.window.restyle(self._look)
        self._shell.setUpdatesEnabled(True)

    def _load_look(self, theme: str) -> Look:
        return Look(load_theme(theme), load_fonts(self._state.number("scale", 1.0)))

    def _open_other_files(self, files: list[str]) -> None:
        """Raise the window and open the files of a second `journeyman` on this data folder."""
        self._raise_window()
        self._open_files(files)

    def _raise_window(self) -> None:
        self._shell.setWindowState(self._shell.windowState() & ~Qt.WindowState.WindowMinimized)
        self._shell.show()
        self._shell.raise_()
        self._shell.activateWindow()

    def _exit_to_restore(self, backup: str) -> None:
        """Exit, so that the database is closed and the caller of `run` can restore the backup."""
        self.backup = backup
        self.restart_mode = "usual"
        self._shell.shut_down()

    def _exit_to_restart(self, safe: bool) -> None:
        self.restart_mode = "safe" if safe else "usual"
        self._shell.shut_down()

    def _report(self, error: BaseException) -> None:
        """Show an error; thread-safe. Anything but a Problem is a bug and is also written to the crash log."""
        if isinstance(error, Problem):
            self.error_occurred.emit(error.details, STORAGE if isinstance(error, StorageProblem) else None)
        else:
            self._crash_handler.report(error)


async def _pause(session: str, engine: "Engine") -> None:
    await engine.pause(session)


async def _settings(engine: "Engine") -> "SettingsFile":
    return engine.settings


def _sandbox_text(status: "SandboxStatus") -> str:
    if status.disabled:
        return str(status.disabled)
    gaps = f" A command can {', '.join(status.gaps)}." if status.gaps else ""
    return f"Tested on this computer: {status.name}, {status.level}.{gaps}"
