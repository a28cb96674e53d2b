"""Every model there is, by name: the scripted one, and PROVIDER/MODEL at every server that is known."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.domain.agents import is_agent
from core.domain.problems import Problem
from core.domain.tiers import choose
from core.models.model import Delta, Fault, Model, Request
from core.models.price import FREE, Figures, Price, table
from core.models.script import read_script
from core.models.scripted import Scripted
from core.models.server import Patience, Server
from core.models.sites import Site, sites_of
from core.settings.schema import Settings
from core.settings.secrets import Key, Secrets

if TYPE_CHECKING:  # the wires bring the library for HTTP, which is loaded when a server is first spoken to
    from core.models.wire import Listed
    from core.models.wires import Remote

SCRIPTED = "scripted"
CHOSEN = ("auto", "small", "mid", "frontier")
LIST_S = 3.0  # so long a run waits for what its server says of the model
KEPT_S = 600.0  # so long a list holds


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model, the best source of each; None is unknown, and never taken for nothing.

    Attributes:
        window: tokens that fit, and whose word that is.
        output: tokens a reply may have.
        tools: it takes tool calls.
    """

    window: int | None = None
    window_from: str = ""
    output: int | None = None
    images: bool | None = None
    pdf: bool | None = None
    tools: bool | None = None
    reasoning: bool | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Lists:
    """What a server listed, and when."""

    models: "Mapping[str, Listed]"
    at: float


class Catalogue:
    """Knows the servers, their models, and what these cost. Lives on the engine's loop."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        secrets: Secrets,
        environment: Mapping[str, str],
        keep: Callable[[tuple[str, ...]], object] | None = None,
    ) -> None:
        """`keep` writes down the names of models without tool calls."""
        self._settings = settings
        self._environment = environment
        self._keep = keep
        self.secrets = secrets
        self._lists: dict[Site, Lists] = {}
        self._asked: set[Site] = set()  # once, by a run that did not know its window
        self._tools: dict[str, bool] = {}  # what was found out by trying

    def sites(self) -> dict[str, Site]:
        """Every server by name."""
        return sites_of(self._settings().providers, self._environment)

    def site(self, name: str) -> Site:
        """A server by name."""
        sites = self.sites()
        if name not in sites:
            do = f"Known are {', '.join(sites)}. Add another: journeyman models add NAME URL."
            raise Problem(f"There is no provider {name!r}.", "", do)
        return sites[name]

    def named(self, name: str) -> tuple[Site, str]:
        """The server and the model of PROVIDER/MODEL."""
        provider, slash, model = name.partition("/")
        if not (slash and provider and model):
            do = "Name it as PROVIDER/MODEL, such as ollama/qwen3. `journeyman models` lists what there is."
            raise Problem(f"There is no model {name!r}.", "", do)
        return self.site(provider), model

    def model(self, name: str, script: str = "") -> Model:
        """The model of a run. Says at once what is wrong with its name, and of its server when it is asked."""
        if name == SCRIPTED:
            return Scripted(read_script(script))
        if name in CHOSEN:
            return self.model(self.chosen(name), script)
        if is_agent(name):
            return Elsewhere(name)
        site, model = self.named(name)
        self._server(site, Key())
        return Served(self, name, site, model)

    def chosen(self, name: str) -> str:
        """The model that does most work where the tiers choose."""
        found = choose(self._settings().tiers, name, ("any",)).model
        if found in CHOSEN:
            do = "Give the tiers their models in the settings, or name a model as PROVIDER/MODEL."
            raise Problem(f"No model is set up for {name!r}.", "The tiers are empty.", do)
        return found

    def facts(self, name: str) -> Facts:
        """What is known by now, without asking anybody."""
        if name == SCRIPTED:
            return Facts()
        if name in CHOSEN:
            return self.facts(self.chosen(name))
        site, model = self.named(name)
        listed = self._lists.get(site)
        row = table().row(site.prices, model)
        known = self._of_list(listed.models.get(model) if listed else None)
        if row and known.window is None:
            known = replace(known, window=row.window, window_from=row.price.source if row.window else "")
        price = FREE if site.free and not model.endswith(("-cloud", ":cloud")) else known.price
        known = replace(known, price=price or (row.price if row else None), tools=self._takes_calls(name, known))
        return self._of_person(name, known)

    async def learn(self, name: str) -> Facts:
        """What is known, after its server had a moment to say it; one that says nothing holds up nobody."""
        try:
            facts = self.facts(name)
            if name == SCRIPTED or facts.window is not None:
                return facts
            site, _ = self.named(self.chosen(name) if name in CHOSEN else name)
            if site in self._lists or site in self._asked:
                return facts
            self._asked.add(site)
            async with asyncio.timeout(LIST_S):
                await self.listed(site)
            return self.facts(name)
        except (Problem, TimeoutError):
            return Facts()

    def found_out(self, name: str, tools: bool) -> None:
        """Whether a model takes tool calls, seen by trying; kept, so that the next run knows it at once."""
        self._tools[name] = tools
        now = self._settings().text_calls
        if self._keep and (name in now) is tools:
            with suppress(Problem):  # what cannot be written down is found out again
                self._keep((*(one for one in now if one != name), *(() if tools else (name,))))
        if name in self._settings().text_calls:
            del self._tools[name]  # the settings say it, and a person may change them

    def takes_calls(self, name: str) -> bool | None:
        """Whether a model takes tool calls; None is unknown."""
        try:
            return self.facts(name).tools
        except Problem:
            return None

    def _takes_calls(self, name: str, known: Facts) -> bool | None:
        """A person's word first, then what was found out, then what its server says."""
        return False if name in self._settings().text_calls else self._tools.get(name, known.tools)

    async def listed(self, site: Site, *, fresh: bool = False) -> "tuple[Listed, ...]":
        """The models of a server as it lists them. Raises Fault, or Problem where it cannot even be asked."""
        kept = self._lists.get(site)
        if kept is None or fresh or time.monotonic() - kept.at > KEPT_S:
            models = await (await self.remote(site, "")).list_models()
            kept = self._lists[site] = Lists({one.id: one for one in models}, time.monotonic())
        return tuple(kept.models.values())

    async def remote(self, site: Site, model: str, patience: Patience | None = None) -> "Remote":
        """A model at its server, with the key that is its own."""
        from core.models.wire import UNKNOWN, Known
        from core.models.wires import WIRES

        key = await self.secrets.find(site.owner)
        if site.needs_key and not key.value:
            why = f"{key.trouble.what} {key.trouble.why}".strip() if key.trouble else "None was given."
            do = f"Give it: journeyman models key {site.name}, or set {site.variable}."
            raise Fault(f"There is no key for {site.title}.", why, do, again=False, kind="key")
        facts = self.facts(f"{site.name}/{model}") if model else Facts()
        # The largest window that Ollama could give would fill the memory; its wire asks for what is needed.
        window = facts.window if site.wire != "ollama" or facts.window_from == "you" else None
        known = Known(facts.output, window, facts.images, facts.pdf) if model else UNKNOWN
        return WIRES[site.wire](self._server(site, key, patience), model, known)

    def _server(self, site: Site, key: Key, patience: Patience | None = None) -> Server:
        now = self._settings()
        waits = patience or Patience(now.connect_s, now.first_s, now.silence_s)
        return Server(site.url, key.value, plain=site.plain, proxy=now.proxy, patience=waits)

    def _of_list(self, one: "Listed | None") -> Facts:
        if one is None:
            return Facts()
        price = None
        if one.price_in is not None and one.price_out is not None:
            price = Price(Figures(one.price_in, one.price_out, one.price_cached), source="its server")
        source = "its server" if one.window else ""
        return Facts(one.window, source, one.output, one.vision, one.pdf, one.tools, one.reasoning, price)

    def _of_person(self, name: str, known: Facts) -> Facts:
        """A person's own figures go before all."""
        mine = next((one for one in self._settings().prices if one.model == name), None)
        if mine is None:
            return known
        if mine.window is not None:
            known = replace(known, window=mine.window, window_from="you")
        if mine.input is not None and mine.output is not None:
            known = replace(known, price=Price(Figures(mine.input, mine.output, mine.cached), source="you"))
        return known


class Elsewhere:
    """In the place of a model where an agent of others works: nothing is asked of it but in its own sessions."""

    window = 0

    def __init__(self, name: str) -> None:
        self._name = name

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        why, do = "It is an agent of others and no model.", "Choose a model for this work."
        raise Fault(f"{self._name} cannot be asked this.", why, do, again=False)


class Served:
    """A model at a server: its key is found and its server asked when the first request is made."""

    def __init__(self, catalogue: Catalogue, name: str, site: Site, model: str) -> None:
        self._catalogue = catalogue
        self._name = name
        self._site = site
        self._model = model
        self._remote: Remote | None = None

    @property
    def window(self) -> int:
        """The most tokens that a request may have, as far as is known by now; 0 is unknown."""
        return self._catalogue.facts(self._name).window or 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply, and what it cost where the price is known."""
        if self._remote is None:
            await self._catalogue.learn(self._name)
            self._remote = await self._catalogue.remote(self._site, self._model)
        try:
            async with aclosing(self._remote.stream(request)) as deltas:
                async for delta in deltas:
                    yield self._priced(delta) if delta.usage else delta
        except Fault as fault:
            if fault.kind == "no_tools":
                self._catalogue.found_out(self._name, tools=False)
            if fault.kind == "key":
                self._remote = None  # a person may have given another meanwhile
            raise

    def _priced(self, delta: Delta) -> Delta:
        price = self._catalogue.facts(self._name).price
        return replace(delta, cost=price.cost(delta.usage)) if price and delta.usage else delta
