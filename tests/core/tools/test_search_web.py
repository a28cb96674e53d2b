"""Web search: the responses and errors of three engines, and where their API keys are sent."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from core.domain.problems import Problem
from core.settings.api_keys import ApiKeys
from core.settings.schema import Settings
from core.tools.search_web import SearchWebArguments, run
from core.tools.web_search import WEB_SEARCH_ENGINES, WebResult, WebSearch, key_owner

KEY = "key-of-the-engine-31415926"
FOUND = {"title": "Mould & damp", "url": "https://example.org/mould", "content": "Air the <strong>rooms</strong>."}
HITS: dict[str, Any] = {
    "searxng": {"query": "q", "results": [FOUND, {"title": "no address"}], "answers": []},
    "brave": {"web": {"results": [{**FOUND, "description": FOUND["content"]}, "odd"]}},
    "tavily": {"query": "q", "results": [FOUND], "response_time": 1.5},
}
Asked = Callable[[WebSearch], Awaitable[list[WebResult]]]


def answered(engine: str, head: str, body: bytes, act: Asked, *, key: str = KEY) -> tuple[list[WebResult], list[str]]:
    """Return the results for a response, and the requests that the server received."""
    heard: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next((int(line[16:]) for line in request.lower().splitlines() if line.startswith("content-length: ")), 0)
        heard.append(request + (await reader.readexactly(size)).decode())
        writer.write(f"HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        writer.close()

    async def main() -> list[WebResult]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = Settings(search_engine=engine, search_url=f"{url}/")  # type: ignore[arg-type]
        secrets = ApiKeys({WEB_SEARCH_ENGINES[engine].variable or "NONE": key}, keyrings=list)
        async with server:
            return await act(WebSearch(lambda: settings, secrets))

    return asyncio.run(main()), heard


@pytest.mark.parametrize("engine", sorted(HITS))
def test_each_engine_is_called_in_its_format(engine: str) -> None:
    body = json.dumps(HITS[engine]).encode()
    hits, heard = answered(engine, "200 OK", body, lambda web: web.search("damp & mould", 3))
    assert hits == [WebResult(FOUND["title"], FOUND["url"], FOUND["content"])]
    (asked,) = heard
    line = asked.splitlines()[0]
    if engine == "tavily":
        assert line == "POST /search HTTP/1.1" and json.loads(asked.split("\r\n\r\n")[1])["query"] == "damp & mould"
    else:
        assert "q=damp%20%26%20mould" in line and line.startswith("GET ")
    assert asked.count(KEY) == (engine != "searxng")


@pytest.mark.parametrize(
    ("engine", "head", "body", "why"),
    [
        ("brave", "401 No", b"{}", "does not accept the API key"),
        ("tavily", "429 Slow", b"{}", "no more requests"),
        ("searxng", "403 Forbidden", b"<html>", "settings.yml"),
        ("searxng", "200 OK", b"<html>words</html>", "not JSON"),
        ("searxng", "200 OK", b"[1]", "not JSON"),
        ("brave", "302 Found\r\nLocation: https://elsewhere.example/", b"", "elsewhere.example"),
        ("tavily", "500 Bad " + KEY, b"{}", "status 500"),
    ],
)
def test_errors_of_an_engine_are_reported(engine: str, head: str, body: bytes, why: str) -> None:
    with pytest.raises(Problem, match=why) as met:
        answered(engine, head, body, lambda web: web.search("q", 3))
    assert KEY not in str(met.value) and "Settings" in met.value.details.fix


def test_an_unreachable_or_missing_engine_is_an_error() -> None:
    secrets = ApiKeys({}, keyrings=list)
    closed = Settings(search_engine="searxng", search_url="http://127.0.0.1:9")
    with pytest.raises(Problem, match=r"127\.0\.0\.1:9"):
        asyncio.run(WebSearch(lambda: closed, secrets).search("q", 3))
    for settings, why in ((Settings(), "No search engine"), (Settings(search_engine="brave"), "needs an API key")):
        with pytest.raises(Problem, match=why):
            asyncio.run(WebSearch(partial(replace, settings), secrets).search("q", 3))
    assert WebSearch(Settings, secrets).host == "" and WebSearch(lambda: Settings(search_engine="brave"), secrets).host


def test_s8_a_key_belongs_to_the_address_it_was_set_for() -> None:
    mine = Settings(search_engine="brave", search_url="https://elsewhere.example")
    assert key_owner("brave", mine).origin != key_owner("brave", Settings(search_engine="brave")).origin
    assert key_owner("brave", Settings(search_engine="tavily", search_url="https://x.example")).origin.endswith(
        "brave.com:443"
    )


def test_a_key_is_not_sent_unencrypted() -> None:
    """The key is not sent over plain HTTP to another machine; to this machine it may be."""
    settings = Settings(search_engine="tavily", search_url="http://192.0.2.1")
    with pytest.raises(Problem, match="Anyone on the network"):
        asyncio.run(WebSearch(lambda: settings, ApiKeys({"TAVILY_API_KEY": KEY}, keyrings=list)).search("q", 3))


def test_markup_and_long_untrusted_text_are_truncated() -> None:
    class Place:
        class web:
            @staticmethod
            async def search(query: str, count: int) -> list[WebResult]:
                return [WebResult("a\nb", "https://x.example", "<script>evil()</script><b>word</b> " + "x" * 9000)]

    told = asyncio.run(run(SearchWebArguments("q"), Place()))  # type: ignore[arg-type]
    assert told.output.startswith("1. a b\n   https://x.example\n   word x") and len(told.output) < 1200
