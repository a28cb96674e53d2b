"""The catalogue: names, servers, windows and prices, and what is unknown stays unknown."""

import asyncio
from typing import Any

import pytest

from core.domain.events import Usage
from core.domain.problems import Problem
from core.models.catalogue import Catalogue, Facts
from core.models.local import listening
from core.models.model import Fault, Wanted
from core.models.price import Figures, Price, table
from core.models.sites import FAR, NEAR, sites_of
from core.models.trial import Trial, try_model
from core.models.wires import WIRES
from core.settings.schema import Price as Mine
from core.settings.schema import Provider, Settings
from core.settings.secrets import Secrets
from tests.core.models.replies import KEY, asking, gather
from tests.servers.scripted import answer, chunk, failure, scripted, stream

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
SAID = stream(chunk(content="Hello"), chunk(content=" there"), {**chunk("stop"), "usage": USAGE})
CALLED = stream(
    chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "note", "arguments": '{"word": "pencil"}'}}]),
    {**chunk("tool_calls"), "usage": USAGE},
)


def listed(*rows: dict[str, Any]) -> Any:
    import json

    return answer(json.dumps({"data": list(rows)}).encode(), "application/json")


def catalogue(settings: Settings | None = None, **environment: str) -> Catalogue:
    return Catalogue(lambda: settings or Settings(), Secrets(environment, list), environment)


def at(url: str, *, prices: tuple[Mine, ...] = (), **more: Any) -> Settings:
    return Settings(providers=(Provider(name="box", url=url, **more),), prices=prices)


def test_the_table_of_servers_is_sound() -> None:
    names = [site.name for site in (*FAR, *NEAR)]
    assert len(names) == len(set(names)) and {site.wire for site in (*FAR, *NEAR)} <= set(WIRES)
    assert all(site.owner.origin and site.url.startswith("https://") and site.variable for site in FAR)
    assert all(site.near and not site.needs_key for site in NEAR)
    assert {site.prices for site in FAR} - set(table().rows) == {"openrouter"}, "openrouter lists its own"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("other", "no model 'other'"),
        ("nope/x", "no provider 'nope'"),
        ("openai/", "no model"),
        ("/x", "no model"),
        ("auto", "No model is set up for 'auto'"),
        ("far/x", "readable for everyone"),
    ],
)
def test_names_that_cannot_be_are_said_at_once(name: str, says: str) -> None:
    settings = Settings(providers=(Provider(name="far", url="http://10.0.0.1/v1"),))
    with pytest.raises(Problem, match=says):
        catalogue(settings).model(name)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:9999", "http://127.0.0.1:9999"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8000", "http://127.0.0.1:8000"),
        ("box.local", "http://box.local:11434"),
        ("https://box.example", "https://box.example:443"),
        ("http://[::]:1/", "http://[::1]:1"),
        ("http://[::", "http://[::"),
    ],
)
def test_ollama_host_as_ollama_reads_it(host: str, url: str) -> None:
    assert sites_of((), {"OLLAMA_HOST": host})["ollama"].url == url


def test_s8_the_key_of_the_environment_goes_where_the_environment_says() -> None:
    """And a server of that name that a person added is not sent it."""
    moved = sites_of((), {"OPENAI_BASE_URL": "https://proxy.example/v1"})["openai"]
    assert (moved.wire, moved.variable, moved.needs_key, moved.by) == ("chat", "OPENAI_API_KEY", False, "environment")
    mine = sites_of((Provider(name="openai", url="https://evil.example/v1"),), {})["openai"]
    assert mine.variable == "" and mine.prices == ""


def test_a_key_that_is_missing_is_said_and_nothing_is_sent() -> None:
    got = asyncio.run(gather(catalogue().model("openai/gpt-5"), asking()))
    assert got.kind == "key" and got.fault is not None
    assert "OPENAI_API_KEY" in got.fault.trouble.do and not got.fault.again


def test_a_reply_is_priced_by_its_server_a_person_or_our_table() -> None:
    async def run() -> None:
        row = {"id": "m", "context_length": 64_000, "pricing": {"prompt": "0.000001", "completion": "0.000002"}}
        async with scripted(listed(row), answer(SAID), answer(SAID)) as server:
            theirs = catalogue(at(server.url))
            got = await gather(theirs.model("box/m"), asking())
            assert got.text == "Hello there" and got.cost == pytest.approx(0.0012)
            facts = theirs.facts("box/m")
            assert (facts.window, facts.window_from) == (64_000, "its server")
            prices = (Mine(model="box/m", input=10.0, output=0.0, window=9),)
            mine = catalogue(at(server.url, prices=prices))
            assert (await gather(mine.model("box/m"), asking())).cost == pytest.approx(0.01)
            assert mine.facts("box/m").window == 9

    asyncio.run(run())


def test_what_nobody_says_stays_unknown() -> None:
    """A list that fails holds up nobody either."""

    async def run() -> None:
        async with scripted(failure("500 No", {"detail": "broken"}), answer(SAID)) as server:
            made = catalogue(at(server.url))
            got = await gather(made.model("box/m"), asking())
            assert (got.text, got.cost, made.facts("box/m")) == ("Hello there", None, Facts())
            assert made.model("box/m").window == 0

    asyncio.run(run())


def test_figures_of_the_table() -> None:
    """Dated; a request beyond a bound costs more as a whole; what is cached costs less."""
    facts = catalogue().facts("anthropic/claude-haiku-4-5-20251001")
    assert facts.window == 200_000 and facts.price is not None and facts.price.source == f"table of {table().date}"
    assert facts.price.cost(Usage(1_000_000, 0, cached=1_000_000)) == pytest.approx(0.1)
    assert catalogue().facts("anthropic/claude-of-tomorrow").price is None
    assert catalogue().facts("ollama/qwen3").price is not None and catalogue().facts("ollama/x:cloud").price is None
    tiered = Price(Figures(1.0, 2.0), ((100, Figures(10.0, 20.0)),))
    assert tiered.cost(Usage(100, 100)) == pytest.approx(0.0003)
    assert tiered.cost(Usage(101, 100)) == pytest.approx(0.00301)
    assert table().date >= "2026-11-04" and sum(map(len, table().rows.values())) > 200


@pytest.mark.parametrize(
    ("second", "tools", "trouble"),
    [
        (answer(CALLED), True, False),
        (answer(SAID), False, False),
        (failure("400 No", {"error": "registry/m does not support tools"}), False, True),
        (failure("401 No", {"error": {"message": "invalid api key"}}), None, True),
    ],
    ids=["calls", "talks", "refuses", "fails"],
)
def test_a_model_is_tried(second: Any, tools: bool | None, trouble: bool) -> None:
    async def run() -> Trial:
        async with scripted(listed({"id": "m"}), answer(SAID), second) as server:
            made = catalogue(at(server.url))
            trial = await try_model("box/m", made.model("box/m"))
            if trouble and tools is False:
                assert made.facts("box/m").tools is False
            return trial

    trial = asyncio.run(run())
    assert (trial.streams, trial.tools, trial.reply) == (False, tools, "Hello there")  # it came at once
    assert trial.trouble is None and bool(trial.tools_trouble) == trouble
    assert trial.first_s is not None and trial.took_s is not None and 0 <= trial.first_s <= trial.took_s


@pytest.mark.parametrize(
    "said",
    [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "tools param requires --jinja flag",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "No endpoints found that support tool use.",
        "Function calling is not supported by this model",
        "This model does not support function calling",
    ],
)
def test_models_without_tool_calls_are_told_apart(said: str) -> None:
    """The engine's text protocol is for these."""

    async def run() -> None:
        async with scripted(listed({"id": "m"}), failure("400 No", {"error": {"message": said}})) as server:
            made = catalogue(at(server.url))
            got = await gather(made.model("box/m"), asking())
            assert got.kind == "no_tools" and made.facts("box/m").tools is False

    asyncio.run(run())


def test_local_servers_are_found_at_once() -> None:
    async def run() -> None:
        async with scripted(answer(b"")) as server:
            there = sites_of(
                (Provider(name="box", url=server.url), Provider(name="gone", url="http://127.0.0.1:9")), {}
            )
            found = await listening([there["box"], there["gone"], there["openai"]])
            assert [site.name for site in found] == ["box"]

    asyncio.run(run())


def test_s3_a_key_that_a_server_repeats_is_not_shown() -> None:
    async def run() -> None:
        echo = failure("401 No", {"error": {"message": f"Incorrect API key provided: {KEY}"}})
        async with scripted(listed({"id": "m"}), echo) as server:
            made = catalogue(at(server.url, variable="BOX_KEY"), BOX_KEY=KEY)
            got = await gather(made.model("box/m"), asking(wanted=Wanted()))
            assert got.kind == "key" and KEY not in str(got.fault) and KEY not in repr(got.fault)
            assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"

    asyncio.run(run())


def test_a_key_given_after_a_fault_is_used() -> None:
    async def run() -> None:
        async with scripted(listed({"id": "m"}), failure("401 No", {}), answer(SAID)) as server:
            made = catalogue(at(server.url))
            model = made.model("box/m")
            assert (await gather(model, asking())).kind == "key"
            made.secrets.keep_for_now(made.site("box").owner, KEY)
            assert (await gather(model, asking())).text == "Hello there"
            assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"

    asyncio.run(run())


def test_a_problem_of_the_list_is_a_fault() -> None:
    async def run() -> None:
        made = catalogue()
        with pytest.raises(Fault):
            await made.listed(made.site("openai"))

    asyncio.run(run())
