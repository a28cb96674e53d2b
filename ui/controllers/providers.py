"""Carries out the actions of the Models settings page: add, test and remove providers and API keys."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem
from core.domain.tiers import Tiers
from core.settings.schema import Provider
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.model_entries import model_entries
from ui.controllers.settings_page import SettingsPageController
from ui.palette.panel import Palette
from ui.settings.add_provider import AddProviderDialog
from ui.settings.provider_card import ProviderAction, outcome_text
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look
from ui.widgets.api_key_dialog import ApiKeyDialog
from ui.widgets.confirm_dialog import ConfirmDialog
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.providers import ProvidersOverview


class ProvidersController(SettingsPageController):
    """Carries out the actions of the Models page with its providers, models and API keys.

    `change` stores a setting, and `read` shows the settings that the engine has changed. `on_listed` is called whenever
    the providers have been listed, also after a change.
    """

    reload_action = "look for providers"

    def __init__(
        self,
        look: Look,
        dialog: SettingsDialog,
        bridge: Bridge,
        tasks: Tasks,
        change: Callable[[str, Any], Awaitable[None]],
        read: Callable[[], Awaitable[None]],
        on_listed: "Callable[[ProvidersOverview], None]",
    ) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._change = change
        self._read = read
        self._on_listed = on_listed
        self._palette: Palette | None = None
        dialog.provider_action_requested.connect(self._run_action)

    def _run_action(self, action: str, name: str) -> None:
        match ProviderAction(action):
            case ProviderAction.LIST:
                self._start(self._reload(), self.reload_action)
            case ProviderAction.RELOAD:
                self._start(self._look_again(), self.reload_action)
            case ProviderAction.ADD:
                self._open_add_dialog()
            case ProviderAction.REMOVE:
                self._confirm_removal(name)
            case ProviderAction.SET_KEY:
                self._open_key_dialog(name)
            case ProviderAction.REMOVE_KEY:
                self._confirm_key_removal(name)
            case ProviderAction.TEST_MODEL:
                self._start(self._test(name), "test a model")
            case ProviderAction.SET_DEFAULT:
                self._start(self._use("model", name), "use a model")
            case ProviderAction.CHOOSE_DEFAULT:
                self._start(self._choose_model(), "list models")
            case ProviderAction.USE_PROXY:
                self._start(self._use("proxy", name), "use a proxy")

    async def _reload(self) -> None:
        overview = await self._ask(lambda engine: engine.providers_overview(fresh=False))
        self._show_overview(overview)

    async def _look_again(self) -> None:
        """Query the providers again instead of using cached answers, and remove the results of tests."""
        if not self.closed:
            self._dialog.providers.forget_tests()
        overview = await self._ask(lambda engine: engine.providers_overview(fresh=True))
        self._show_overview(overview)

    def _show_overview(self, overview: "ProvidersOverview") -> None:
        self._on_listed(overview)
        if not self.closed:
            self._loaded = True
            self._dialog.providers.show_providers(overview)
            self._dialog.offer_models(self._dialog.providers.model_names())

    def restyle(self, look: Look) -> None:
        super().restyle(look)
        if self._palette is not None:
            self._palette.restyle(look)

    async def _choose_model(self) -> None:
        """Show a searchable list of models above the dialog. The chosen model becomes the default."""
        overview = await self._ask(lambda engine: engine.providers_overview(fresh=False))
        tiers = await self._ask(_tiers)
        if not self.closed:
            self._palette = self._palette or Palette(self._look, self._dialog)
            entries = model_entries(overview, tiers, overview.model)
            use = partial(self._run_action, ProviderAction.SET_DEFAULT)
            self._palette.open_with(entries, _tr("Search models"), use)

    def _open_add_dialog(self) -> None:
        dialog = AddProviderDialog(self._look, self._dialog)
        dialog.added.connect(lambda provider: self._start(self._add(dialog, provider), "add a provider"))
        dialog.open()

    async def _add(self, dialog: AddProviderDialog, provider: Provider) -> None:
        """Add the provider that was entered, and close the dialog or show there why this failed."""
        try:
            await self._ask(lambda engine: engine.providers.add(provider))
        except Problem as problem:
            dialog.show_error(problem.details)
            return
        dialog.accept()
        await self._look_again()
        if not self.closed:
            state = self._dialog.providers.state_of(provider.name)
            self._show_message(_tr("Added {}: {}").format(provider.name, state))

    def _open_key_dialog(self, server: str) -> None:
        dialog = ApiKeyDialog(self._look, {server: self._dialog.providers.display_name(server)}, self._dialog)
        dialog.submitted.connect(lambda server, key: self._start(self._set_api_key(server, key), "set an API key"))
        dialog.open()

    async def _set_api_key(self, server: str, key: str) -> None:
        stored = await self._ask(lambda engine: engine.providers.set_api_key(server, key))
        title = self._dialog.providers.display_name(server)
        if stored.source == "keyring":
            self._show_message(_tr("Saved the API key for {} in the system keyring.").format(title))
        else:
            why = f" {stored.error.message} {stored.error.cause}" if stored.error else ""
            self._show_message(_tr("The API key for {} is kept until you quit Journeyman.").format(title) + why)
        await self._look_again()

    def _confirm_key_removal(self, server: str) -> None:
        title = _tr("Remove the API key for {}?").format(self._dialog.providers.display_name(server))
        text = _tr(
            "It is deleted, also from the system keyring. This cannot be undone: you would have to enter the key again."
        )

        def remove() -> None:
            self._start(self._delete_api_key(server), "delete an API key")

        ConfirmDialog(self._look, title, text, _tr("Remove API key"), remove, self._dialog).open()

    async def _delete_api_key(self, server: str) -> None:
        title = self._dialog.providers.display_name(server)
        existed = await self._ask(lambda engine: engine.providers.remove_api_key(server))
        message = _tr("Deleted the API key for {}.") if existed else _tr("There is no API key for {}.")
        self._show_message(message.format(title))
        await self._look_again()

    def _confirm_removal(self, name: str) -> None:
        title = _tr("Remove the provider {}?").format(name)
        text = _tr(
            "Its address and its API key are deleted, and its models are removed from the default model and the tiers. "
            "Sessions are kept. This cannot be undone."
        )

        def remove() -> None:
            self._start(self._remove(name), "remove a provider")

        ConfirmDialog(self._look, title, text, _tr("Remove provider"), remove, self._dialog).open()

    async def _remove(self, name: str) -> None:
        await self._ask(lambda engine: engine.providers.remove(name))
        await self._read()
        self._show_message(_tr("Removed {} and its API key.").format(name))
        await self._look_again()

    async def _test(self, model: str) -> None:
        page = self._dialog.providers
        page.show_test(model, TonedText(_tr("Testing with two short requests…"), "second"))
        try:
            outcome = outcome_text(await self._ask(lambda engine: engine.test_model(model)))
        except Problem as problem:
            outcome = TonedText(f"{problem.details.message} {problem.details.cause}", "failed")
        if not self.closed:
            self._dialog.providers.show_test(model, outcome)

    async def _use(self, name: str, value: str) -> None:
        self._dialog.show_value(name, value)
        # Must be done before the list is refreshed, because the list marks the model in use.
        await self._change(name, value)
        await self._reload()


async def _tiers(engine: "Engine") -> Tiers:
    return engine.settings.current.tiers


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
