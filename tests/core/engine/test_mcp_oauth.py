"""Sign-in to remote MCP servers with OAuth, against a real authorization server on this computer."""

import asyncio
import json
import urllib.request
from pathlib import Path
from threading import Thread

import pytest
from mcp.client.auth import OAuthFlowError

from core.domain.problems import Problem
from core.mcp.oauth import browser_sign_in, check_url
from core.mcp.sign_in_store import sign_in_owner
from core.settings.schema import McpServerSettings
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded
from tests.core.engine.test_mcp_questions import outputs_of, run_calls
from tests.servers.oauth_server import OAuthServer, oauth_server


class Browser:
    """Opens each page as a browser does: it follows the redirects in another thread."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.shown: list[str] = []
        self.threads: list[Thread] = []

    def open(self, url: str) -> None:
        def visit() -> None:
            with urllib.request.urlopen(url, timeout=30) as page:
                self.shown.append(page.read().decode())

        self.pages.append(url)
        self.threads.append(Thread(target=visit))
        self.threads[-1].start()

    def close(self) -> None:
        for thread in self.threads:
            thread.join()


async def sign_in(scene: EngineHarness, server: OAuthServer) -> Browser:
    browser = Browser()
    try:
        result = await scene.engine.mcp_servers.add(
            McpServerSettings(name="greeter", url=server.mcp), open_page=browser.open
        )
    finally:
        browser.close()
    assert result.error is None, result.error
    assert [tool.name for tool in result.tools] == ["greet"]
    return browser


def test_discovery_registration_and_pkce_lead_to_a_call_and_the_tokens_are_not_in_the_settings(tmp_path: Path) -> None:
    async def main() -> None:
        with oauth_server() as server:
            async with open_engine(tmp_path) as scene:
                browser = await sign_in(scene, server)
                assert len(browser.pages) == 1 and "You are signed in." in browser.shown[0]
                assert "/register" in server.requests and "/oauth/token authorization_code" in server.requests
                events = await run_calls(scene, call_reply("greeter__greet"))
                assert outputs_of(events) == ["Hello."]
                assert server.requests.count("/register") == 1, "the client is registered once"
                settings = (tmp_path / "settings.json").read_text("utf-8")
                assert not any(token in settings for token in (*server.tokens, *server.refresh_tokens))
                assert server.tokens <= scene.services.servers._secrets.seen, "tokens are removed from requests"

    run_bounded(main())


def test_an_expired_token_is_refreshed_without_the_user(tmp_path: Path) -> None:
    async def main() -> None:
        with oauth_server() as server:
            async with open_engine(tmp_path) as scene:
                await sign_in(scene, server)
                keys, (saved,) = scene.services.servers._secrets, scene.engine.mcp_servers.list()
                stored = json.loads((await keys.find(sign_in_owner(saved))).value)
                await keys.save(sign_in_owner(saved), json.dumps(stored | {"expires_at": 1.0}))
                server.tokens.clear()
                events = await run_calls(scene, call_reply("greeter__greet"))
                assert outputs_of(events) == ["Hello."]
                assert "/oauth/token refresh_token" in server.requests
                assert server.requests.count("/login") == 1
                renewed = json.loads((await keys.find(sign_in_owner(saved))).value)
                assert renewed["tokens"]["refresh_token"] in server.refresh_tokens and renewed["expires_at"] > 1.0

    run_bounded(main())


def test_a_refused_sign_in_adds_nothing_and_says_why(tmp_path: Path) -> None:
    async def main() -> None:
        with oauth_server() as server:
            server.refuses = True
            async with open_engine(tmp_path) as scene:
                with pytest.raises(Problem, match="The sign-in was refused"):
                    await sign_in(scene, server)
                assert scene.engine.mcp_servers.list() == ()

    run_bounded(main())


def test_without_a_sign_in_the_error_says_what_to_do_and_signing_out_ends_it(tmp_path: Path) -> None:
    async def main() -> None:
        with oauth_server() as server:
            async with open_engine(tmp_path) as scene:
                result = await scene.engine.mcp_servers.add(McpServerSettings(name="greeter", url=server.mcp))
                assert result.error is not None and "requires a sign-in or a key" in result.error.cause
                await sign_in(scene, server)
                assert await scene.engine.mcp_servers.sign_out("greeter")
                result = await scene.engine.mcp_servers.test("greeter")
                assert result.error is not None and "requires a sign-in" in result.error.cause
                browser = Browser()
                again = await scene.engine.mcp_servers.sign_in("greeter", browser.open)
                browser.close()
                assert again.error is None and again.changed == () and server.requests.count("/register") == 2

    run_bounded(main())


def test_a_revoked_sign_in_asks_to_sign_in_again_and_opens_no_page(tmp_path: Path) -> None:
    async def main() -> None:
        with oauth_server() as server:
            async with open_engine(tmp_path) as scene:
                browser = await sign_in(scene, server)
                server.tokens.clear()
                server.refresh_tokens.clear()
                result = await scene.engine.mcp_servers.test("greeter")
                assert result.error is not None and "The sign-in has expired" in result.error.cause
                assert "journeyman mcp login greeter" in result.error.fix and len(browser.pages) == 1

    run_bounded(main())


@pytest.mark.parametrize(
    ("server", "url", "safe"),
    [
        ("https://mcp.example.org/mcp", "https://login.example.com/authorize", True),
        ("https://mcp.example.org/mcp", "http://login.example.com/authorize", False),
        ("https://mcp.example.org/mcp", "https://127.0.0.1:8080/token", False),
        ("https://mcp.example.org/mcp", "http://localhost:8080/token", False),
        ("https://mcp.example.org/mcp", "file:///etc/passwd", False),
        ("https://mcp.example.org/mcp", "javascript:alert(1)", False),
        ("http://127.0.0.1:9000/mcp", "http://127.0.0.1:9001/token", True),
    ],
)
def test_a_server_cannot_lead_the_browser_or_the_tokens_to_an_unsafe_address(server: str, url: str, safe: bool) -> None:
    if safe:
        check_url(url, server)
    else:
        with pytest.raises(OAuthFlowError, match="not safe"):
            check_url(url, server)


def test_an_unsafe_page_is_not_opened(tmp_path: Path) -> None:
    async def main() -> None:
        with oauth_server() as server:
            server.authorize_url = "http://login.example.org/authorize"
            async with open_engine(tmp_path) as scene:
                browser = Browser()
                with pytest.raises(Problem, match="not safe"):
                    await scene.engine.mcp_servers.add(
                        McpServerSettings(name="greeter", url=server.mcp), open_page=browser.open
                    )
                assert browser.pages == []

    run_bounded(main())


def test_a_request_without_a_code_does_not_end_the_sign_in(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            server, pages = McpServerSettings(name="greeter", url="http://127.0.0.1:9/mcp"), list[str]()
            async with browser_sign_in(server, scene.services.servers._secrets, pages.append) as auth:
                port = int(str(auth.context.client_metadata.redirect_uris).partition("127.0.0.1:")[2].partition("/")[0])
                wait = auth.context.callback_handler
                assert wait is not None
                for query in ("", "?code=c&state=s"):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.write(f"GET /callback{query} HTTP/1.1\r\n\r\n".encode())
                    page = (await reader.read()).decode()
                    writer.close()
                    assert ("You are signed in." in page) == bool(query)
                assert (await wait()).code == "c"

    run_bounded(main())


def test_a_connection_that_sends_nothing_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.mcp.redirect_listener.REDIRECT_TIMEOUT_S", 0.05)

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            server, pages = McpServerSettings(name="greeter", url="http://127.0.0.1:9/mcp"), list[str]()
            async with browser_sign_in(server, scene.services.servers._secrets, pages.append) as auth:
                port = int(str(auth.context.client_metadata.redirect_uris).partition("127.0.0.1:")[2].partition("/")[0])
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                assert await reader.read() == b""
                writer.close()

    run_bounded(main())
