"""What is wanted of schedules in the settings: looked at, added, removed."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from core.domain.schedule import Schedule, words_of
from ui.bridge import Bridge
from ui.settings.dialog import SettingsDialog
from ui.settings.schedules import Asked
from ui.tasks import Tasks

if TYPE_CHECKING:
    from core.engine.engine import Engine


class SchedulesDoor:
    """Serves one settings window; what goes wrong is told in it."""

    def __init__(self, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._dialog, self._bridge, self._tasks = dialog, bridge, tasks
        self.closed = False
        dialog.schedule_added.connect(lambda asked: tasks.start(self._add(asked), "add a schedule"))
        dialog.schedule_removed.connect(lambda name: tasks.start(self._remove(name), "remove a schedule"))
        dialog.schedules_wanted.connect(lambda: tasks.start(self._look(), "read the schedules"))

    async def _look(self) -> None:
        found = await self._bridge.ask(_all)
        if not self.closed:
            self._dialog.schedules.show_schedules(found)

    async def _add(self, asked: Asked) -> None:
        made = await self._bridge.ask(partial(_added, asked))
        if not self.closed:
            self._dialog.schedules.clear()
            self._dialog.say(_tr("Added: {}.").format(made))
        await self._look()

    async def _remove(self, name: str) -> None:
        await self._bridge.ask(lambda engine: engine.schedules.remove(name))
        if not self.closed:
            self._dialog.say(_tr("It was removed. The sessions it began stay."))
        await self._look()


async def _all(engine: "Engine") -> list[Schedule]:
    return engine.schedules.all()


async def _added(asked: Asked, engine: "Engine") -> str:
    """In the engine's thread."""
    from core.engine.schedules import Wish

    wish = Wish(asked.task, Path(asked.folder), asked.at, asked.every, asked.missed)
    return words_of(await engine.schedules.add(wish))


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
