"""Carries out what the user does on the Schedules settings page: list, add and remove schedules."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from core.domain.schedule import Schedule, describe_schedule
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.settings.schedules_page import ScheduleDraft
from ui.settings.settings_dialog import SettingsDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class SchedulesController:
    """Serves one settings dialog until its `closed` signal. Errors are shown in the dialog."""

    def __init__(self, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self.closed = False
        self._loaded = False
        dialog.schedule_added.connect(lambda draft: tasks.start(self._add(draft), "add a schedule"))
        dialog.schedule_removed.connect(lambda name: tasks.start(self._remove(name), "remove a schedule"))
        dialog.schedules_requested.connect(lambda: tasks.start(self._refresh(), "read the schedules"))

    def refresh(self) -> None:
        """Reload the page, if it was loaded before."""
        if not self.closed and self._loaded:
            self._tasks.start(self._refresh(), "read the schedules")

    async def _refresh(self) -> None:
        schedules = await self._bridge.ask(_list_schedules)
        if not self.closed:
            self._loaded = True
            self._dialog.schedules.show_schedules(schedules)

    async def _add(self, draft: ScheduleDraft) -> None:
        summary = await self._bridge.ask(partial(_add_schedule, draft))
        if not self.closed:
            self._dialog.schedules.clear()
            self._dialog.show_message(_tr("Added: {}.").format(summary))
        await self._refresh()

    async def _remove(self, name: str) -> None:
        await self._bridge.ask(lambda engine: engine.schedules.remove(name))
        if not self.closed:
            self._dialog.show_message(_tr("Removed the schedule. Sessions it started are kept."))
        await self._refresh()


async def _list_schedules(engine: "Engine") -> list[Schedule]:
    return engine.schedules.all()


async def _add_schedule(draft: ScheduleDraft, engine: "Engine") -> str:
    from core.engine.lifecycle.scheduler import ScheduleRequest

    request = ScheduleRequest(draft.task, Path(draft.folder), draft.at, draft.every, draft.missed)
    return describe_schedule(await engine.schedules.add(request))


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
