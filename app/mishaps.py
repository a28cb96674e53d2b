"""Shows the person what nobody caught: a kind of mistake in a dialog once, after that in a line."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal

from app.crash import LOG, Crash
from core.domain.problems import Trouble
from ui.crash_dialog import CrashDialog
from ui.window import MainWindow


class Mishaps(QObject):
    """`happened` may be emitted in any thread."""

    happened = Signal(Crash)
    restart_wanted = Signal(bool)

    def __init__(self, window: MainWindow, engine_ended: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window, self._engine_ended = window, engine_ended
        self._seen: set[str] = set()
        self._dialog: CrashDialog | None = None
        self.happened.connect(self.show, Qt.ConnectionType.QueuedConnection)

    def show(self, crash: Crash) -> None:
        """What can be saved is saved first: the next thing may be worse."""
        self._window.keep_state()
        self._window.state.flush()
        if self._dialog:
            self._dialog.add(crash.report)
        elif crash.line in self._seen:
            do = self.tr("It is written down in {file}, in the data folder.").format(file=LOG)
            self._window.tell(Trouble(self.tr("Journeyman made the same mistake again."), f"{crash.line}.", do))
        else:
            self._open(crash, self.tr("Journeyman made a mistake: {line}").format(line=crash.line), self.saved())
        self._seen.add(crash.line)

    def show_left(self, crash: Crash) -> None:
        """What the process before this one left."""
        what = self.tr("Journeyman was ended by a fault the last time: {line}").format(line=crash.line)
        saved = self.tr("What was shown is saved. Runs that were going are interrupted and wait for your word.")
        self._open(crash, what, saved)

    def _open(self, crash: Crash, what: str, saved: str) -> None:
        dialog = CrashDialog(self._window.look, what, saved, crash.report, self._window)
        dialog.restart_wanted.connect(self.restart_wanted)
        dialog.troubled.connect(self._window.tell)
        dialog.finished.connect(self._forget)
        self._dialog = dialog
        dialog.open()

    def _forget(self) -> None:
        self._dialog = None

    def saved(self) -> str:
        """What is safe, and what a person can do."""
        if self._engine_ended():
            return self.tr(
                "What was shown is saved, and so are words you had not sent. The engine has ended: restart to go on."
                " Runs that were going are shown as interrupted then, and nothing of them is run again by itself."
            )
        return self.tr(
            "What was shown is saved, and so are words you had not sent. You can go on; where something looks wrong"
            " now, a restart mends it."
        )
