"""The way to the first paint, with nothing heavy on it; and to the window of another that has the folder already."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QDeadlineTimer, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app import places
from app.display import application, theme_name
from app.single import Lock, refuse_safe
from core.domain.problems import Problem
from ui.shell import Shell
from ui.theme import load_theme
from ui.window_state import WindowState

ASKED_AGAIN = 100
PAUSE_S = 0.02
PAINT_MS = 200


def show(folder: Path, files: Sequence[str] = (), *, safe: bool = False) -> int:
    """Open the window and stay until it is closed; where one is open for this folder, bring it forward. In it `files`
    are opened to be read."""
    lock = Lock(places.lock(folder))
    if not lock.take():
        refuse_safe(safe)
        code = _raise_other(folder, lock, files)
        if code is not None:
            return code
    try:
        app = application()
        state = WindowState(folder, fresh=safe)
        shell = Shell(load_theme(theme_name(app, state)), state)
        shell.show()
        paint(app, shell)
        from app.program import Program  # all that is heavy comes now

        program = Program(app, shell, state, folder, files, safe=safe)
        code = program.run()
        if program.backup:
            from app.restoring import put_back

            put_back(folder, program.backup, state)
    finally:
        lock.release()
    if program.again:
        from app.restoring import start_again

        start_again(program.again)
    return code


def paint(app: QApplication, shell: Shell) -> None:
    """A display server says when there is something to paint on; it may also never do so."""
    over = QDeadlineTimer(PAINT_MS)
    wake = QTimer(interval=PAINT_MS // 10)
    wake.start()
    while not (shell.painted or over.hasExpired()):
        app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)


def _raise_other(folder: Path, lock: Lock, files: Sequence[str]) -> int | None:
    """Its exit code; None when it ended meanwhile, and the folder is ours. One that is just starting gets a moment."""
    import asyncio

    from app.output import terminal
    from app.owner import ask_owner

    words = ["open", *files] if files else []

    async def ask() -> int | None:
        for _ in range(ASKED_AGAIN):
            code = await ask_owner(places.socket(folder), words, folder, terminal())
            if code is not None or lock.take():
                return code
            await asyncio.sleep(PAUSE_S)
        raise Problem(
            f"Another Journeyman holds the data folder {folder}.",
            "It does not answer.",
            "Close it, or end its process, then try again.",
        )

    with asyncio.Runner() as runner:
        return runner.run(ask())
