"""What is wanted of agents of others in the settings: looked for, added, tried, removed."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from ui.bridge import Bridge
from ui.settings.dialog import SettingsDialog
from ui.tasks import Tasks

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.outside import AgentLook
    from core.settings.schema import OutsideAgent

    Agents = tuple[tuple[OutsideAgent, ...], tuple[OutsideAgent, ...]]


class AgentsDoor:
    """Serves one settings window; what goes wrong is told in it."""

    def __init__(self, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks) -> None:
        self._dialog, self._bridge, self._tasks = dialog, bridge, tasks
        self.closed = False
        dialog.agents_wanted.connect(self._do)

    def _do(self, word: str, name: str, command: str) -> None:
        match word:
            case "add":
                self._tasks.start(self._add(name, command), "add an agent")
            case "look":
                self._tasks.start(self._look(), "look for agents")
            case "test":
                self._tasks.start(self._test(name), "test an agent")
            case _:
                self._tasks.start(self._remove(name), "remove an agent")

    async def _look(self) -> None:
        agents, found = await self._bridge.ask(_agents)
        if not self.closed:
            self._dialog.agents.show_agents(agents, found)

    async def _add(self, name: str, command: str) -> None:
        await self._bridge.ask(partial(_added, name, command))
        if not self.closed:
            self._dialog.agents.clear()
            self._dialog.say(_tr("{} was added. Choose it where a run begins, in the place of a model.").format(name))
        await self._look()

    async def _remove(self, name: str) -> None:
        await self._bridge.ask(partial(_removed, name))
        if not self.closed:
            self._dialog.say(_tr("{} was removed. Its sessions stay.").format(name))
        await self._look()

    async def _test(self, name: str) -> None:
        self._dialog.agents.show_result(name, _tr("Starting it…"), "second")
        look = await self._bridge.ask(partial(_tested, name))
        if not self.closed:
            self._dialog.agents.show_result(name, *_words(look))


def _words(look: "AgentLook") -> tuple[str, str]:
    if look.trouble:
        return str(look.trouble), "failed"
    settings = "".join(f" · {one.name}: {one.said()}" for one in look.settings)
    return _tr("{} answers and opens a session").format(f"{look.title} {look.version}".strip()) + settings, "done"


async def _agents(engine: "Engine") -> "Agents":
    """In the engine's thread."""
    return engine.guests.list(), await engine.guests.found()


async def _added(name: str, command: str, engine: "Engine") -> None:
    engine.guests.add(name, command)


async def _removed(name: str, engine: "Engine") -> None:
    engine.guests.remove(name)


async def _tested(name: str, engine: "Engine") -> "AgentLook":
    return await engine.guests.test(name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("agents", text)
