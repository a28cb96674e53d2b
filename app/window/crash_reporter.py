"""Shows crashes to the user: the first in a dialog, further ones in the same dialog or in a notice."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal

from app.process.crash import CRASH_LOG, CrashReport
from core.domain.problems import ErrorDetails
from ui.dialogs.crash_dialog import CrashDialog
from ui.shell.main_window import MainWindow


class CrashReporter(QObject):
    """Shows internal errors in the window. Its signal `happened` may be emitted in any thread."""

    happened = Signal(CrashReport)
    restart_requested = Signal(bool)

    def __init__(self, window: MainWindow, engine_ended: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._engine_ended = engine_ended
        self._seen: set[str] = set()
        self._dialog: CrashDialog | None = None
        self.happened.connect(self.show, Qt.ConnectionType.QueuedConnection)

    def show(self, crash: CrashReport) -> None:
        """Save the state of the window, because a worse crash may follow, then show the crash."""
        self._window.save_state()
        self._window.state.flush()
        if self._dialog:
            self._dialog.add(crash.report)
        elif crash.line in self._seen:
            fix = self.tr("The report is in {file}, in the data folder.").format(file=CRASH_LOG)
            self._window.show_error(
                ErrorDetails(self.tr("The same internal error occurred again."), f"{crash.line}.", fix)
            )
        else:
            self._open(
                crash, self.tr("Journeyman had an internal error ({line})").format(line=crash.line), self.saved_text()
            )
        self._seen.add(crash.line)

    def show_previous(self, crash: CrashReport) -> None:
        """Show a crash of the previous process, which it could not report itself."""
        title = self.tr("Journeyman crashed the last time: {line}").format(line=crash.line)
        saved = self.tr("Your sessions are saved. Runs that were in progress are interrupted until you resume them.")
        self._open(crash, title, saved)

    def _open(self, crash: CrashReport, title: str, saved: str) -> None:
        dialog = CrashDialog(self._window.look, title, saved, crash.report, self._window)
        dialog.restart_requested.connect(self.restart_requested)
        dialog.error_occurred.connect(self._window.show_error)
        dialog.finished.connect(self._forget)
        self._dialog = dialog
        dialog.open()

    def _forget(self) -> None:
        self._dialog = None

    def saved_text(self) -> str:
        """Return a text that says what is saved and what the user can do now."""
        if self._engine_ended():
            return self.tr(
                "Your sessions are saved, and so are messages you have not sent. The engine has stopped: restart to"
                " continue. Runs that were in progress are then shown as interrupted, and no call is run again"
                " unless you ask for it."
            )
        return self.tr(
            "Your sessions are saved, and so are messages you have not sent. Runs in progress continue, unless they"
            " are shown as failed. You can keep working. If something looks wrong, restart."
        )
