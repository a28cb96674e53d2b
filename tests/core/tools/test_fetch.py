"""The `fetch` tool: responses of servers, invalid URLs, and hosts that are refused."""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import core.tools.fetch as fetch_module
from core.domain.problems import Problem
from core.tools.fetch import FETCH, Addresses, FetchArguments, fetch, html_to_text, parse_url
from core.tools.tool import ToolResult
from core.workspace.outbound_hosts import allowed_addresses
from tests.core.tools.calls import use

HTML = b"Content-Type: text/html; charset=utf-8\r\n\r\n"


async def here(name: str) -> tuple[str, ...]:
    """Resolve every name to this machine, and allow it."""
    return ("127.0.0.1",)


def served(answer: Callable[[str], bytes], path: str = "/", host: str = "example.org") -> tuple[ToolResult, list[str]]:
    """Return the result of a fetch from a server with these responses, and the requests it received."""
    heard: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heard.append(head)
        writer.write(answer(head.split(" ")[1]).replace(b"PORT", port.encode()))
        writer.close()

    port = ""

    async def main() -> ToolResult:
        nonlocal port
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = str(server.sockets[0].getsockname()[1])
        async with server:
            return await fetch(f"http://{host}:{port}{path}", here)

    return asyncio.run(main()), heard


def test_a_page_is_returned_as_text() -> None:
    page = (
        "<html><style>x{}</style><script>if (a<b) evil()</script><h1>T\u00efll &amp; co</h1><p>one\n two</p>".encode()
    )
    done, heard = served(lambda path: b"HTTP/1.1 200 OK\r\n" + HTML + page, "/a?b=\u00fc#c")
    assert not done.failed and done.output.split("\n\n")[1] == "T\u00efll & co\none\ntwo"
    assert heard[0].startswith("GET /a?b=%C3%BC HTTP/1.0\r\nHost: example.org:") and "#" not in heard[0]


def test_redirects_stay_on_the_host() -> None:
    moves = {"/": b"HTTP/1.1 302 F\r\nLocation: /there\r\n\r\n", "/there": b"HTTP/1.1 200 OK\r\n" + HTML + b"here"}
    done, heard = served(lambda path: moves[path])
    assert done.output.endswith("here") and len(heard) == 2
    for target in (b"http://other.example/x", b"//other.example/x", b"http://example.org:1/x"):
        done, heard = served(lambda path, to=target: b"HTTP/1.1 301 M\r\nLocation: " + to + b"\r\n\r\n")  # type: ignore[misc]
        assert done.failed and "redirects to" in done.output and len(heard) == 1
    with pytest.raises(Problem, match="redirects too often"):
        served(lambda path: b"HTTP/1.1 302 F\r\nLocation: " + path.encode() + b"x\r\n\r\n")
    with pytest.raises(Problem):
        served(lambda path: b"HTTP/1.1 302 F\r\nLocation: file:///etc/passwd\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 404 No\r\n" + HTML + b"gone", "404"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG", "not text"),
        (b"HTTP/1.1 200 OK\r\n" + HTML + b"a\0b", "not text"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nx", "not asked for"),
        (b"SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000 + b"\r\n\r\n", "could not be fetched"),
        (b"HTTP/1.1 200 OK\r\n", "could not be fetched"),
        (b"HTTP/1.1 200 OK\r\n" + HTML + b"a" * (3 << 20), "[truncated: the page is longer]"),
        (b"HTTP/1.1 200 OK\r\n" + HTML + b"a&#" + b"9" * 5_000 + b";b", "a\ufffdb"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=idna\r\n\r\nwords", "words"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=punycode\r\n\r\na-" + b"zz9" * 600_000, "zz9"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=latin-1\r\n\r\n\xfc", "\xfc"),
        (b"HTTP/1.1 200 OK\r\n" + HTML + b"<p " * 600_000, "200"),
    ],
    ids=range(13),
)
def test_responses_of_servers(answer: bytes, said: str) -> None:
    try:
        done = served(lambda path: answer)[0]
        assert said in done.output and len(done.output) < 250_000
    except Problem as problem:
        assert said in str(problem)


def test_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "TIMEOUT_S", 0.2)

    async def main() -> ToolResult:
        gone = asyncio.Event()

        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
            writer.close()
            gone.set()

        server = await asyncio.start_server(hang, "127.0.0.1", 0)
        async with server:
            try:
                return await fetch(f"http://a.example:{server.sockets[0].getsockname()[1]}/", here)
            finally:
                await gone.wait()

    with pytest.raises(Problem, match="did not answer"):
        asyncio.run(main())


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://a.b/", "http:///x", "http://a:b@c.d/", "http://a@c.d/", "http://a.b:99999/", "a.b",
     "http://a b.c/", "http://a.b/\r\nX: y", "http://a.b\\@c.d/", "javascript:alert(1)", "http://[::1", "http://a.b/\u202e"],
)  # fmt: skip
def test_invalid_addresses(url: str) -> None:
    with pytest.raises(Problem):
        parse_url(url)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "[::1]", "0.0.0.0",
     "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "192.168.1.1",
     "[64:ff9b::7f00:1]", "a.localhost", "printer.local"],
)  # fmt: skip
def test_local_and_private_addresses_are_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(Problem):
        asyncio.run(use(FETCH, FetchArguments(f"http://{host}/"), tmp_path))


def test_no_page_takes_long_to_parse() -> None:
    for page in ("<" * 1_000_000, "<script>" * 100_000, "<p " * 300_000, "&#x41" * 200_000):
        assert len(html_to_text(page)) <= 1_000_000


async def public(name: str) -> tuple[str, ...]:
    return ("203.0.113.5",)


async def unresolved(name: str) -> tuple[str, ...]:
    raise Problem(f"{name} is unknown here.")


async def private(name: str) -> tuple[str, ...]:
    return await allowed_addresses(name, lambda _: asyncio.sleep(0, ("10.0.0.1",)))


def proxied(
    url: str, answer: bytes, resolve: Addresses = here, tunnel: bytes = b"HTTP/1.1 200 OK\r\n\r\n"
) -> tuple[list[str], str]:
    """Fetch a URL through a proxy with these responses. Return the requests it received, and the result."""
    heard: list[str] = []
    handlers: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())
        for response in (tunnel, answer):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break  # a handshake of TLS, or the end
            heard.append(head.decode("latin-1").split("\r\n")[0])
            writer.write(response)
        writer.close()

    async def main() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            try:
                return (await fetch(url, resolve, proxy)).output
            except Problem as problem:
                return str(problem)
            finally:
                await asyncio.gather(*handlers)

    return heard, asyncio.run(main())


def test_every_request_goes_through_the_proxy() -> None:
    page = b"HTTP/1.1 200 OK\r\n" + HTML + b"by proxy"
    heard, result = proxied("http://example.org:81/a?b=1#c", page)
    assert heard == ["CONNECT 127.0.0.1:81 HTTP/1.1", "GET /a?b=1 HTTP/1.0"] and result.endswith("by proxy")
    for url, port in (("https://example.org/", 443), ("http://example.org/", 80)):
        heard, result = proxied(url, b"", tunnel=b"HTTP/1.1 403 No\r\n\r\n")
        assert heard == [f"CONNECT 127.0.0.1:{port} HTTP/1.1"] and "The proxy refused the connection" in result


def test_a_proxy_is_given_no_name_that_it_could_resolve_to_another_address() -> None:
    for scheme in ("http", "https"):
        heard, result = proxied(f"{scheme}://only.proxy.knows/", b"", unresolved)
        assert heard == [] and "is unknown here" in result
        heard, _ = proxied(f"{scheme}://example.org/", b"")
        assert heard and not any("example.org" in line for line in heard)


async def _through_tls_proxy(url: str, context: ssl.SSLContext) -> tuple[list[str], str]:
    """Fetch a page of a TLS server through a TLS proxy; both have the same certificate. Return as `proxied` does."""
    heard: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + HTML + b"by tunnel")
        await writer.drain()
        writer.close()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    site = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0])
        site_reader, site_writer = await asyncio.open_connection(*site.sockets[0].getsockname())
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(asyncio.CancelledError):  # the end of the test
            await asyncio.gather(pump(reader, site_writer), pump(site_reader, writer))

    proxy = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=context)
    async with site, proxy:
        try:
            result = (await fetch(url, public, f"https://localhost:{proxy.sockets[0].getsockname()[1]}")).output
        except Problem as problem:
            result = str(problem)
    return heard, result


@pytest.mark.logs("Fatal error on SSL protocol")  # by asyncio in Python 3.11
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_page_is_fetched_through_an_https_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,DNS:known.example"]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setattr("certifi.where", lambda: str(certificate))
    heard, result = asyncio.run(_through_tls_proxy("https://known.example:8443/a", context))
    assert heard == ["CONNECT 203.0.113.5:8443 HTTP/1.1"] and result.endswith("by tunnel")
    _, result = asyncio.run(_through_tls_proxy("https://other.example/", context))
    assert "could not be fetched" in result and "certificate" in result and "_abort" not in result


def test_a_proxy_reaches_no_private_address() -> None:
    for url, resolve in (("http://inside.example/", private), ("http://10.0.0.1/", allowed_addresses)):
        heard, result = proxied(url, b"HTTP/1.1 200 OK\r\n\r\n", resolve)
        assert heard == [] and "not a public address" in result


def test_lookalike_letters_in_a_host_are_shown() -> None:
    for url, shown in (
        ("https://g\u0456thub.com/a", "https://xn--gthub-n2e.com/a"),
        ("https://g\u0456thub.com:8443/a?q", "https://xn--gthub-n2e.com:8443/a?q"),
        ("https://github.com/\u0456", "https://github.com/\u0456"),
        ("https://[bad", "https://[bad"),
        ("https://" + "\u0456" * 70, "https://" + "\u0456" * 70),
    ):
        assert FETCH.describe(FetchArguments(url)) == shown
