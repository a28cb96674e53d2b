"""Web search with the search engine in the settings: requests, responses and API keys of the supported engines."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from core.domain.address import check_address, origin_of
from core.domain.problems import Problem
from core.models.json_values import as_objects, as_text, get_path, parse_json
from core.settings.api_keys import ApiKeys, KeyOwner
from core.settings.schema import Settings

TIMEOUT_S = 30.0
MAX_RESPONSE_BYTES = 2 << 20
SETTINGS_HINT = "Check Settings, Web search."


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result of a web search."""

    title: str
    url: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class WebSearchRequest:
    """One request to a search engine; with a `body` it is sent by POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class WebSearchResponse(NamedTuple):
    """The HTTP status and body with which a search engine answers."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class WebSearchEngine:
    """A search engine. `variable` is the environment variable of its API key; empty if it needs none."""

    title: str
    url: str
    variable: str
    request: Callable[[str, str, str, int], WebSearchRequest]  # (base URL, API key, query, number of results)
    parse_results: Callable[[Any], list[WebResult]]


def _searxng(base: str, _key: str, query: str, _count: int) -> WebSearchRequest:
    return WebSearchRequest(f"{base}/search?q={quote(query, safe='')}&format=json", {"accept": "application/json"})


def _brave(base: str, key: str, query: str, count: int) -> WebSearchRequest:
    headers = {"accept": "application/json", "x-subscription-token": key}
    return WebSearchRequest(f"{base}/res/v1/web/search?q={quote(query, safe='')}&count={count}", headers)


def _tavily(base: str, key: str, query: str, count: int) -> WebSearchRequest:
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    return WebSearchRequest(f"{base}/search", headers, json.dumps({"query": query, "max_results": count}).encode())


def _result_parser(excerpt_key: str, *path: str) -> Callable[[Any], list[WebResult]]:
    """Return a function that reads the list of results at `path` in a JSON response. Results without a URL are skipped.

    `excerpt_key` is the key of the excerpt in each result.
    """

    def parse_results(response: Any) -> list[WebResult]:
        rows = as_objects(get_path(response, *path))
        return [
            WebResult(title=as_text(row.get("title")), url=as_text(row["url"]), excerpt=as_text(row.get(excerpt_key)))
            for row in rows
            if as_text(row.get("url"))
        ]

    return parse_results


WEB_SEARCH_ENGINES: Mapping[str, WebSearchEngine] = MappingProxyType(
    {
        "searxng": WebSearchEngine(
            title="SearXNG",
            url="http://127.0.0.1:8888",
            variable="",
            request=_searxng,
            parse_results=_result_parser("content", "results"),
        ),
        "brave": WebSearchEngine(
            title="Brave Search",
            url="https://api.search.brave.com",
            variable="BRAVE_API_KEY",
            request=_brave,
            parse_results=_result_parser("description", "web", "results"),
        ),
        "tavily": WebSearchEngine(
            title="Tavily",
            url="https://api.tavily.com",
            variable="TAVILY_API_KEY",
            request=_tavily,
            parse_results=_result_parser("content", "results"),
        ),
    }
)


def key_owner(name: str, settings: Settings) -> KeyOwner:
    """Return the owner of an engine's API key, which is bound to the engine's URL in the settings."""
    return KeyOwner(name, origin_of(_base(name, settings)), WEB_SEARCH_ENGINES[name].variable)


def _base(name: str, settings: Settings) -> str:
    set_for = settings.search_url if settings.search_engine == name else ""
    return (set_for or WEB_SEARCH_ENGINES[name].url).rstrip("/")


@dataclass(frozen=True, slots=True)
class WebSearch:
    """Searches with the engine that is currently set. The API key is sent to the origin of the engine only."""

    settings: Callable[[], Settings]
    secrets: ApiKeys

    @property
    def host(self) -> str:
        """The host (with port, if any) that receives queries, as in permission rules; "" if no engine is set."""
        settings = self.settings()
        if settings.search_engine not in WEB_SEARCH_ENGINES:
            return ""
        return urlsplit(_base(settings.search_engine, settings)).netloc

    @property
    def proxy(self) -> str:
        """The URL of the HTTP proxy in the settings, or ""."""
        return self.settings().proxy

    async def search(self, query: str, count: int) -> list[WebResult]:
        """Return the results of a query; raise a Problem for every error of the engine."""
        settings = self.settings()
        engine = WEB_SEARCH_ENGINES.get(settings.search_engine)
        if engine is None:
            raise Problem("No search engine is set up.", "", "Continue without one, or ask the user to set one up.")
        key = await self._find_key(engine, settings) if engine.variable else ""
        request = engine.request(_base(settings.search_engine, settings), key, query, count)
        response = await _send(request, key, settings)
        if response.status >= 400:
            reason = _refusal_reason(settings.search_engine, response.status)
            raise Problem(f"{engine.title} refused the search.", reason, SETTINGS_HINT)
        content = parse_json(response.body.decode("utf-8", "replace"))
        if not isinstance(content, dict):
            raise Problem(f"{engine.title} did not return results.", "The response is not JSON.", SETTINGS_HINT)
        return engine.parse_results(content)[:count]

    async def _find_key(self, engine: WebSearchEngine, settings: Settings) -> str:
        key = await self.secrets.find(key_owner(settings.search_engine, settings))
        if not key.value:
            cause = key.error.message if key.error else "None is set."
            raise Problem(f"{engine.title} needs an API key.", cause, f"Ask the user to set one. {SETTINGS_HINT}")
        return key.value


def _refusal_reason(name: str, status: int) -> str:
    if name == "searxng" and status == 403:
        return "It does not return JSON: add `json` to `search: formats:` in its settings.yml."
    refused = "It does not accept the API key."
    reasons = {401: refused, 402: "The credit is used up.", 403: refused, 429: "It accepts no more requests for now."}
    return reasons.get(status, f"It returned status {status}.")


async def _send(request: WebSearchRequest, key: str, settings: Settings) -> WebSearchResponse:
    """Send a request with the HTTP client of the models: no proxy from the environment, no redirects, and limits."""
    from core.models.endpoint import ProviderEndpoint, RequestTimeouts
    from core.models.errors import ErrorContext
    from core.models.http import ModelHttpClient
    from core.models.mask import KeyMask
    from core.models.model import ModelError

    check_address(request.url.partition("?")[0], allow_http=not key)
    timeouts = RequestTimeouts(
        connect_s=settings.connect_timeout_s, first_event_s=TIMEOUT_S, idle_s=TIMEOUT_S, total_s=TIMEOUT_S
    )
    base = origin_of(request.url)
    server = ProviderEndpoint(base, key, allow_http=True, proxy=settings.proxy, timeouts=timeouts)
    error_context = ErrorContext(urlsplit(request.url).netloc, "", KeyMask(key))
    try:
        async with ModelHttpClient(server).request(request.url, error_context, request.headers, request.body) as answer:
            return WebSearchResponse(answer.status, await answer.read_body(MAX_RESPONSE_BYTES))
    except ModelError as error:
        raise Problem(error.details.message, error.details.cause, SETTINGS_HINT) from error
