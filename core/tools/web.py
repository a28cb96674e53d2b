"""The search engine a person set: where it is, whose key it wants, how it is asked, what its answers say."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from core.domain.address import check_address, origin_of
from core.domain.problems import Problem
from core.models.plain import at, loaded, objects, text
from core.settings.schema import Settings
from core.settings.secrets import Owner, Secrets

SECONDS = 30.0
LARGEST = 2 << 20
SET = "Look at the settings, page Web search."


@dataclass(frozen=True, slots=True)
class Hit:
    """One place that was found."""

    title: str
    url: str
    words: str


@dataclass(frozen=True, slots=True)
class Asking:
    """One request to an engine; with a `body` it is sent by POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """How one engine is spoken to. `variable` may hold its key; empty where it wants none."""

    title: str
    url: str
    variable: str
    asking: Callable[[str, str, str, int], Asking]  # base, key, query, count
    hits: Callable[[Any], list[Hit]]


def _searxng(base: str, _key: str, query: str, _count: int) -> Asking:
    return Asking(f"{base}/search?q={quote(query, safe='')}&format=json", {"accept": "application/json"})


def _brave(base: str, key: str, query: str, count: int) -> Asking:
    headers = {"accept": "application/json", "x-subscription-token": key}
    return Asking(f"{base}/res/v1/web/search?q={quote(query, safe='')}&count={count}", headers)


def _tavily(base: str, key: str, query: str, count: int) -> Asking:
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    return Asking(f"{base}/search", headers, json.dumps({"query": query, "max_results": count}).encode())


def _read(words: str, *path: str) -> Callable[[Any], list[Hit]]:
    """The hits at this path of an answer; what has no address is none."""

    def hits(plain: Any) -> list[Hit]:
        rows = objects(at(plain, *path))
        return [
            Hit(text(row.get("title")), text(row["url"]), text(row.get(words))) for row in rows if text(row.get("url"))
        ]

    return hits


ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "searxng": Engine("SearXNG", "http://127.0.0.1:8888", "", _searxng, _read("content", "results")),
        "brave": Engine(
            "Brave Search",
            "https://api.search.brave.com",
            "BRAVE_API_KEY",
            _brave,
            _read("description", "web", "results"),
        ),
        "tavily": Engine("Tavily", "https://api.tavily.com", "TAVILY_API_KEY", _tavily, _read("content", "results")),
    }
)


def owner(name: str, settings: Settings) -> Owner:
    """Whose key it is: of the engine, at the address that is set for it."""
    return Owner(name, origin_of(_base(name, settings)), ENGINES[name].variable)


def _base(name: str, settings: Settings) -> str:
    set_for = settings.web_search_url if settings.web_search == name else ""
    return (set_for or ENGINES[name].url).rstrip("/")


@dataclass(frozen=True, slots=True)
class Web:
    """Asks the engine that is set now. Its key goes to its own origin and nowhere else."""

    settings: Callable[[], Settings]
    secrets: Secrets

    @property
    def host(self) -> str:
        """Where words go, as rules name it; empty where no engine is set."""
        now = self.settings()
        return urlsplit(_base(now.web_search, now)).netloc if now.web_search in ENGINES else ""

    async def search(self, query: str, count: int) -> list[Hit]:
        """What the engine finds. Raises Problem, in words, for whatever it says instead."""
        now = self.settings()
        engine = ENGINES.get(now.web_search)
        if engine is None:
            raise Problem("No search engine is set.", "", "Do without, or ask the person to set one.")
        key = ""
        if engine.variable:
            found = await self.secrets.find(owner(now.web_search, now))
            if not found.value:
                why = found.trouble.what if found.trouble else "None was given."
                raise Problem(f"{engine.title} needs a key.", why, f"Ask the person to give one. {SET}")
            key = found.value
        asking = engine.asking(_base(now.web_search, now), key, query, count)
        status, body = await _answer(asking, key, now)
        if status >= 400:
            raise Problem(f"{engine.title} did not search.", _why(now.web_search, status), SET)
        plain = loaded(body.decode("utf-8", "replace"))
        if not isinstance(plain, dict):
            raise Problem(f"{engine.title} answered with something else than results.", "It is no JSON.", SET)
        return engine.hits(plain)[:count]


def _why(name: str, status: int) -> str:
    if name == "searxng" and status == 403:
        return "It gives no JSON: `json` must stand among `search: formats:` in its settings.yml."
    said = {401: "It does not accept the key.", 403: "It does not accept the key.", 402: "It gives no more credit."}
    return said.get(status) or ("It takes no more requests for now." if status == 429 else f"It answered {status}.")


async def _answer(asking: Asking, key: str, settings: Settings) -> tuple[int, bytes]:
    """By the door that models are asked through: no proxy of the environment, no redirects, and bounds."""
    from core.models.faults import Place
    from core.models.http import Http
    from core.models.mask import Mask
    from core.models.model import Fault
    from core.models.server import Patience, Server

    check_address(asking.url.partition("?")[0], plain=not key)
    patience = Patience(settings.connect_s, SECONDS, SECONDS, SECONDS)
    base = origin_of(asking.url)
    server = Server(base, key, plain=True, proxy=settings.proxy, patience=patience)
    place = Place(urlsplit(asking.url).netloc, "", Mask(key))
    try:
        async with Http(server).ask(asking.url, place, asking.headers, asking.body) as answer:
            return answer.status, await answer.body(LARGEST)
    except Fault as fault:
        raise Problem(fault.trouble.what, fault.trouble.why, SET) from fault
