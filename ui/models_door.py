"""What is wanted of model servers in the settings: looked for, tried, given keys, added, removed."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from ui.bridge import Bridge
from ui.settings.add_server import AddServer
from ui.settings.dialog import SettingsDialog
from ui.settings.server_card import trial_words
from ui.tasks import Tasks
from ui.theme import Look
from ui.widgets.key_dialog import KeyDialog

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.providers import Overview
    from core.settings.schema import Wire
    from core.settings.secrets import Key


Change = Coroutine[Any, Any, None]


class ModelsDoor:
    """Serves one settings window; what goes wrong is told in it. `change` sets what a person chose."""

    def __init__(
        self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks, change: Callable[[str, Any], Change]
    ) -> None:
        self._look, self._dialog, self._bridge, self._tasks, self._change = look, dialog, bridge, tasks, change
        self.closed = False
        dialog.servers_wanted.connect(self._do)

    def _do(self, word: str, name: str) -> None:
        page = self._dialog.models
        match word:
            case "first" | "look":
                self._tasks.start(self._look_for(fresh=word == "look"), "look for servers")
            case "add":
                self._ask_server()
            case "give":
                dialog = KeyDialog(self._look, [(name, page.server(name))], self._dialog)
                dialog.given.connect(lambda server, key: self._tasks.start(self._give(server, key), "give a key"))
                dialog.open()
            case "forget":
                self._tasks.start(self._forget(name), "forget a key")
            case "remove":
                self._tasks.start(self._remove(name), "remove a server")
            case "test":
                self._tasks.start(self._test(name), "test a model")
            case "use":
                self._dialog.show_value("model", name)
                self._tasks.start(self._use("model", name), "use a model")
            case _:  # a proxy
                self._dialog.show_value("proxy", name)
                self._tasks.start(self._use("proxy", name), "use a proxy")

    async def _look_for(self, *, fresh: bool) -> None:
        self._show(await self._bridge.ask(partial(_models, fresh)))

    def _show(self, found: "Overview") -> None:
        if not self.closed:
            self._dialog.models.show_servers(found)
            self._dialog.offer_models(self._dialog.models.models())

    def _say(self, words: str) -> None:
        if not self.closed:
            self._dialog.say(words)

    def _ask_server(self) -> None:
        dialog = AddServer(self._look, self._dialog)
        dialog.added.connect(lambda *typed: self._tasks.start(self._add(dialog, *typed), "add a server"))
        dialog.open()

    async def _add(self, dialog: AddServer, name: str, url: str, wire: str, plain: bool, variable: str) -> None:
        try:
            await self._bridge.ask(partial(_added, name, url, wire, plain, variable))
        except Problem as problem:
            dialog.tell(problem.trouble)
            return
        dialog.accept()
        self._say(_tr("{} was added.").format(name))
        await self._look_for(fresh=False)

    async def _give(self, server: str, key: str) -> None:
        kept = await self._bridge.ask(partial(_given, server, key))
        title = self._dialog.models.server(server)
        if kept.source == "keyring":
            self._say(_tr("The key of {} is in the keyring of your system.").format(title))
        else:
            why = f" {kept.trouble.what} {kept.trouble.why}" if kept.trouble else ""
            self._say(_tr("The key of {} is kept until Journeyman ends.").format(title) + why)
        await self._look_for(fresh=True)

    async def _forget(self, server: str) -> None:
        title = self._dialog.models.server(server)
        was = await self._bridge.ask(lambda engine: engine.providers.forget_key(server))
        said = _tr("The key of {} was forgotten.") if was else _tr("There was no key of {}.")
        self._say(said.format(title))
        await self._look_for(fresh=True)

    async def _remove(self, server: str) -> None:
        await self._bridge.ask(lambda engine: engine.providers.remove(server))
        self._say(_tr("{} was removed, and its key.").format(server))
        await self._look_for(fresh=False)

    async def _test(self, model: str) -> None:
        page = self._dialog.models
        page.show_trial(model, (_tr("Testing with two small requests…"), "second"))
        try:
            said = trial_words(await self._bridge.ask(lambda engine: engine.test_model(model)))
        except Problem as problem:
            said = (f"{problem.trouble.what} {problem.trouble.why}", "failed")
        if not self.closed:
            self._dialog.models.show_trial(model, said)

    async def _use(self, name: str, value: str) -> None:
        await self._change(name, value)  # before the servers are shown anew, with what is in use
        await self._look_for(fresh=False)


async def _models(fresh: bool, engine: "Engine") -> "Overview":
    """In the engine's thread."""
    return await engine.models(fresh=fresh)


async def _added(name: str, url: str, wire: str, plain: bool, variable: str, engine: "Engine") -> None:
    await engine.providers.add(name, url, cast("Wire", wire), plain=plain, variable=variable)


async def _given(server: str, key: str, engine: "Engine") -> "Key":
    return await engine.providers.give_key(server, key)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
