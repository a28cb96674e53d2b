"""Opens the settings with what the engine knows, and carries out what is changed there."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

from core.domain.problems import Problem, Trouble
from core.domain.tiers import NAMES
from ui.agents_door import AgentsDoor
from ui.bridge import Bridge
from ui.figures import size
from ui.filing import Filing
from ui.models_door import ModelsDoor
from ui.schedules_door import SchedulesDoor
from ui.settings.dialog import SettingsDialog, Shown
from ui.settings.pages import DataState
from ui.tasks import Tasks
from ui.tools_door import ToolsDoor
from ui.widgets.confirm import Confirm
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine


class SettingsDoor:
    """One settings window at a time. It opens with what was known last, and says anew what has changed since."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks, folder: str) -> None:
        self._window, self._bridge, self._folder = window, bridge, folder
        self._tasks = Tasks(self._tell, tasks)
        self._known: Shown | None = None
        self._changes = 0
        self._dialog: SettingsDialog | None = None
        self._models: ModelsDoor | None = None
        self._schedules: SchedulesDoor | None = None
        self._agents: AgentsDoor | None = None
        self._tools: ToolsDoor | None = None
        self._tasks.start(self._prepare(), "read the settings")

    async def close(self) -> None:
        await self._tasks.close()

    def open(self, page: str = "") -> None:
        self._tasks.start(self._open(page), "open the settings")

    def change(self, name: str, value: Any) -> None:
        """Also from elsewhere: a key that changes the size of the letters is a setting too."""
        self._tasks.start(self._change(name, value), f"set {name}")

    def _tell(self, trouble: Trouble) -> None:
        """Where the person looks."""
        if self._dialog is not None:
            self._dialog.tell(trouble)
        else:
            self._window.tell(trouble)

    async def _prepare(self) -> None:
        with suppress(Problem):  # what keeps the engine from its work is told by whoever started it
            self._known = await self._bridge.ask(_shown)

    async def _open(self, page: str) -> None:
        if self._dialog is None:
            self._known = self._known or await self._bridge.ask(_shown)
        if self._dialog is None and self._known is not None:
            self._show(self._known)
        if self._dialog is not None:
            self._dialog.show_page(page)
            self._dialog.raise_()
            self._dialog.activateWindow()
        await self._read()

    def _show(self, shown: Shown) -> None:
        dialog = self._dialog = SettingsDialog(self._window.look, shown, self._window)
        self._models = ModelsDoor(self._window.look, dialog, self._bridge, self._tasks, self._change)
        self._schedules = SchedulesDoor(dialog, self._bridge, self._tasks)
        self._agents = AgentsDoor(dialog, self._bridge, self._tasks)
        self._tools = ToolsDoor(self._window.look, dialog, self._bridge, self._tasks)
        self._window.status.servers_changed.connect(self._tools.refresh)
        dialog.changed.connect(self.change)
        dialog.revoked.connect(lambda rule: self._tasks.start(self._revoke(rule), "revoke"))
        dialog.data_wanted.connect(self._do)
        dialog.session_wanted.connect(self._go_to)
        dialog.finished.connect(lambda _: self._forget(dialog))
        dialog.open()

    async def _read(self) -> None:
        """What is so now; what the person changed meanwhile is newer."""
        dialog, before = self._dialog, self._changes
        shown = await self._bridge.ask(_shown)
        if self._changes == before:
            if self._dialog is not None and self._dialog is dialog and shown != self._known:
                self._dialog.refill(shown)
            self._known = shown

    async def _count(self) -> None:
        dialog = self._dialog
        data = await self._bridge.ask(partial(_counted, self._folder))
        if self._dialog is not None and self._dialog is dialog:
            self._dialog.show_data(data)

    async def _change(self, name: str, value: Any) -> None:
        self._changes += 1
        await self._bridge.ask(partial(_changed, name, value))
        if self._known:
            self._known = replace(self._known, settings=replace(self._known.settings, **{name: value}))
            if self._dialog is not None:
                self._dialog.note(self._known)
                self._dialog.say(_tr("Set. Changes are used at once."))
        self._window.setting_changed.emit(name, value)

    async def _revoke(self, rule: str) -> None:
        await self._bridge.ask(lambda engine: engine.revoke(rule))
        self._say(_tr("It was taken back."))
        await self._read()

    def _say(self, words: str) -> None:
        if self._dialog is not None:
            self._dialog.say(words)
        else:
            self._window.toast.say(words)

    def _do(self, word: str, name: str) -> None:
        if word == "folder":
            QDesktopServices.openUrl(QUrl.fromLocalFile(self._folder))
        elif word == "empty":
            if self._dialog is not None:
                self._dialog.close()
            Filing(self._window, self._bridge, self._tasks).do("empty", ())
        elif word == "restore":
            self._ask_restore(name)
        else:
            works = {"count": self._count, "back_up": self._back_up, "compact": self._compact}
            self._tasks.start(works[word](), word)

    def _ask_restore(self, name: str) -> None:
        title = _tr("Put back the backup of {}?").format(name)
        text = _tr(
            "Journeyman closes, puts it in the place of the present data, and opens again. Runs that are going are "
            "interrupted. The data as it is now is kept in a file beside it."
        )
        over = self._dialog or self._window
        act = partial(self._window.restore_wanted.emit, name)
        Confirm(self._window.look, title, text, _tr("Restore and open again"), act, over).open()

    async def _back_up(self) -> None:
        made = await self._bridge.ask(lambda engine: engine.back_up())
        self._say(_tr("Backed up: {}").format(made.words))
        await self._count()

    async def _compact(self) -> None:
        done = await self._bridge.ask(lambda engine: engine.compact())
        self._say(_tr("{before} before, {after} now.").format(before=size(done.before), after=size(done.after)))
        await self._count()

    def _go_to(self, session: str) -> None:
        if self._dialog is not None:
            self._dialog.close()
        self._window.go_to(session)

    def _forget(self, dialog: SettingsDialog) -> None:
        if self._dialog is dialog:
            self._dialog = None
            for door in (self._models, self._schedules, self._tools, self._agents):
                if door is not None:
                    door.closed = True


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
    for model in _named(name, value):
        engine.providers.check(model)
    engine.settings.change(**{name: value})


def _named(name: str, value: Any) -> list[str]:
    """The models that a setting names: a server that nobody knows is said at once."""
    if name == "tiers":
        return [*value.small, *value.mid, *value.frontier]
    return [value] if name == "model" and value and value not in NAMES else []


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
