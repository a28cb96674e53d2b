"""Fetch a page: public addresses only, looked at on every hop, bounded in size, redirects and time."""

import asyncio
import codecs
import html
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

import certifi
from annotated_types import MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool
from core.workspace.egress import allowed_address, host_name

SECONDS = 30.0
SIZE = 2 << 20
SHOWN = 200_000
REDIRECTS = 5
HEAD = 64 << 10
PORTS = {"http": 80, "https": 443}
BLOCKS = frozenset(
    ("p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre")
)
NO_SIGN = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")  # a number no sign has, and too long to be read as one
WRITTEN = re.compile(
    r"ascii$|utf-(8|16|32)|iso8859-|cp\d|koi8|mac-|gb|big5|hz$|shift_jis|euc_|iso2022_|johab|tis-620|kz1048"
)
Addresses = Callable[[str], Awaitable[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Fetch:
    url: Annotated[str, MinLen(1), MaxLen(4_000), Says("A whole http or https address.")]


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered, as far as it was read."""

    status: int
    kind: str
    body: bytes
    moved: str = ""
    cut: bool = False


async def run(parameters: Fetch, place: Place) -> Result:
    return await fetch(parameters.url, allowed_address)


async def fetch(url: str, addresses: Addresses) -> Result:
    """The page behind an address. A move to another host is told, not followed: that host was not consented to."""
    try:
        async with asyncio.timeout(SECONDS):
            for _ in range(REDIRECTS + 1):
                place = read_url(url)
                page = await _ask(place, addresses)
                if not page.moved:
                    return await asyncio.to_thread(_told, url, page)  # a page may be made to take its time
                target = urljoin(url, page.moved)
                if _origin(read_url(target)) != _origin(place):
                    return Result(f"{url} has moved to {target}. Fetch that address if you need it.", failed=True)
                url = target
    except TimeoutError as error:
        raise Problem(f"{url} did not answer in {SECONDS:g} s.", "", "Try later, or another page.") from error
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Problem(f"{url} could not be fetched.", f"{error}.", "Try later, or another page.") from error
    raise Problem(f"{url} moves on and on.", f"{REDIRECTS} moves were followed.", "Name the page itself.")


def read_url(url: str) -> SplitResult:
    """An address that means one thing to everybody, or a Problem."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _bad(url, str(error)) from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise _bad(url, "It does not begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise _bad(url, "It carries a name or a password")
    if not url.isprintable() or any(sign in url for sign in " \\"):
        raise _bad(url, "It holds blanks or signs that do not show")
    name = host_name(parts.hostname)
    host = f"[{name}]" if ":" in name else name
    return parts._replace(netloc=f"{host}:{port}" if port else host, fragment="")


def _bad(url: str, why: str) -> Problem:
    return Problem(f"{url[:200]!r} cannot be fetched.", f"{why}.", "Give a whole http or https address.")


def _origin(place: SplitResult) -> tuple[str, int]:
    """Host and port; from http to https of the same host is no other place."""
    port = place.port or PORTS[place.scheme]
    return place.hostname or "", 443 if port == 80 else port


@asynccontextmanager
async def _connection(
    place: SplitResult, addresses: Addresses
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """To the very address that was looked at, never by the name again."""
    name = place.hostname or ""
    found = await addresses(name)
    trust = ssl.create_default_context(cafile=certifi.where()) if place.scheme == "https" else None
    server = name if trust else None
    port = place.port or PORTS[place.scheme]
    reader, writer = await asyncio.open_connection(found[0], port, ssl=trust, server_hostname=server, limit=HEAD)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()  # nothing more is wanted, and a server may not keep us waiting


async def _ask(place: SplitResult, addresses: Addresses) -> Page:
    """One request, in the oldest form of the protocol that still names its host: the body ends with the connection."""
    path = urlunsplit(("", "", place.path or "/", place.query, ""))
    path = "".join(sign if sign.isascii() else "".join(f"%{byte:02X}" for byte in sign.encode()) for sign in path)
    asked = (
        f"GET {path} HTTP/1.0\r\nHost: {place.netloc}\r\nUser-Agent: Journeyman\r\n"
        "Accept: text/html, text/*, application/json, */*;q=0.1\r\nAccept-Encoding: identity\r\n"
        "Connection: close\r\n\r\n"
    )
    async with _connection(place, addresses) as (reader, writer):
        writer.write(asked.encode("ascii"))
        await writer.drain()
        status, headers = _head(await reader.readuntil(b"\r\n\r\n"))
        moved = headers.get("location", "") if status in (301, 302, 303, 307, 308) else ""
        if moved:
            return Page(status, "", b"", moved)
        if headers.get("content-encoding", "identity") != "identity" or "transfer-encoding" in headers:
            raise Problem("The server answered in a form that was not asked for.", "", "Try another page.")
        body, cut = await _body(reader, headers.get("content-length", ""))
    return Page(status, headers.get("content-type", "text/plain"), body, cut=cut)


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    found = re.match(r"HTTP/1\.[01] (\d{3})(?: |$)", lines[0])
    if found is None:
        raise Problem("The server does not speak HTTP.", "", "Check the address.")
    pairs = (line.partition(":") for line in lines[1:] if ":" in line)
    return int(found[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, length: str) -> tuple[bytes, bool]:
    """As much as is read at all, and whether there was more."""
    wanted = int(length) if length.isdigit() and len(length) < 16 else None
    body = bytearray()
    while len(body) <= SIZE and (wanted is None or len(body) < wanted):
        piece = await reader.read(65_536)
        if not piece:
            break
        body += piece
    return bytes(body[:SIZE]), len(body) > SIZE


def _told(url: str, page: Page) -> Result:
    kind = page.kind.split(";")[0].strip().lower()
    if b"\0" in page.body[:8192] or not (kind.startswith("text/") or kind.endswith(("json", "xml", "javascript"))):
        return Result(f"{url} is no text ({kind or 'unknown'}, {len(page.body):,} bytes).", failed=True)
    text = page.body.decode(_charset(page.kind), "replace")
    text = as_text(text) if kind in ("text/html", "application/xhtml+xml") else text
    note = "\n[cut: the page is longer]" if page.cut or len(text) > SHOWN else ""
    return Result(f"{page.status} {url}\n\n{text[:SHOWN]}{note}", failed=page.status >= 400)


def _charset(kind: str) -> str:
    """What the server says its words are written in, where people write so: Python knows forms that hang or fail."""
    found = re.search(r"charset=[\"']?([\w-]{1,40})", kind, re.IGNORECASE)
    try:
        name = codecs.lookup(found[1]).name if found else "utf-8"
    except LookupError:
        return "utf-8"
    return name if WRITTEN.match(name) else "utf-8"


def as_text(page: str) -> str:
    """The words of a page. Splitting, not matching: no page makes it slow."""
    words: list[str] = []
    skipped = ""
    for piece in page.split("<"):
        tag, end, text = piece.partition(">")
        name = tag.split(maxsplit=1)[0].lower() if tag.strip() else ""
        if not end:
            words.append(piece if not words else "")
        elif skipped:
            if name == f"/{skipped}":
                skipped = ""
                words.append(text)
        elif name in ("script", "style", "template", "svg", "noscript"):
            skipped = name
        else:
            words.append(("\n" if name.strip("/") in BLOCKS else "") + text)
    plain = html.unescape(NO_SIGN.sub("\ufffd", "".join(words)))
    lines = (" ".join(line.split()) for line in plain.split("\n"))
    return "\n".join(line for line in lines if line)


FETCH = Tool(
    name="fetch",
    description="Fetch a public web page or file over http or https. Its words come back, as data.",
    parameters=Fetch,
    kind="fetch",
    touches="network",
    object=lambda parameters: str(parameters.url),
    run=run,
)
