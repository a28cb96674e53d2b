"""Searching the web: three engines as they answer, what they refuse, and where their keys go."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from core.domain.problems import Problem
from core.settings.schema import Settings
from core.settings.secrets import Secrets
from core.tools.search_web import SearchWeb, run
from core.tools.web import ENGINES, Hit, Web, owner

KEY = "key-of-the-engine-31415926"
FOUND = {"title": "Mould & damp", "url": "https://example.org/mould", "content": "Air the <strong>rooms</strong>."}
HITS: dict[str, Any] = {
    "searxng": {"query": "q", "results": [FOUND, {"title": "no address"}], "answers": []},
    "brave": {"web": {"results": [{**FOUND, "description": FOUND["content"]}, "odd"]}},
    "tavily": {"query": "q", "results": [FOUND], "response_time": 1.5},
}
Asked = Callable[[Web], Awaitable[list[Hit]]]


def answered(engine: str, head: str, body: bytes, act: Asked, *, key: str = KEY) -> tuple[list[Hit], list[str]]:
    """What comes of an answer, and what the server was asked."""
    heard: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next((int(line[16:]) for line in request.lower().splitlines() if line.startswith("content-length: ")), 0)
        heard.append(request + (await reader.readexactly(size)).decode())
        writer.write(f"HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        writer.close()

    async def main() -> list[Hit]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = Settings(web_search=engine, web_search_url=f"{url}/")  # type: ignore[arg-type]
        secrets = Secrets({ENGINES[engine].variable or "NONE": key}, keyrings=list)
        async with server:
            return await act(Web(lambda: settings, secrets))

    return asyncio.run(main()), heard


@pytest.mark.parametrize("engine", sorted(HITS))
def test_each_engine_is_asked_in_its_own_way_and_read(engine: str) -> None:
    body = json.dumps(HITS[engine]).encode()
    hits, heard = answered(engine, "200 OK", body, lambda web: web.search("damp & mould", 3))
    assert hits == [Hit(FOUND["title"], FOUND["url"], FOUND["content"])]
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
        ("brave", "401 No", b"{}", "does not accept the key"),
        ("tavily", "429 Slow", b"{}", "no more requests"),
        ("searxng", "403 Forbidden", b"<html>", "settings.yml"),
        ("searxng", "200 OK", b"<html>words</html>", "no JSON"),
        ("searxng", "200 OK", b"[1]", "no JSON"),
        ("brave", "302 Found\r\nLocation: https://elsewhere.example/", b"", "elsewhere.example"),
        ("tavily", "500 Bad " + KEY, b"{}", "answered 500"),
    ],
)
def test_what_an_engine_says_instead_is_said_in_words(engine: str, head: str, body: bytes, why: str) -> None:
    with pytest.raises(Problem, match=why) as met:
        answered(engine, head, body, lambda web: web.search("q", 3))
    assert KEY not in str(met.value) and "settings" in met.value.trouble.do


def test_nothing_listens_and_nothing_is_set() -> None:
    secrets = Secrets({}, keyrings=list)
    closed = Settings(web_search="searxng", web_search_url="http://127.0.0.1:9")
    with pytest.raises(Problem, match=r"127\.0\.0\.1:9"):
        asyncio.run(Web(lambda: closed, secrets).search("q", 3))
    for settings, why in ((Settings(), "No search engine"), (Settings(web_search="brave"), "needs a key")):
        with pytest.raises(Problem, match=why):
            asyncio.run(Web(partial(replace, settings), secrets).search("q", 3))
    assert Web(Settings, secrets).host == "" and Web(lambda: Settings(web_search="brave"), secrets).host


def test_s8_a_key_belongs_to_the_address_it_was_given_for() -> None:
    mine = Settings(web_search="brave", web_search_url="https://elsewhere.example")
    assert owner("brave", mine).origin != owner("brave", Settings(web_search="brave")).origin
    assert owner("brave", Settings(web_search="tavily", web_search_url="https://x.example")).origin.endswith(
        "brave.com:443"
    )


def test_a_key_is_not_sent_in_the_clear() -> None:
    """To another machine by http; to this one it may."""
    settings = Settings(web_search="tavily", web_search_url="http://192.0.2.1")
    with pytest.raises(Problem, match="readable for everyone"):
        asyncio.run(Web(lambda: settings, Secrets({"TAVILY_API_KEY": KEY}, keyrings=list)).search("q", 3))


def test_tags_and_long_words_of_strangers_are_cut() -> None:
    class Place:
        class web:
            @staticmethod
            async def search(query: str, count: int) -> list[Hit]:
                return [Hit("a\nb", "https://x.example", "<script>evil()</script><b>word</b> " + "x" * 9000)]

    told = asyncio.run(run(SearchWeb("q"), Place()))  # type: ignore[arg-type]
    assert told.output.startswith("1. a b\n   https://x.example\n   word x") and len(told.output) < 1200
