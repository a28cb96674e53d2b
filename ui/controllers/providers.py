"""Carries out what the user does on the Models settings page: add, test and remove providers and API keys."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from core.domain.tiers import Tiers
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.model_entries import model_entries
from ui.palette.panel import Palette
from ui.settings.add_provider import AddProviderDialog
from ui.settings.provider_card import outcome_text
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look
from ui.widgets.api_key_dialog import ApiKeyDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.providers import ProvidersOverview
    from core.settings.api_keys import ApiKey
    from core.settings.schema import ApiFormat


ChangeTask = Coroutine[Any, Any, None]


class ProvidersController:
    """Serves one settings dialog until its `closed` signal and shows errors there. `change` stores a setting."""

    def __init__(
        self, look: Look, dialog: SettingsDialog, bridge: Bridge, tasks: Tasks, change: Callable[[str, Any], ChangeTask]
    ) -> None:
        self._look = look
        self._dialog = dialog
        self._bridge = bridge
        self._tasks = tasks
        self._change = change
        self.closed = False
        self._loaded = False
        self._palette: Palette | None = None
        dialog.provider_action_requested.connect(self._run_action)

    def refresh(self) -> None:
        """Reload the page, if it was loaded before."""
        if not self.closed and self._loaded:
            self._tasks.start(self._load_providers(fresh=False), "look for providers")

    def _run_action(self, action: str, name: str) -> None:
        page = self._dialog.providers
        match action:
            case "first" | "look":
                self._tasks.start(self._load_providers(fresh=action == "look"), "look for providers")
            case "add":
                self._ask_server()
            case "choose":
                self._tasks.start(self._choose_model(), "list models")
            case "give":
                dialog = ApiKeyDialog(self._look, [(name, page.display_name(name))], self._dialog)
                dialog.submitted.connect(
                    lambda server, key: self._tasks.start(self._set_api_key(server, key), "set an API key")
                )
                dialog.open()
            case "forget":
                self._tasks.start(self._delete_api_key(name), "delete an API key")
            case "remove":
                self._tasks.start(self._remove(name), "remove a provider")
            case "test":
                self._tasks.start(self._test(name), "test a model")
            case "use":
                self._dialog.show_value("model", name)
                self._tasks.start(self._use("model", name), "use a model")
            case _:  # a proxy
                self._dialog.show_value("proxy", name)
                self._tasks.start(self._use("proxy", name), "use a proxy")

    async def _choose_model(self) -> None:
        """Show the searchable list of models over the dialog; the chosen one becomes the default."""
        overview = await self._bridge.ask(partial(_overview, False))
        tiers = await self._bridge.ask(_tiers)
        if not self.closed:
            self._palette = self._palette or Palette(self._look, self._dialog)
            entries = model_entries(overview, tiers, overview.model)
            self._palette.open_with(entries, _tr("Search models"), lambda name: self._run_action("use", name))

    async def _load_providers(self, *, fresh: bool) -> None:
        if fresh and not self.closed:
            self._dialog.providers.forget_tests()
        self._show(await self._bridge.ask(partial(_overview, fresh)))

    def _show(self, overview: "ProvidersOverview") -> None:
        if not self.closed:
            self._loaded = True
            self._dialog.providers.show_providers(overview)
            self._dialog.offer_models(self._dialog.providers.model_names())

    def _show_message(self, text: str) -> None:
        if not self.closed:
            self._dialog.show_message(text)

    def _ask_server(self) -> None:
        dialog = AddProviderDialog(self._look, self._dialog)
        dialog.added.connect(lambda *typed: self._tasks.start(self._add(dialog, *typed), "add a provider"))
        dialog.open()

    async def _add(
        self, dialog: AddProviderDialog, name: str, url: str, api_format: str, plain: bool, variable: str
    ) -> None:
        try:
            await self._bridge.ask(partial(_add_provider, name, url, api_format, plain, variable))
        except Problem as problem:
            dialog.show_error(problem.details)
            return
        dialog.accept()
        await self._load_providers(fresh=True)
        if not self.closed:
            self._show_message(_tr("Added {}: {}").format(name, self._dialog.providers.state_of(name)))

    async def _set_api_key(self, server: str, key: str) -> None:
        stored = await self._bridge.ask(partial(_store_api_key, server, key))
        title = self._dialog.providers.display_name(server)
        if stored.source == "keyring":
            self._show_message(_tr("Saved the API key for {} in the system keyring.").format(title))
        else:
            why = f" {stored.error.message} {stored.error.cause}" if stored.error else ""
            self._show_message(_tr("The API key for {} is kept until you quit Journeyman.").format(title) + why)
        await self._load_providers(fresh=True)

    async def _delete_api_key(self, server: str) -> None:
        title = self._dialog.providers.display_name(server)
        existed = await self._bridge.ask(lambda engine: engine.providers.remove_api_key(server))
        message = _tr("Deleted the API key for {}.") if existed else _tr("There is no API key for {}.")
        self._show_message(message.format(title))
        await self._load_providers(fresh=True)

    async def _remove(self, server: str) -> None:
        await self._bridge.ask(lambda engine: engine.providers.remove(server))
        self._show_message(_tr("Removed {} and its API key.").format(server))
        await self._load_providers(fresh=True)

    async def _test(self, model: str) -> None:
        page = self._dialog.providers
        page.show_test(model, (_tr("Testing with two short requests…"), "second"))
        try:
            outcome = outcome_text(await self._bridge.ask(lambda engine: engine.test_model(model)))
        except Problem as problem:
            outcome = (f"{problem.details.message} {problem.details.cause}", "failed")
        if not self.closed:
            self._dialog.providers.show_test(model, outcome)

    async def _use(self, name: str, value: str) -> None:
        await self._change(name, value)  # before the list is refreshed, which marks the model in use
        await self._load_providers(fresh=False)


async def _overview(fresh: bool, engine: "Engine") -> "ProvidersOverview":
    return await engine.providers_overview(fresh=fresh)


async def _tiers(engine: "Engine") -> Tiers:
    return engine.settings.current.tiers


async def _add_provider(name: str, url: str, api_format: str, plain: bool, variable: str, engine: "Engine") -> None:
    await engine.providers.add(name, url, cast("ApiFormat", api_format), allow_http=plain, variable=variable)


async def _store_api_key(server: str, key: str, engine: "Engine") -> "ApiKey":
    return await engine.providers.set_api_key(server, key)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
