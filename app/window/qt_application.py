"""Creates the QApplication with its theme and icon, or exits with an explanation if there is no display."""

import os
import sys
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from app.process.exit_codes import FAILED
from app.process.output import terminal
from core import __version__
from core.domain.problems import ErrorDetails
from ui.base.window_state import WindowState
from ui.widgets.accessible_roles import install_accessible_roles

ICON = Path(__file__).resolve().parents[2] / "resources" / "journeyman.svg"

THEMES = ("light", "dark", "contrast")


def get_or_create_application() -> QApplication:
    """Return the application, creating it on first use. Exit the process with an error if no window can be opened."""
    app = QApplication.instance() or _create_application()
    assert isinstance(app, QApplication)
    app.setApplicationName("journeyman")
    app.setApplicationDisplayName("Journeyman")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("journeyman")
    app.setQuitOnLastWindowClosed(False)
    return app


def theme_name(app: QApplication, state: WindowState) -> str:
    """Return the theme that the user chose, else the one that matches the colors of the desktop."""
    chosen = state.text("theme")
    if chosen in THEMES:
        return chosen
    # Qt.ColorScheme would take 60 ms here: the first use of the `Qt` namespace creates all of its enumerations.
    return "dark" if app.palette().window().color().lightness() < 128 else "light"


def set_window_icon(app: QApplication) -> None:
    """Set the window icon. Call this after the first paint, because drawing the icon is slow."""
    app.setWindowIcon(QIcon(str(ICON)))


def no_display_error(messages: list[str]) -> ErrorDetails:
    """Return the error for a missing display, from the messages that Qt logged before it gave up."""
    cause = " ".join(line for line in messages if line.strip()) or "Qt gave no reason."
    has_display_variable = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if sys.platform.startswith("linux") and not has_display_variable:
        cause = "Neither DISPLAY nor WAYLAND_DISPLAY is set, so there is no display."
    return ErrorDetails(
        "The window cannot be opened.",
        cause,
        "Start Journeyman from a desktop session, or use a command: `journeyman --help` lists them.",
    )


def _create_application() -> QApplication:
    """Create the application.

    Without a display, Qt logs a fatal message and aborts the process, so that no exception can be raised. A message
    handler, which is installed only while the application is created, prints the reason and exits first.
    """
    messages: list[str] = []

    def exit_on_fatal_message(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        if kind == QtMsgType.QtFatalMsg:
            terminal().print_error(no_display_error(messages))
            os._exit(FAILED)
        messages.append(text)

    previous_handler = qInstallMessageHandler(exit_on_fatal_message)
    try:
        app = QApplication(["journeyman"])
        install_accessible_roles()
        return app
    finally:
        qInstallMessageHandler(previous_handler)
        for line in messages:
            sys.stderr.write(f"{line}\n")
