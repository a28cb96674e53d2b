"""Opens the window, deferring slow imports until after its first paint, or raises the window that is open already."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QDeadlineTimer, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.process import data_folder
from app.process.data_folder_lock import DataFolderLock, refuse_safe_mode
from app.window.qt_application import get_or_create_application, theme_name
from core.domain.problems import Problem
from ui.base.window_state import WindowState
from ui.shell.window_frame import WindowFrame
from ui.style.theme import load_theme

ATTEMPTS = 100
PAUSE_S = 0.02
PAINT_MS = 200


def open_window(folder: Path, files: Sequence[str] = (), *, safe: bool = False) -> int:
    """Open the window and show the files in it, read-only. Return the exit code when the window is closed.

    If a window is already open on this data folder, raise that window and open the files there.
    """
    lock = DataFolderLock(data_folder.lock_path(folder))
    if not lock.acquire():
        refuse_safe_mode(safe)
        code = _raise_other(folder, lock, files)
        if code is not None:
            return code
    try:
        app = get_or_create_application()
        state = WindowState(folder, fresh=safe)
        shell = WindowFrame(load_theme(theme_name(app, state)), state)
        shell.show()
        wait_for_paint(app, shell)
        # Imported after the first paint, because it imports everything that is slow.
        from app.window.desktop_app import DesktopApp

        program = DesktopApp(app, shell, state, folder, files, safe=safe)
        code = program.run()
        if program.backup:
            from app.window.backup_restore import restore_backup

            restore_backup(folder, program.backup, state)
    finally:
        lock.release()
    if program.restart_mode:
        from app.window.backup_restore import restart

        restart(program.restart_mode)
    return code


def wait_for_paint(app: QApplication, shell: WindowFrame) -> None:
    """Process events until the window is painted, for at most PAINT_MS: some display servers never request a paint."""
    deadline = QDeadlineTimer(PAINT_MS)
    timer = QTimer(interval=PAINT_MS // 10)
    timer.start()
    while not (shell.painted or deadline.hasExpired()):
        app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)


def _raise_other(folder: Path, lock: DataFolderLock, files: Sequence[str]) -> int | None:
    """Ask the process that owns the data folder to raise its window, and return its exit code.

    Wait a few seconds if it is just starting. Return None if it exits meanwhile; this process then holds the lock.
    """
    import asyncio

    from app.process.command_server import run_in_owner
    from app.process.output import terminal

    argv = ["open", *files] if files else []

    async def ask() -> int | None:
        for _ in range(ATTEMPTS):
            code = await run_in_owner(data_folder.socket_path(folder), argv, folder, terminal())
            if code is not None or lock.acquire():
                return code
            await asyncio.sleep(PAUSE_S)
        raise Problem(
            f"The data folder {folder} is in use by another Journeyman.",
            "It does not respond.",
            "Close it or end its process, then try again.",
        )

    with asyncio.Runner() as runner:
        return runner.run(ask())
