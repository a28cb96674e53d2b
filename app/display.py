"""The one QApplication, or in words why there can be none."""

import os
import sys
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from app.commands.exits import FAILED
from app.output import terminal
from core import __version__
from core.domain.problems import Trouble
from ui.window_state import WindowState

ICON = Path(__file__).resolve().parent.parent / "resources" / "journeyman.svg"

THEMES = ("light", "dark", "contrast")


def application() -> QApplication:
    """The one there is, or a new one. Ends the process in words where no window can be opened."""
    app = QApplication.instance() or _new()
    assert isinstance(app, QApplication)
    app.setApplicationName("journeyman")
    app.setApplicationDisplayName("Journeyman")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("journeyman")
    app.setQuitOnLastWindowClosed(False)
    return app


def theme_name(app: QApplication, state: WindowState) -> str:
    """What the person chose, else what the desktop asks for; light where it says nothing."""
    chosen = state.text("theme")
    if chosen in THEMES:
        return chosen
    # Qt.ColorScheme would say it too, and take 60 ms: the first mention of `Qt` makes all of its enumerations.
    return "dark" if app.palette().window().color().lightness() < 128 else "light"


def give_icon(app: QApplication) -> None:
    """For the task bar; drawn when the window is up already."""
    app.setWindowIcon(QIcon(str(ICON)))


def _new() -> QApplication:
    """Qt aborts the process when it finds no display: what it says before that is ours to tell."""
    said: list[str] = []

    def hear(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        if kind == QtMsgType.QtFatalMsg:
            terminal().trouble(no_window(said))
            os._exit(FAILED)
        said.append(text)

    qInstallMessageHandler(hear)
    try:
        return QApplication(["journeyman"])
    finally:
        qInstallMessageHandler(None)
        for line in said:
            sys.stderr.write(f"{line}\n")


def no_window(said: list[str]) -> Trouble:
    """From what Qt complained of before it gave up."""
    why = " ".join(line for line in said if line.strip()) or "Qt gave no reason."
    unset = not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and unset:
        why = "Neither DISPLAY nor WAYLAND_DISPLAY is set, so there is no screen to show it on."
    return Trouble(
        "The window cannot be opened.",
        why,
        "Start it from a desktop, or work without a window: `journeyman --help` lists the commands.",
    )
