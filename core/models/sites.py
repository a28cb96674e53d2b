"""Where models are: the servers that everybody knows, those of this machine, and those a person added."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from core.domain.address import is_loopback, origin_of
from core.settings.schema import Provider
from core.settings.secrets import Owner


@dataclass(frozen=True, slots=True)
class Site:
    """A model server by name.

    Attributes:
        wire: the format it speaks, a key of `WIRES`.
        variable: the environment variable that may hold its key; empty where none is used.
        needs_key: it answers nobody without one.
        prices: whose figures of our table hold for it.
        free: it works on this machine and charges nothing.
        by: who named it.
    """

    name: str
    title: str
    url: str
    wire: str = "chat"
    variable: str = ""
    needs_key: bool = True
    prices: str = ""
    free: bool = False
    plain: bool = False
    by: Literal["Journeyman", "you", "environment"] = "Journeyman"

    @property
    def owner(self) -> Owner:
        """Whose key it wants."""
        return Owner(self.name, origin_of(self.url), self.variable)

    @property
    def near(self) -> bool:
        """It is on this machine."""
        return bool(origin_of(self.url)) and is_loopback(urlsplit(self.url).hostname or "")


def _far(name: str, title: str, url: str, variable: str, wire: str = "chat", prices: str = "") -> Site:
    return Site(name, title, url, wire, variable, prices=prices or name)


def _near(name: str, title: str, url: str, wire: str = "chat") -> Site:
    return Site(name, title, url, wire, needs_key=False, free=True)


FAR = (
    _far("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "responses"),
    _far("anthropic", "Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    _far("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    _far("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _far("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _far("deepseek", "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    _far("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    _far("x.ai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    _far("moonshot", "Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    _far("zai", "Z.ai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    _far("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
)
NEAR = (  # on the ports they use unless told otherwise
    _near("ollama", "Ollama", "http://127.0.0.1:11434", "ollama"),
    _near("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    _near("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    _near("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
    _near("jan", "Jan", "http://127.0.0.1:1337/v1"),
)


def sites_of(added: Iterable[Provider], environment: Mapping[str, str]) -> dict[str, Site]:
    """Every server by name; what a person added goes before what stands in the environment, and that before ours."""
    found = {site.name: site for site in (*FAR, *NEAR)}
    if url := environment.get("OPENAI_BASE_URL", "").strip():
        found["openai"] = _of_openai(found["openai"], url)
    if host := environment.get("OLLAMA_HOST", "").strip():
        found["ollama"] = _of_ollama(found["ollama"], host)
    for provider in added:
        known = next((site for site in (*FAR, *NEAR) if same_origin(site.url, provider.url)), None)
        found[provider.name] = Site(
            provider.name,
            provider.name,
            provider.url,
            provider.wire,
            provider.variable,
            needs_key=False,
            prices=known.prices if known else "",
            free=known.free if known else False,
            plain=provider.plain,
            by="you",
        )
    return found


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses are of one server."""
    return origin_of(one) == origin_of(other) != ""


def _of_openai(site: Site, url: str) -> Site:
    if same_origin(site.url, url):
        return replace(site, url=url)
    return replace(site, url=url, wire="chat", prices="", needs_key=False, by="environment")


def _of_ollama(site: Site, host: str) -> Site:
    """As Ollama reads it: a host, a port, or an address; what a server listens on is not always where it is."""
    url = host if "://" in host else f"http://{'127.0.0.1' if host.startswith(':') else ''}{host}"
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return replace(site, url=url, by="environment")  # refused in words when it is used
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    port = port or (443 if parts.scheme == "https" else 11434)
    place = f"[{name}]" if ":" in name else name
    address = f"{parts.scheme}://{place}:{port}{parts.path.rstrip('/')}"
    return replace(site, url=address, free=is_loopback(name), plain=True, by="environment")
