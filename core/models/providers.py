"""The model providers by name: built-in hosted and local ones, environment overrides, and those added by the user."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from core.domain.address import is_loopback, origin_of
from core.settings.api_keys import KeyOwner
from core.settings.schema import Provider


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """A model provider and how to connect to it.

    Attributes:
        api: the API format, a key of `API_FORMATS`.
        api_key_env: the environment variable that may contain the API key; "" if there is none.
        requires_key: whether requests without an API key are rejected.
        price_provider: the provider whose rows of the bundled price table apply; "" if none do.
        free: whether it runs on this computer and costs nothing.
        allow_http: whether unencrypted HTTP to other computers is allowed.
        url_from: who set the URL.
    """

    name: str
    title: str
    url: str
    api: str = "chat"
    api_key_env: str = ""
    requires_key: bool = True
    price_provider: str = ""
    free: bool = False
    allow_http: bool = False
    url_from: Literal["Journeyman", "you", "environment"] = "Journeyman"

    @property
    def key_owner(self) -> KeyOwner:
        """The owner of the provider's API key, which is bound to the origin of the URL."""
        return KeyOwner(self.name, origin_of(self.url), self.api_key_env)

    @property
    def is_embedded(self) -> bool:
        """Whether Journeyman runs the models itself. Then each model in use has its own URL, and `url` is ""."""
        return self == EMBEDDED_PROVIDER

    @property
    def is_local(self) -> bool:
        """Whether the models run on this computer: the URL is a loopback address, or Journeyman runs them."""
        return self.is_embedded or (bool(origin_of(self.url)) and is_loopback(urlsplit(self.url).hostname or ""))


def _hosted(name: str, title: str, url: str, variable: str, api: str = "chat", prices: str = "") -> ModelProvider:
    return ModelProvider(name=name, title=title, url=url, api=api, api_key_env=variable, price_provider=prices or name)


def _local(name: str, title: str, url: str, api: str = "chat") -> ModelProvider:
    return ModelProvider(name=name, title=title, url=url, api=api, requires_key=False, free=True)


HOSTED_PROVIDERS = (
    _hosted("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "responses"),
    _hosted("anthropic", "Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    _hosted("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    _hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _hosted("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _hosted("deepseek", "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    _hosted("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    _hosted("x.ai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    _hosted("moonshot", "Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    _hosted("zai", "Z.ai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    _hosted("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
)
LOCAL_PROVIDERS = (  # with their default ports
    _local("ollama", "Ollama", "http://127.0.0.1:11434", "ollama"),
    _local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    _local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    _local("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
    _local("jan", "Jan", "http://127.0.0.1:1337/v1"),
)


EMBEDDED_PROVIDER = _local("local", "This computer", "")
BUILTIN_PROVIDERS = (*HOSTED_PROVIDERS, *LOCAL_PROVIDERS, EMBEDDED_PROVIDER)


def resolve_providers(added: Iterable[Provider], environment: Mapping[str, str]) -> dict[str, ModelProvider]:
    """Return all providers by name. Those of the user override the environment, which overrides built-in ones."""
    providers = {builtin.name: builtin for builtin in BUILTIN_PROVIDERS}
    if url := environment.get("OPENAI_BASE_URL", "").strip():
        providers["openai"] = _with_openai_base_url(providers["openai"], url)
    if host := environment.get("OLLAMA_HOST", "").strip():
        providers["ollama"] = _with_ollama_host(providers["ollama"], host)
    for provider in added:
        same_builtin = next(
            (builtin for builtin in (*HOSTED_PROVIDERS, *LOCAL_PROVIDERS) if same_origin(builtin.url, provider.url)),
            None,
        )
        providers[provider.name] = ModelProvider(
            name=provider.name,
            title=provider.name,
            url=provider.url,
            api=provider.api,
            api_key_env=provider.api_key_env,
            requires_key=False,
            price_provider=same_builtin.price_provider if same_builtin else "",
            free=same_builtin.free if same_builtin else False,
            allow_http=provider.allow_http,
            url_from="you",
        )
    return providers


def same_origin(url: str, other_url: str) -> bool:
    """Return whether two URLs have the same origin; False for an invalid URL."""
    return origin_of(url) == origin_of(other_url) != ""


def _with_openai_base_url(provider: ModelProvider, url: str) -> ModelProvider:
    if same_origin(provider.url, url):
        return replace(provider, url=url)
    return replace(provider, url=url, api="chat", price_provider="", requires_key=False, url_from="environment")


def _with_ollama_host(provider: ModelProvider, host: str) -> ModelProvider:
    """Return the provider with the URL in OLLAMA_HOST, parsed as Ollama does: a host, a port or a URL.

    A wildcard address (`0.0.0.0` or `::`) is replaced by the loopback address.
    """
    url = host if "://" in host else f"http://{'127.0.0.1' if host.startswith(':') else ''}{host}"
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        # It is invalid. It is rejected with an explanation when it is used.
        return replace(provider, url=url, url_from="environment")
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    port = port or (443 if parts.scheme == "https" else 11434)
    netloc_host = f"[{name}]" if ":" in name else name
    address = f"{parts.scheme}://{netloc_host}:{port}{parts.path.rstrip('/')}"
    return replace(provider, url=address, free=is_loopback(name), allow_http=True, url_from="environment")
