"""Carries out the actions of the External agents settings page: detect, add, test and remove agents."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.external_agents_page import ExternalAgentAction
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.external.external_agents import AgentOverview, ExternalAgentTestResult
    from core.engine.services.providers import ProvidersOverview


class ExternalAgentsController(SettingsPageController):
    """Carries out the actions of the External agents page.

    `read` shows the settings that the engine has changed. `on_listed` is called with the providers after an agent has
    been removed, because agents are offered together with models.
    """

    def __init__(
        self,
        look: Look,
        dialog: SettingsDialog,
        bridge: Bridge,
        tasks: Tasks,
        read: Callable[[], Awaitable[None]],
        on_listed: "Callable[[ProvidersOverview], None]",
    ) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._read = read
        self._on_listed = on_listed
        dialog.agent_action_requested.connect(self._run_action)

    def _run_action(self, action: str, name: str, command: str) -> None:
        match ExternalAgentAction(action):
            case ExternalAgentAction.RELOAD:
                self._start(self._reload(), "look for agents")
            case ExternalAgentAction.ADD:
                self._start(self._add(name, command), "add an agent")
            case ExternalAgentAction.TEST:
                self._start(self._test(name), "test an agent")
            case ExternalAgentAction.REMOVE:
                self._confirm_removal(name)

    async def _reload(self) -> None:
        agents = await self._ask(_overview)
        if not self.closed:
            self._dialog.agents.show_agents(agents.added, agents.installed, agents.missing, agents.not_found)

    async def _add(self, name: str, command: str) -> None:
        async def add(engine: "Engine") -> None:
            engine.external_agents.add(name, command)

        await self._ask(add)
        if not self.closed:
            self._dialog.agents.clear()
        added = _tr("Added {}. To use it, choose it instead of a model when you start a session.")
        self._show_message(added.format(name))
        await self._reload()

    def _confirm_removal(self, name: str) -> None:
        title = _tr("Remove the external agent {}?").format(name)
        text = _tr(
            "Its command is deleted, and a new session no longer starts with it by default. The program itself and the "
            "sessions with it are kept."
        )

        def remove() -> None:
            self._start(self._remove(name), "remove an agent")

        ConfirmDialog(self._look, title, text, _tr("Remove agent"), remove, self._dialog).open()

    async def _remove(self, name: str) -> None:
        async def remove(engine: "Engine") -> None:
            engine.external_agents.remove(name)

        await self._ask(remove)
        await self._read()
        self._show_message(_tr("Removed {}. Its sessions are kept.").format(name))
        await self._reload()
        self._on_listed(await self._ask(lambda engine: engine.providers_overview(fresh=False)))

    async def _test(self, name: str) -> None:
        self._dialog.agents.show_result(name, TonedText(_tr("Starting the agent…"), "second"))
        result = await self._ask(lambda engine: engine.external_agents.test(name))
        if not self.closed:
            self._dialog.agents.show_result(name, _result_text(result))


def _result_text(result: "ExternalAgentTestResult") -> TonedText:
    if result.error:
        return TonedText(str(result.error), "failed")
    settings = "".join(f" · {setting.name}: {setting.value_name()}" for setting in result.settings)
    title = f"{result.title} {result.version}".strip()
    return TonedText(_tr("{} responds and can open a session").format(title) + settings, "done")


async def _overview(engine: "Engine") -> "AgentOverview":
    return await engine.external_agents.overview()


def _tr(text: str) -> str:
    return QCoreApplication.translate("agents", text)
