"""Tests of the model catalog: names, providers, context windows, prices, and values that stay unknown."""

import asyncio
from typing import Any

import pytest

from core.domain.events import Usage
from core.domain.problems import Problem
from core.models.api_formats import API_FORMATS
from core.models.catalog import ModelCatalog, ModelInfo
from core.models.local_servers import find_running
from core.models.model import ModelError, ReplyOptions
from core.models.model_check import ModelCheck, check_model
from core.models.prices import LargeRequestRates, ModelPrice, TokenRates, price_table
from core.models.providers import HOSTED_PROVIDERS, LOCAL_PROVIDERS, resolve_providers
from core.settings.api_keys import ApiKeys
from core.settings.schema import PriceOverride as Mine
from core.settings.schema import Provider, Settings
from tests.core.models.replies import KEY, gather, make_request
from tests.servers.scripted_server import answer, chunk, failure, scripted_server, stream

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
SAID = stream(chunk(content="Hello"), chunk(content=" there"), {**chunk("stop"), "usage": USAGE})
CALLED = stream(
    chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "note", "arguments": '{"word": "pencil"}'}}]),
    {**chunk("tool_calls"), "usage": USAGE},
)


def listed(*rows: dict[str, Any]) -> Any:
    import json

    return answer(json.dumps({"data": list(rows)}).encode(), "application/json")


def catalogue(settings: Settings | None = None, **environment: str) -> ModelCatalog:
    return ModelCatalog(lambda: settings or Settings(), ApiKeys(environment, list), environment)


def at(url: str, *, prices: tuple[Mine, ...] = (), **more: Any) -> Settings:
    return Settings(providers=(Provider(name="box", url=url, **more),), prices=prices)


def test_the_provider_table_is_consistent() -> None:
    names = [site.name for site in (*HOSTED_PROVIDERS, *LOCAL_PROVIDERS)]
    assert len(names) == len(set(names)) and {site.api for site in (*HOSTED_PROVIDERS, *LOCAL_PROVIDERS)} <= set(
        API_FORMATS
    )
    assert all(
        site.key_owner.origin and site.url.startswith("https://") and site.api_key_env for site in HOSTED_PROVIDERS
    )
    assert all(site.is_local and not site.requires_key for site in LOCAL_PROVIDERS)
    without_prices = {site.price_provider for site in HOSTED_PROVIDERS} - set(price_table().rows)
    assert without_prices == {"openrouter"}, (
        "Add a provider to packaging/prices.py, or here if it lists its own prices."
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("other", "no model 'other'"),
        ("nope/x", "no provider 'nope'"),
        ("openai/", "no model"),
        ("/x", "no model"),
        ("auto", "No model is set up for 'auto'"),
        ("far/x", "Anyone on the network"),
    ],
)
def test_invalid_names_are_reported_at_once(name: str, says: str) -> None:
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
    assert resolve_providers((), {"OLLAMA_HOST": host})["ollama"].url == url


def test_s8_the_key_of_the_environment_goes_to_the_address_of_the_environment() -> None:
    """A user-added provider with the same name does not get the key."""
    moved = resolve_providers((), {"OPENAI_BASE_URL": "https://proxy.example/v1"})["openai"]
    assert (moved.api, moved.api_key_env, moved.requires_key, moved.url_from) == (
        "chat",
        "OPENAI_API_KEY",
        False,
        "environment",
    )
    mine = resolve_providers((Provider(name="openai", url="https://evil.example/v1"),), {})["openai"]
    assert mine.api_key_env == "" and mine.price_provider == ""


def test_a_missing_key_is_reported_and_nothing_is_sent() -> None:
    got = asyncio.run(gather(catalogue().model("openai/gpt-5"), make_request()))
    assert got.kind == "key" and got.fault is not None
    assert "OPENAI_API_KEY" in got.fault.details.fix and not got.fault.retryable


def test_a_reply_is_priced_by_its_provider_the_user_or_our_table() -> None:
    async def run() -> None:
        row = {"id": "m", "context_length": 64_000, "pricing": {"prompt": "0.000001", "completion": "0.000002"}}
        async with scripted_server(listed(row), answer(SAID), answer(SAID)) as server:
            theirs = catalogue(at(server.url))
            got = await gather(theirs.model("box/m"), make_request())
            assert got.text == "Hello there" and got.cost == pytest.approx(0.0012)
            facts = theirs.known_info("box/m")
            assert (facts.window, facts.window_from) == (64_000, "provider")
            prices = (Mine(model="box/m", input=10.0, output=0.0, context_window=9),)
            mine = catalogue(at(server.url, prices=prices))
            assert (await gather(mine.model("box/m"), make_request())).cost == pytest.approx(0.01)
            assert mine.known_info("box/m").window == 9

    asyncio.run(run())


def test_unknown_prices_stay_unknown() -> None:
    """A model list that fails to load does not stop the run."""

    async def run() -> None:
        async with scripted_server(failure("500 No", {"detail": "broken"}), answer(SAID)) as server:
            made = catalogue(at(server.url))
            got = await gather(made.model("box/m"), make_request())
            assert (got.text, got.cost, made.known_info("box/m")) == ("Hello there", None, ModelInfo())
            assert made.model("box/m").window == 0

    asyncio.run(run())


def test_figures_of_the_table() -> None:
    """The table has a date, a request above a threshold costs more as a whole, and cached input costs less."""
    facts = catalogue().known_info("anthropic/claude-haiku-4-5-20251001")
    assert (
        facts.window == 200_000 and facts.price is not None and facts.price.source == f"table of {price_table().date}"
    )
    assert facts.price.cost(Usage(1_000_000, 0, cache_read=1_000_000)) == pytest.approx(0.1)
    assert catalogue().known_info("anthropic/claude-of-tomorrow").price is None
    assert (
        catalogue().known_info("ollama/qwen3").price is not None
        and catalogue().known_info("ollama/x:cloud").price is None
    )
    tiered = ModelPrice(TokenRates(1.0, 2.0), (LargeRequestRates(100, TokenRates(10.0, 20.0)),))
    assert tiered.cost(Usage(100, 100)) == pytest.approx(0.0003)
    assert tiered.cost(Usage(101, 100)) == pytest.approx(0.00301)
    assert price_table().date >= "2026-11-04" and sum(map(len, price_table().rows.values())) > 200


@pytest.mark.parametrize(
    ("second", "calls_tools", "trouble"),
    [
        (answer(CALLED), True, False),
        (answer(SAID), False, False),
        (failure("400 No", {"error": "registry/m does not support tools"}), False, True),
        (failure("401 No", {"error": {"message": "invalid api key"}}), None, True),
    ],
    ids=["calls", "talks", "refuses", "fails"],
)
def test_a_model_is_checked(second: Any, calls_tools: bool | None, trouble: bool) -> None:
    async def run() -> ModelCheck:
        async with scripted_server(listed({"id": "m"}), answer(SAID), second) as server:
            made = catalogue(at(server.url))
            trial = await check_model("box/m", made.model("box/m"))
            if trouble and calls_tools is False:
                assert made.known_info("box/m").tools is False
            return trial

    trial = asyncio.run(run())
    assert trial.streams is False  # the reply arrived in one piece
    assert (trial.calls_tools, trial.reply) == (calls_tools, "Hello there")
    assert trial.error is None and bool(trial.tool_call_error) == trouble
    assert trial.first_token_s is not None and trial.total_s is not None and 0 <= trial.first_token_s <= trial.total_s


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
def test_models_without_tool_calls_are_detected(said: str) -> None:
    """The engine falls back to text-based tool calls for these."""

    async def run() -> None:
        async with scripted_server(listed({"id": "m"}), failure("400 No", {"error": {"message": said}})) as server:
            made = catalogue(at(server.url))
            got = await gather(made.model("box/m"), make_request())
            assert got.kind == "no_tools" and made.known_info("box/m").tools is False

    asyncio.run(run())


def test_local_providers_are_found_at_once() -> None:
    async def run() -> None:
        async with scripted_server(answer(b"")) as server:
            there = resolve_providers(
                (Provider(name="box", url=server.url), Provider(name="gone", url="http://127.0.0.1:9")), {}
            )
            found = await find_running([there["box"], there["gone"], there["openai"]])
            assert [site.name for site in found] == ["box"]

    asyncio.run(run())


def test_s3_an_echoed_key_is_not_shown() -> None:
    async def run() -> None:
        echo = failure("401 No", {"error": {"message": f"Incorrect API key provided: {KEY}"}})
        async with scripted_server(listed({"id": "m"}), echo) as server:
            made = catalogue(at(server.url, api_key_env="BOX_KEY"), BOX_KEY=KEY)
            got = await gather(made.model("box/m"), make_request(options=ReplyOptions()))
            assert got.kind == "key" and KEY not in str(got.fault) and KEY not in repr(got.fault)
            assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"

    asyncio.run(run())


def test_a_key_set_after_an_error_is_used() -> None:
    async def run() -> None:
        async with scripted_server(listed({"id": "m"}), failure("401 No", {}), answer(SAID)) as server:
            made = catalogue(at(server.url))
            model = made.model("box/m")
            assert (await gather(model, make_request())).kind == "key"
            made.api_keys.keep_in_memory(made.provider("box").key_owner, KEY)
            assert (await gather(model, make_request())).text == "Hello there"
            assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"

    asyncio.run(run())


def test_an_error_of_the_model_list_is_reported() -> None:
    async def run() -> None:
        made = catalogue()
        with pytest.raises(ModelError):
            await made.list_models(made.provider("openai"))

    asyncio.run(run())
