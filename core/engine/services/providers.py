"""The operations on model providers, with plain values in and out. API keys go in but never come out."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from core.domain.address import check_address
from core.domain.problems import ErrorDetails, Problem
from core.models.catalog import ModelCatalog
from core.models.endpoint import check_api_key
from core.models.local.local_models import LocalModels
from core.models.local_servers import find_running
from core.models.model import ModelError
from core.models.model_check import ModelCheck, check_model
from core.models.prices import price_table
from core.models.providers import ModelProvider
from core.settings.api_keys import ApiKey, KeyOwner
from core.settings.schema import Provider
from core.settings.settings_file import SettingsFile
from core.tools.web_search import WEB_SEARCH_ENGINES, key_owner

LIST_TIMEOUT_S = 5.0
PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model in a list; None means unknown. Prices are in US dollars per million tokens.

    `context_window` is in tokens; `window_from` and `price_from` say where the values come from.
    """

    name: str
    title: str = ""
    context_window: int | None = None
    window_from: str = ""
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    price_from: str = ""
    tools: bool | None = None
    images: bool | None = None


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider with its models.

    Attributes:
        api_format: the API format of its requests.
        added_by: whether the user added the provider or it is built in.
        key_from: where the API key is stored; empty without a key. The key itself is never included.
        key_variable: the environment variable that may contain the API key.
        reachable: whether the provider answered; None if it was not contacted.
        error: why the models could not be listed.
    """

    name: str
    title: str
    url: str
    api_format: str
    added_by: str
    key_from: str = ""
    needs_key: bool = False
    key_variable: str = ""
    reachable: bool | None = None
    models: tuple[ModelRow, ...] = ()
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class ProvidersOverview:
    """All providers, the keyring and the proxy in use.

    Attributes:
        model: the default model.
        keyring: the name of the keyring in use; empty if no safe keyring is available, see `keyring_error`.
        prices_date: the date of the bundled price table.
        proxy: the HTTP proxy in use.
        unused_proxy: an HTTP proxy that is set in the environment but not used.
    """

    providers: tuple[ProviderRow, ...]
    model: str
    keyring: str
    keyring_error: ErrorDetails | None
    prices_date: str
    prices_source: str
    proxy: str
    unused_proxy: str


class _Keyring(NamedTuple):
    """The name of the keyring in use, or why none can be used."""

    name: str = ""
    error: ErrorDetails | None = None


class Providers:
    """Lists providers, tests their models and stores their API keys."""

    def __init__(self, catalogue: ModelCatalog, settings: SettingsFile, environment: Mapping[str, str]) -> None:
        self._catalogue = catalogue
        self._settings = settings
        self._environment = environment

    @property
    def local_models(self) -> LocalModels:
        """The models that Journeyman runs itself. Raises `Problem` in a process that has none."""
        if self._catalogue.local_models is None:
            raise Problem("Local models are not available here.")
        return self._catalogue.local_models

    async def overview(self, *, refresh: bool = False) -> ProvidersOverview:
        """List the providers that have an API key, run on this computer, or were added by the user."""
        providers = [
            provider
            for provider in self._catalogue.providers().values()
            if not provider.is_embedded or await self._catalogue.list_models(provider)
        ]
        running = {provider.name for provider in await find_running(providers)}
        keyring = await self._keyring()
        keys = {provider.name: await self._key(provider, keyring) for provider in providers if not provider.free}
        rows = await asyncio.gather(
            *(
                self._row(provider, keys.get(provider.name, ApiKey()), provider.name in running, refresh)
                for provider in providers
            )
        )
        settings = self._settings.current
        return ProvidersOverview(
            providers=tuple(rows),
            model=settings.model,
            keyring=keyring.name,
            keyring_error=keyring.error,
            prices_date=price_table().date,
            prices_source=price_table().source,
            proxy=settings.proxy,
            unused_proxy=self._unused_proxy(),
        )

    async def test(self, name: str) -> ModelCheck:
        """Send two short real requests to a model and remember whether it accepts tool calls."""
        check = await check_model(name, self._catalogue.model(name))
        if check.calls_tools is not None and check.error is None:
            self._catalogue.record_tool_support(name, tools=check.calls_tools)
        return check

    def check(self, model: str) -> None:
        """Raise Problem if the name is not a valid model name."""
        self._catalogue.model(model, "{}")

    async def add(self, provider: Provider) -> None:
        """Add a provider, or change the one with its name. The API key is set separately and bound to the URL."""
        check_address(provider.url, provider.allow_http)
        others = tuple(other for other in self._settings.current.providers if other.name != provider.name)
        self._settings.change(providers=(*others, provider))

    async def remove(self, name: str) -> None:
        """Remove a provider that the user added, with its API key.

        If its models were the default or in a tier, they are removed from there, unless a built-in provider has the
        same name.
        """
        if name not in {provider.name for provider in self._settings.current.providers}:
            why = "Built-in providers cannot be removed." if name in self._catalogue.providers() else ""
            raise Problem(f"You have not added a provider {name!r}.", why, "List them with `journeyman models`.")
        with suppress(Problem):  # A key that an unavailable keyring cannot delete is no longer used.
            await self._catalogue.api_keys.delete(self._catalogue.provider(name).key_owner)
        remaining = tuple(provider for provider in self._settings.current.providers if provider.name != name)
        self._settings.change(providers=remaining)
        if name not in self._catalogue.providers():
            settings = self._settings.current
            model = "" if settings.model.startswith(f"{name}/") else settings.model
            self._settings.change(model=model, tiers=settings.tiers.without_provider(name))

    async def set_api_key(self, name: str, value: str, *, save: bool = True) -> ApiKey:
        """Store the API key of a provider or search engine, and return where it is stored.

        With `save` False it is held in memory only.
        """
        owner = self._owner(name)
        check_api_key(value)
        if not value:
            raise Problem("The API key is empty.", "", "Enter the key that the provider gave you.")
        if save:
            return await self._catalogue.api_keys.save(owner, value)
        return self._catalogue.api_keys.keep_in_memory(owner, value)

    async def remove_api_key(self, name: str) -> bool:
        """Remove an API key, and return whether there was one."""
        return await self._catalogue.api_keys.delete(self._owner(name))

    def _owner(self, name: str) -> KeyOwner:
        """Return the owner, under which keys are stored, for the name of a provider or of a search engine."""
        if name in WEB_SEARCH_ENGINES and name not in self._catalogue.providers():
            return key_owner(name, self._settings.current)
        return self._catalogue.provider(name).key_owner

    async def secrets(self) -> list[str]:
        """Return the user's secrets, so that they can be redacted from exports."""
        await self._keyring()  # Try again to open a keyring that was unavailable before.
        return await self._catalogue.secrets()

    async def _row(self, provider: ModelProvider, key: ApiKey, is_running: bool, fresh: bool) -> ProviderRow:
        row = ProviderRow(
            name=provider.name,
            title=provider.title,
            url=provider.url,
            api_format=provider.api,
            added_by=provider.url_from,
            key_from=key.source,
            needs_key=provider.requires_key,
            key_variable=provider.api_key_env,
            reachable=is_running if provider.is_local else None,
        )
        is_stopped = provider.is_local and not provider.is_embedded and not is_running
        is_set_up = provider.free or provider.url_from != "Journeyman" or bool(key.value)
        lacks_key = provider.requires_key and not key.value
        if is_stopped or lacks_key or not is_set_up:
            return row
        try:
            async with asyncio.timeout(LIST_TIMEOUT_S):
                listed = await self._catalogue.list_models(provider, fresh=fresh)
        except ModelError as fault:
            return replace(row, error=fault.details)
        except Problem as problem:
            return replace(row, error=problem.details)
        except TimeoutError:
            cause = f"It did not respond within {LIST_TIMEOUT_S:g} s."
            return replace(row, error=ErrorDetails(f"{provider.title} did not list its models.", cause))
        models = tuple(self._model(provider, model.id, model.name) for model in listed)
        return replace(row, reachable=True, models=models)

    def _model(self, provider: ModelProvider, model: str, title: str) -> ModelRow:
        name = f"{provider.name}/{model}"
        info = self._catalogue.known_info(name)
        row = ModelRow(name, title, info.window, info.window_from, tools=info.tools, images=info.images)
        if info.price is None:
            return row
        rates = info.price.rates
        return replace(
            row,
            price_in=rates.input,
            price_out=rates.output,
            price_cached=rates.cache_read,
            price_from=info.price.source,
        )

    async def _keyring(self) -> _Keyring:
        try:
            return _Keyring(await self._catalogue.api_keys.keyring_name())
        except Problem as problem:
            return _Keyring(error=problem.details)

    async def _key(self, provider: ModelProvider, keyring: _Keyring) -> ApiKey:
        if keyring.error:
            return self._catalogue.api_keys.find_without_keyring(provider.key_owner) or ApiKey()
        return await self._catalogue.api_keys.find(provider.key_owner)

    def _unused_proxy(self) -> str:
        if self._settings.current.proxy:
            return ""
        url = next((self._environment[name] for name in PROXY_VARIABLES if self._environment.get(name)), "")
        if not url:
            return ""
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
        except ValueError:
            return ""
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"  # The part before `@` may contain a password.
