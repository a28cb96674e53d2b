"""Opens the settings with what the engine knows, and carries out what is changed there."""

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

from ui.bridge import Bridge
from ui.figures import size
from ui.filing import Filing
from ui.settings.dialog import SettingsDialog, Shown
from ui.settings.pages import DataState
from ui.tasks import Tasks
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine


class SettingsDoor:
    """One settings window at a time; after a change of rules or data it is filled anew."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks, folder: str) -> None:
        self._window, self._bridge, self._tasks, self._folder = window, bridge, tasks, folder
        self._dialog: SettingsDialog | None = None

    def open(self, page: str = "") -> None:
        self._tasks.start(self._open(page), "open the settings")

    def change(self, name: str, value: Any) -> None:
        """Also from elsewhere: a key that changes the size of the letters is a setting too."""
        self._tasks.start(self._change(name, value), f"set {name}")

    async def _open(self, page: str) -> None:
        if self._dialog is not None and not page:
            self._dialog.raise_()
            self._dialog.activateWindow()
            return
        shown = await self._bridge.ask(_shown)
        if self._dialog is not None:
            self._dialog.close()
        dialog = self._dialog = SettingsDialog(self._window.look, shown, self._window)
        dialog.changed.connect(self.change)
        dialog.revoked.connect(lambda rule: self._tasks.start(self._revoke(rule), "revoke"))
        dialog.data_wanted.connect(self._do)
        dialog.session_wanted.connect(self._go_to)
        dialog.destroyed.connect(lambda: self._forget(dialog))
        dialog.finished.connect(lambda _: self._forget(dialog))
        dialog.show_page(page)
        dialog.open()
        data = await self._bridge.ask(partial(_counted, self._folder))
        if self._dialog is dialog:
            dialog.show_data(data)

    async def _change(self, name: str, value: Any) -> None:
        await self._bridge.ask(partial(_changed, name, value))
        self._window.setting_changed.emit(name, value)

    async def _revoke(self, rule: str) -> None:
        await self._bridge.ask(lambda engine: engine.revoke(rule))
        self._window.toast.say(_tr("The rule was taken back."))
        await self._open(_tr("Rules"))

    def _do(self, word: str) -> None:
        if word == "folder":
            QDesktopServices.openUrl(QUrl.fromLocalFile(self._folder))
        elif word == "empty":
            if self._dialog is not None:
                self._dialog.close()
            Filing(self._window, self._bridge, self._tasks).do("empty", ())
        else:
            self._tasks.start(self._back_up() if word == "back_up" else self._compact(), word)

    async def _back_up(self) -> None:
        made = await self._bridge.ask(lambda engine: engine.back_up())
        self._window.toast.say(_tr("Backed up: {}").format(made.words))
        await self._open(_tr("Data"))

    async def _compact(self) -> None:
        done = await self._bridge.ask(lambda engine: engine.compact())
        words = _tr("{before} before, {after} now.").format(before=size(done.before), after=size(done.after))
        self._window.toast.say(words)
        await self._open(_tr("Data"))

    def _go_to(self, session: str) -> None:
        if self._dialog is not None:
            self._dialog.close()
        self._window.go_to(session)

    def _forget(self, dialog: SettingsDialog) -> None:
        if self._dialog is dialog:
            self._dialog = None


async def _shown(engine: "Engine") -> Shown:
    """In the engine's thread."""
    book = engine.rules()
    why = f"{book.trouble.what} {book.trouble.why}" if book.trouble else ""
    return Shown(engine.settings.now, book.rules, why)


async def _counted(folder: str, engine: "Engine") -> DataState:
    figures, rows = await engine.figures(), engine.sessions()
    return DataState(
        folder,
        figures.stored,
        figures.rows["entry"],
        len(rows),
        sum(1 for row in rows if row.trashed),
        tuple(engine.backup_names()),
        tuple(await engine.weights()),
    )


async def _changed(name: str, value: Any, engine: "Engine") -> None:
    engine.settings.change(**{name: value})


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
