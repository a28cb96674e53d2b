"""Carries out the actions of the Schedules settings page: list, add and remove schedules."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from core.domain.schedule import Schedule, describe_schedule
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.schedules_page import ScheduleDraft
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class SchedulesController(SettingsPageController):
    reload_action = "read the schedules"

    def __init__(self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(look, dialog, bridge, tasks)
        dialog.schedule_added.connect(lambda draft: self._start(self._add(draft), "add a schedule"))
        dialog.schedule_removed.connect(lambda name: self._start(self._remove(name), "remove a schedule"))
        dialog.schedules_requested.connect(lambda: self._start(self._reload(), self.reload_action))

    async def _reload(self) -> None:
        schedules = await self._ask(_list_schedules)
        if not self.closed:
            self._loaded = True
            self._dialog.schedules.show_schedules(schedules)

    async def _add(self, draft: ScheduleDraft) -> None:
        summary = await self._ask(lambda engine: _add_schedule(engine, draft))
        if not self.closed:
            self._dialog.schedules.clear()
        self._show_message(_tr("Added: {}.").format(summary))
        await self._reload()

    async def _remove(self, name: str) -> None:
        await self._ask(lambda engine: engine.schedules.remove(name))
        self._show_message(_tr("Removed the schedule. Sessions it started are kept."))
        await self._reload()


async def _list_schedules(engine: "Engine") -> list[Schedule]:
    return engine.schedules.all()


async def _add_schedule(engine: "Engine", draft: ScheduleDraft) -> str:
    from core.engine.lifecycle.scheduler import ScheduleRequest

    request = ScheduleRequest(
        task=draft.task, folder=Path(draft.folder), at=draft.at, every=draft.every, missed=draft.missed
    )
    return describe_schedule(await engine.schedules.add(request))


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
