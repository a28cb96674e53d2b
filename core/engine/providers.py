"""The model servers as a person sees and sets them: plain values in and out, a key never out."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from core.domain.address import check_address
from core.domain.problems import Problem, Trouble
from core.domain.redact import known_in
from core.models.catalogue import Catalogue
from core.models.local import listening
from core.models.model import Fault
from core.models.price import table
from core.models.server import check_key
from core.models.sites import Site
from core.models.trial import Trial, try_model
from core.settings.file import SettingsFile
from core.settings.schema import Provider, Wire
from core.settings.secrets import Key, Owner
from core.tools.web import ENGINES, owner

LIST_S = 5.0
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model as a person sees it; None is unknown. Prices are in US dollars for a million tokens."""

    name: str
    title: str = ""
    window: int | None = None
    window_from: str = ""
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    price_from: str = ""
    tools: bool | None = None
    images: bool | None = None


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A server: who named it, where its key is from (never the key), whether it is there, and what it lists."""

    name: str
    title: str
    url: str
    wire: str
    by: str
    key_from: str = ""
    needs_key: bool = False
    variable: str = ""
    there: bool | None = None
    models: tuple[ModelRow, ...] = ()
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything about models on one page.

    Attributes:
        keyring: the keyring in use; empty where there is none to trust, and then `keyring_trouble` says why.
        prices_date: the day of the bundled table.
        proxy: the one in use.
        proxy_offered: one that stands in the environment and is not used.
    """

    providers: tuple[ProviderRow, ...]
    model: str
    keyring: str
    keyring_trouble: Trouble | None
    prices_date: str
    prices_source: str
    proxy: str
    proxy_offered: str


class Providers:
    """Looks at the servers, tries their models, keeps their keys."""

    def __init__(self, catalogue: Catalogue, settings: SettingsFile, environment: Mapping[str, str]) -> None:
        self._catalogue = catalogue
        self._settings = settings
        self._environment = environment

    async def overview(self, *, fresh: bool = False) -> Overview:
        """Every server in use: those with a key, those that answer on this machine, those a person added."""
        sites = list(self._catalogue.sites().values())
        there = {site.name for site in await listening(sites)}
        keyring, trouble = await self._keyring()
        keys = {site.name: await self._key(site, trouble) for site in sites if not site.free}
        rows = await asyncio.gather(
            *(self._row(site, keys.get(site.name, Key()), site.name in there, fresh) for site in sites)
        )
        now = self._settings.now
        return Overview(
            tuple(rows), now.model, keyring, trouble, table().date, table().source, now.proxy, self._offered()
        )

    async def test(self, name: str) -> Trial:
        """Two real, tiny requests to a model."""
        trial = await try_model(name, self._catalogue.model(name))
        if trial.tools is not None and trial.trouble is None:
            self._catalogue.found_out(name, tools=trial.tools)
        return trial

    def check(self, model: str) -> None:
        """Raise a Problem for a name that cannot be."""
        self._catalogue.model(model, "{}")

    async def add(
        self, name: str, url: str, wire: Wire = "chat", *, plain: bool = False, variable: str = ""
    ) -> Provider:
        """Add a server, or change the one of this name. A key is given apart, and belongs to the address."""
        check_address(url, plain)
        added = Provider(name=name, url=url, wire=wire, plain=plain, variable=variable)
        others = tuple(one for one in self._settings.now.providers if one.name != name)
        self._settings.change(providers=(*others, added))
        return added

    async def remove(self, name: str) -> None:
        """Take away a server that a person added, and its key."""
        if name not in {one.name for one in self._settings.now.providers}:
            why = "It is one of Journeyman's own." if name in self._catalogue.sites() else ""
            raise Problem(f"You added no server {name!r}.", why, "List them: journeyman models.")
        with suppress(Problem):  # a keyring that does not answer keeps what it has; nobody is sent it any more
            await self._catalogue.secrets.forget(self._catalogue.site(name).owner)
        left = tuple(one for one in self._settings.now.providers if one.name != name)
        self._settings.change(providers=left)

    async def give_key(self, name: str, value: str, *, keep: bool = True) -> Key:
        """Keep the key of a server; where it was kept, and why not elsewhere."""
        whose = self._owner(name)
        check_key(value)
        if not value:
            raise Problem("There is no key.", "It is empty.", "Give the key that this server gave you.")
        if keep:
            return await self._catalogue.secrets.keep(whose, value)
        return self._catalogue.secrets.keep_for_now(whose, value)

    async def forget_key(self, name: str) -> bool:
        """Forget the key of a server; whether there was one."""
        return await self._catalogue.secrets.forget(self._owner(name))

    def _owner(self, name: str) -> Owner:
        """Of a model server, or of a search engine."""
        if name in ENGINES and name not in self._catalogue.sites():
            return owner(name, self._settings.now)
        return self._catalogue.site(name).owner

    async def secrets(self) -> list[str]:
        """Every key that is in use, so that it can be taken out of what leaves."""
        trouble = (await self._keyring())[1]
        keys = [(await self._key(site, trouble)).value for site in self._catalogue.sites().values() if site.needs_key]
        return [*known_in(self._environment), *filter(None, keys)]

    async def _row(self, site: Site, key: Key, there: bool, fresh: bool) -> ProviderRow:
        local = site.free or site.by != "Journeyman"
        row = ProviderRow(
            site.name, site.title, site.url, site.wire, site.by, key.source, site.needs_key, site.variable,
            there if site.near else None,
        )  # fmt: skip
        if (site.near and not there) or (site.needs_key and not key.value) or not (local or key.value):
            return row
        try:
            async with asyncio.timeout(LIST_S):
                listed = await self._catalogue.listed(site, fresh=fresh)
        except Fault as fault:
            return replace(row, trouble=fault.trouble)
        except Problem as problem:
            return replace(row, trouble=problem.trouble)
        except TimeoutError:
            return replace(row, trouble=Trouble(f"{site.title} gave no list.", f"Nothing came within {LIST_S:g} s."))
        models = tuple(self._model(site, one.id, one.name) for one in listed)
        return replace(row, there=True, models=models)

    def _model(self, site: Site, model: str, title: str) -> ModelRow:
        name = f"{site.name}/{model}"
        known = self._catalogue.facts(name)
        row = ModelRow(name, title, known.window, known.window_from, tools=known.tools, images=known.images)
        if known.price is None:
            return row
        figures = known.price.figures
        return replace(
            row,
            price_in=figures.input,
            price_out=figures.output,
            price_cached=figures.cached,
            price_from=known.price.source,
        )

    async def _keyring(self) -> tuple[str, Trouble | None]:
        try:
            return await self._catalogue.secrets.state(), None
        except Problem as problem:
            return "", problem.trouble

    async def _key(self, site: Site, keyring_trouble: Trouble | None) -> Key:
        if keyring_trouble:
            return self._catalogue.secrets.at_hand(site.owner) or Key()
        return await self._catalogue.secrets.find(site.owner)

    def _offered(self) -> str:
        if self._settings.now.proxy:
            return ""
        url = next((self._environment[name] for name in PROXIES if self._environment.get(name)), "")
        with suppress(ValueError):
            parts = urlsplit(url if "://" in url else f"http://{url}")
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if url else ""
        return ""
