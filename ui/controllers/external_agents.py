"""Carries out what the user does on the External agents settings page: detect, add, test and remove agents."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.settings.settings_dialog import SettingsDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.external.external_agents import AgentOverview, ExternalAgentTestResult


class ExternalAgentsController:
    """Serves one settings dialog until its `closed` signal. Errors are shown in the dialog."""

    def __init__(self, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self.closed = False
        dialog.agent_action_requested.connect(self._run_action)

    def _run_action(self, action: str, name: str, command: str) -> None:
        match action:
            case "add":
                self._tasks.start(self._add(name, command), "add an agent")
            case "look":
                self._tasks.start(self._refresh(), "look for agents")
            case "test":
                self._tasks.start(self._test(name), "test an agent")
            case _:
                self._tasks.start(self._remove(name), "remove an agent")

    async def _refresh(self) -> None:
        agents = await self._bridge.ask(_overview)
        if not self.closed:
            self._dialog.agents.show_agents(agents.added, agents.installed, agents.missing)

    async def _add(self, name: str, command: str) -> None:
        await self._bridge.ask(partial(_add_agent, name, command))
        if not self.closed:
            self._dialog.agents.clear()
            added = _tr("Added {}. To use it, choose it instead of a model when you start a session.")
            self._dialog.show_message(added.format(name))
        await self._refresh()

    async def _remove(self, name: str) -> None:
        await self._bridge.ask(partial(_remove_agent, name))
        if not self.closed:
            self._dialog.show_message(_tr("Removed {}. Its sessions are kept.").format(name))
        await self._refresh()

    async def _test(self, name: str) -> None:
        self._dialog.agents.show_result(name, _tr("Starting the agent…"), "second")
        result = await self._bridge.ask(partial(_test_agent, name))
        if not self.closed:
            self._dialog.agents.show_result(name, *_result_text(result))


def _result_text(result: "ExternalAgentTestResult") -> tuple[str, str]:
    if result.error:
        return str(result.error), "failed"
    settings = "".join(f" · {setting.name}: {setting.value_name()}" for setting in result.settings)
    title = f"{result.title} {result.version}".strip()
    return _tr("{} responds and can open a session").format(title) + settings, "done"


async def _overview(engine: "Engine") -> "AgentOverview":
    return await engine.external_agents.overview()


async def _add_agent(name: str, command: str, engine: "Engine") -> None:
    engine.external_agents.add(name, command)


async def _remove_agent(name: str, engine: "Engine") -> None:
    engine.external_agents.remove(name)


async def _test_agent(name: str, engine: "Engine") -> "ExternalAgentTestResult":
    return await engine.external_agents.test(name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("agents", text)
