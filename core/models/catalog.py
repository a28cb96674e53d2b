"""The catalog of models by name: `scripted`, the tiers, and PROVIDER/MODEL for every known provider."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from core.domain.external_agents import is_external_agent
from core.domain.problems import Problem
from core.domain.redact import secrets_in_environment
from core.domain.secret_formats import looks_random
from core.domain.tiers import choose_model
from core.models.endpoint import MAX_REPLY_S, ProviderEndpoint, RequestTimeouts
from core.models.local.local_models import LocalModels
from core.models.local.reply_timer import ReplyTimer
from core.models.mask import MIN_KEY_LENGTH, PLACEHOLDERS
from core.models.model import Model, ModelError, ReplyDelta, Request
from core.models.prices import FREE, ModelPrice, TokenRates, price_table
from core.models.providers import EMBEDDED_PROVIDER, ModelProvider, resolve_providers
from core.models.request_mask import RequestMask
from core.models.script import parse_script
from core.models.scripted_model import ScriptedModel
from core.settings.api_keys import ApiKey, ApiKeys, KeyOwner
from core.settings.schema import FIRST_TOKEN_TIMEOUT_S, Settings

if TYPE_CHECKING:  # the API formats import the HTTP library, which is deferred to the first request
    from core.models.api_client import ListedModel
    from core.models.api_formats import ProviderModel

SCRIPTED = "scripted"
TIER_NAMES = ("auto", "small", "mid", "frontier")
LIST_TIMEOUT_S = 3.0  # longest wait of a run for its provider's model list
# Timeouts for servers on this computer, which may take very long to read a prompt.
LOCAL_FIRST_TOKEN_S, LOCAL_REPLY_S = 3_600.0, 14_400.0
LIST_MAX_AGE_S = 600.0  # age after which a cached model list is fetched again
COMPACT_WINDOW = 32_768  # tokens; models with at most this context window get a compact prompt
SLOW_TOKENS_PER_S = 200  # a model counts as slow if it reads prompts at most this fast
MEASURED_TOKENS = 400  # prompt tokens below which the reading speed is not measured


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The known properties of a model, each from the most reliable source; None means unknown.

    Attributes:
        window: the context window in tokens; `window_from` names the source of the value.
        max_output: the longest possible reply in tokens.
        tools: whether the model supports tool calls.
    """

    window: int | None = None
    window_from: str = ""
    max_output: int | None = None
    images: bool | None = None
    pdf: bool | None = None
    tools: bool | None = None
    reasoning: bool | None = None
    price: ModelPrice | None = None


@dataclass(frozen=True, slots=True)
class CachedModelList:
    """A provider's model list by model id, and when it was fetched, in monotonic seconds."""

    models: "Mapping[str, ListedModel]"
    fetched_at: float


class ModelCatalog:
    """Looks up providers, their models and prices. Used only on the engine's event loop."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        api_keys: ApiKeys,
        environment: Mapping[str, str],
        save_settings: Callable[..., object] = lambda **values: None,
        local_models: LocalModels | None = None,
    ) -> None:
        """`save_settings` is called with settings that runs change, such as observed properties of models."""
        self._settings = settings
        self._environment = environment
        self._save_settings = save_settings
        self.api_keys = api_keys
        self.local_models = local_models
        self._lists: dict[ModelProvider, CachedModelList] = {}
        # Providers whose list was already requested because a context window was unknown.
        self._queried: set[ModelProvider] = set()
        self._mask = RequestMask()
        self._resolve_providers = lru_cache(maxsize=1)(lambda added: resolve_providers(added, environment))
        self._keys_read: set[KeyOwner] = set()  # owners whose API key was already read from the keyring
        self._tools: dict[str, bool] = {}  # by model name, tool support as observed from replies and errors

    def providers(self) -> dict[str, ModelProvider]:
        """Return all providers by name."""
        return self._resolve_providers(self._settings().providers)

    def provider(self, name: str) -> ModelProvider:
        """Return a provider by name; raise `Problem` if there is none."""
        providers = self.providers()
        if name not in providers:
            fix = f"Known providers: {', '.join(providers)}. To add one: journeyman models add NAME URL."
            raise Problem(f"There is no provider {name!r}.", "", fix)
        return providers[name]

    def parse_name(self, name: str) -> tuple[ModelProvider, str]:
        """Split PROVIDER/MODEL into the provider and its model's name; raise `Problem` for an unknown provider."""
        provider, slash, model = name.partition("/")
        if not (slash and provider and model):
            fix = "Name it as PROVIDER/MODEL, such as ollama/qwen3. To list the models: journeyman models."
            raise Problem(f"There is no model {name!r}.", "", fix)
        return self.provider(provider), model

    def model(self, name: str, script: str = "") -> Model:
        """Return the model for a run; raise `Problem` for an invalid name. Nothing is sent before the first request.

        `script` is the text of the script for the scripted model.
        """
        if name == SCRIPTED:
            return ScriptedModel(parse_script(script))
        if name in TIER_NAMES:
            return self.model(self.resolve_tier(name), script)
        if is_external_agent(name):
            return ExternalAgentModel(name)
        provider, model = self.parse_name(name)
        if not provider.is_embedded:
            self._endpoint(provider, ApiKey())
        return LazyProviderModel(self, name, provider, model)

    def is_on_this_computer(self, name: str) -> bool:
        """Return whether a model runs on this computer; False for external agents. Raise `Problem` if unknown."""
        if name in TIER_NAMES:
            return self.is_on_this_computer(self.resolve_tier(name))
        return name == SCRIPTED or (not is_external_agent(name) and self.parse_name(name)[0].is_local)

    def resolve_tier(self, name: str) -> str:
        """Return the model that `auto` or a tier selects for ordinary requests; raise `Problem` for empty tiers."""
        model = choose_model(self._settings().tiers, name, ("any",)).model
        if model in TIER_NAMES:
            fix = "Assign models to the tiers in the settings, or name a model as PROVIDER/MODEL."
            raise Problem(f"No model is set up for {name!r}.", "The tiers are empty.", fix)
        return model

    def known_info(self, name: str) -> ModelInfo:
        """Return the properties of a model that are known without sending a request."""
        if name == SCRIPTED:
            return ModelInfo()
        if name in TIER_NAMES:
            return self.known_info(self.resolve_tier(name))
        provider, model = self.parse_name(name)
        if provider.is_embedded:
            window = self.local_models.window(model) if self.local_models else None
            info = ModelInfo(window, "Journeyman" if window else "", price=FREE)
            return self._with_overrides(name, replace(info, tools=self._tool_support(name, info)))
        listed = self._lists.get(provider)
        row = price_table().find_row(provider.price_provider, model)
        info = self._listed_info(listed.models.get(model) if listed else None)
        if row and info.window is None:
            info = replace(info, window=row.window, window_from=row.price.source if row.window else "")
        price = FREE if provider.free and not model.endswith(("-cloud", ":cloud")) else info.price
        info = replace(info, price=price or (row.price if row else None), tools=self._tool_support(name, info))
        return self._with_overrides(name, info)

    async def fetch_info(self, name: str) -> ModelInfo:
        """Return the properties of a model, fetching its provider's model list if the context window is unknown.

        The list is fetched at most once, waiting at most LIST_TIMEOUT_S seconds; a failure is ignored.
        """
        try:
            info = self.known_info(name)
            if name == SCRIPTED or info.window is not None:
                return info
            provider, _ = self.parse_name(self.resolve_tier(name) if name in TIER_NAMES else name)
            if provider in self._lists or provider in self._queried:
                return info
            self._queried.add(provider)
            async with asyncio.timeout(LIST_TIMEOUT_S):
                await self.list_models(provider)
            return self.known_info(name)
        except (Problem, TimeoutError):
            return ModelInfo()

    def record_tool_support(self, name: str, tools: bool) -> None:
        """Record the observed tool support of a model, and save it for later runs."""
        self._tools[name] = tools
        current = self._settings().text_call_models
        if (name in current) is tools:
            with suppress(Problem):  # if saving fails, the next run will observe it again
                names = (*(model for model in current if model != name), *(() if tools else (name,)))
                self._save_settings(text_call_models=names)
        if name in self._settings().text_call_models:
            del self._tools[name]  # from now on only the settings count, which the user may change

    async def needs_compact_prompt(self, name: str) -> bool:
        """Return whether to send a compact prompt, as the user chose, or else to slow models and small windows."""
        settings = self._settings()
        if settings.prompt_size != "auto" or name == SCRIPTED or is_external_agent(name):
            return settings.prompt_size == "compact"
        window = (await self.fetch_info(name)).window
        return name in settings.slow_models or (window is not None and window <= COMPACT_WINDOW)

    def note_prompt_speed(self, name: str, tokens: int, seconds: float) -> None:
        """Save that a local model is slow, if it needed this many seconds to read a prompt of this many tokens."""
        if tokens < MEASURED_TOKENS or seconds * SLOW_TOKENS_PER_S < tokens or name in (SCRIPTED, *TIER_NAMES):
            return
        settings = self._settings()
        with suppress(Problem):  # if this fails, the next run will measure again
            if name not in settings.slow_models and self.parse_name(name)[0].is_local:
                self._save_settings(slow_models=(*settings.slow_models, name))

    def supports_tools(self, name: str) -> bool | None:
        """Return whether a model supports tool calls; None if that, or the model, is unknown."""
        try:
            return self.known_info(name).tools
        except Problem:
            return None

    def _tool_support(self, name: str, info: ModelInfo) -> bool | None:
        """Return the tool support of a model from the user's settings, else as observed, else as listed."""
        return False if name in self._settings().text_call_models else self._tools.get(name, info.tools)

    async def list_models(self, provider: ModelProvider, *, fresh: bool = False) -> "tuple[ListedModel, ...]":
        """Return a provider's models, from the cache unless it is too old or `fresh` is set.

        Raise `ModelError` if the request fails, or `Problem` if the provider is misconfigured.
        """
        if provider.is_embedded:
            from core.models.api_client import ListedModel

            rows = self.local_models.rows() if self.local_models else []
            return tuple(ListedModel(row.name, row.title) for row in rows if row.is_available)
        cached = self._lists.get(provider)
        if cached is None or fresh or time.monotonic() - cached.fetched_at > LIST_MAX_AGE_S:
            models = await (await self.connect(provider, "")).list_models()
            cached = self._lists[provider] = CachedModelList({model.id: model for model in models}, time.monotonic())
        return tuple(cached.models.values())

    async def connect(
        self, provider: ModelProvider, model: str, timeouts: RequestTimeouts | None = None
    ) -> "ProviderModel":
        """Return a model connected to its provider with the API key; raise `ModelError` if that is missing."""
        from core.models.api_client import UNKNOWN_LIMITS, ModelLimits
        from core.models.api_formats import API_FORMATS

        key = await self.api_keys.find(provider.key_owner)
        if provider.requires_key and not key.value:
            cause = f"{key.error.message} {key.error.cause}".strip() if key.error else "None is set."
            fix = (
                f"Set it with: journeyman models key {provider.name}, or set {provider.api_key_env} in the environment."
            )
            raise ModelError(f"There is no API key for {provider.title}.", cause, fix, retryable=False, kind="key")
        info = self.known_info(f"{provider.name}/{model}") if model else ModelInfo()
        # Ollama reports the largest possible window, which could exhaust the memory. Its API format requests what is
        # needed.
        window = info.window if provider.api != "ollama" or info.window_from == "you" else None
        limits = ModelLimits(info.max_output, window, info.images, info.pdf) if model else UNKNOWN_LIMITS
        return API_FORMATS[provider.api](self._endpoint(provider, key, timeouts), model, limits)

    def is_loaded(self, model: str) -> bool:
        """Return whether a model of the embedded provider is loaded into memory."""
        return self.local_models is not None and self.local_models.is_loaded(model)

    @asynccontextmanager
    async def connect_embedded(self, model: str) -> "AsyncGenerator[ProviderModel, None]":
        """Yield a model of the embedded provider, whose server keeps running while the context is open."""
        from core.models.api_client import ModelLimits
        from core.models.chat import ChatCompletionsModel
        from core.models.dialects import EMBEDDED_DIALECT

        if self.local_models is None:
            raise ModelError("Local models are not available here.", retryable=False)
        async with self.local_models.serving(model) as served:
            endpoint = self._endpoint(replace(EMBEDDED_PROVIDER, url=served.url), ApiKey(served.key))
            window = self.known_info(f"{EMBEDDED_PROVIDER.name}/{model}").window
            yield ChatCompletionsModel(endpoint, model, ModelLimits(None, window), EMBEDDED_DIALECT)

    async def masked(self, request: Request) -> Request:
        """Return a request in which the user's API keys and other secrets are masked."""
        self._mask.set_known(await self.secrets(uncertain=False))
        return self._mask.apply(request)

    async def secrets(self, *, uncertain: bool = True) -> list[str]:
        """Return the user's secrets: API keys, and the values of environment variables with names such as `TOKEN`.

        After a failure, the keyring is not read again until one of its operations succeeds. Without `uncertain`,
        variables whose value may be an ordinary word, such as the password `postgres`, are left out.
        """
        providers = self.providers().values()
        unread = [provider.key_owner for provider in providers if provider.key_owner not in self._keys_read]
        if unread and not self.api_keys.lookup_failed and await self.api_keys.look_up(unread):
            self._keys_read.update(unread)
        lookups = (self.api_keys.find_without_keyring(provider.key_owner) for provider in providers)
        keys = {*self.api_keys.seen, *(key.value for key in lookups if key)}
        variables = secrets_in_environment(self._environment)
        return [
            *(key for key in keys if len(key) >= MIN_KEY_LENGTH and key.lower() not in PLACEHOLDERS),
            *(value for value in variables if uncertain or looks_random(value)),
        ]

    def _endpoint(
        self, provider: ModelProvider, key: ApiKey, timeouts: RequestTimeouts | None = None
    ) -> ProviderEndpoint:
        settings = self._settings()
        first_token_s = settings.first_token_timeout_s
        if provider.is_local and first_token_s == FIRST_TOKEN_TIMEOUT_S:
            first_token_s = LOCAL_FIRST_TOKEN_S
        request_timeouts = timeouts or RequestTimeouts(
            connect_s=settings.connect_timeout_s,
            first_event_s=first_token_s,
            idle_s=settings.idle_timeout_s,
            total_s=LOCAL_REPLY_S if provider.is_local else MAX_REPLY_S,
        )
        return ProviderEndpoint(
            provider.url,
            key.value,
            allow_http=provider.allow_http,
            proxy=settings.proxy,
            only_own=provider.url_from == "Journeyman",
            timeouts=request_timeouts,
        )

    def _listed_info(self, listed: "ListedModel | None") -> ModelInfo:
        if listed is None:
            return ModelInfo()
        price = None
        if listed.price_in is not None and listed.price_out is not None:
            price = ModelPrice(TokenRates(listed.price_in, listed.price_out, listed.price_cached), source="provider")
        source = "provider" if listed.window else ""
        return ModelInfo(
            window=listed.window,
            window_from=source,
            max_output=listed.max_output,
            images=listed.vision,
            pdf=listed.pdf,
            tools=listed.tools,
            reasoning=listed.reasoning,
            price=price,
        )

    def _with_overrides(self, name: str, info: ModelInfo) -> ModelInfo:
        """Apply the values that the user has set for a model, which override all others."""
        override = next((entry for entry in self._settings().prices if entry.model == name), None)
        if override is None:
            return info
        if override.context_window is not None:
            info = replace(info, window=override.context_window, window_from="you")
        if override.input is not None and override.output is not None:
            info = replace(
                info, price=ModelPrice(TokenRates(override.input, override.output, override.cache_read), source="you")
            )
        return info


class ExternalAgentModel:
    """Stands in for the model of a session that an external agent runs; it raises `ModelError` for every request."""

    window = 0

    def __init__(self, name: str) -> None:
        self._name = name

    def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        cause, fix = "It is an external agent, not a model.", "Choose a model for this task."
        raise ModelError(f"{self._name} cannot answer this request.", cause, fix, retryable=False)


class LazyProviderModel:
    """A model of a provider, whose API key and limits are looked up only with the first request."""

    def __init__(self, catalog: ModelCatalog, name: str, provider: ModelProvider, model: str) -> None:
        self._catalog = catalog
        self._name = name
        self._provider = provider
        self._model = model
        self._remote: ProviderModel | None = None

    @property
    def window(self) -> int:
        """The context window in tokens; 0 while it is unknown."""
        return self._catalog.known_info(self._name).window or 0

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the reply. Deltas with token usage also contain the cost, if the price is known."""
        try:
            async with AsyncExitStack() as exit_stack:
                if self._provider.is_embedded:
                    if not self._catalog.is_loaded(self._model):
                        yield ReplyDelta(activity="loading the model")
                    remote = await exit_stack.enter_async_context(self._catalog.connect_embedded(self._model))
                else:
                    remote = await self._connected()
                deltas = await exit_stack.enter_async_context(
                    aclosing(remote.stream(await self._catalog.masked(request)))
                )
                timer = ReplyTimer()
                async for delta in deltas:
                    timer.add(delta)
                    yield self._priced(delta) if delta.usage else delta
                if self._provider.is_embedded and self._catalog.local_models is not None:
                    self._catalog.local_models.record_speed(self._model, timer.speed())
        except ModelError as error:
            if error.kind == "no_tools":
                self._catalog.record_tool_support(self._name, tools=False)
            if error.kind == "key":
                self._remote = None  # look up the key again next time, because the user may set another one
            raise

    async def _connected(self) -> "ProviderModel":
        """Return the model connected to its provider, connecting at the first call."""
        if self._remote is None:
            await self._catalog.fetch_info(self._name)
            self._remote = await self._catalog.connect(self._provider, self._model)
        return self._remote

    def _priced(self, delta: ReplyDelta) -> ReplyDelta:
        price = self._catalog.known_info(self._name).price
        return replace(delta, cost=price.cost(delta.usage)) if price and delta.usage else delta
