"""The only door to HTTP: no environment, no redirects, no compression, bounded in size and time."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import certifi
import httpx

from core.models.faults import Place, fault, too_much
from core.models.model import Fault
from core.models.server import Patience, Server

LARGEST_REPLY = 32 << 20
LARGEST_ERROR = 64 << 10
CLOSE_S = 2.0


class Watch:
    """How long a reply may still take: each sign of life that means something starts the silence anew."""

    def __init__(self, patience: Patience) -> None:
        now = asyncio.get_running_loop().time()
        self._patience = patience
        self._end = now + patience.whole_s
        self._due = now + patience.first_s
        self._waits = patience.first_s

    @property
    def due(self) -> float:
        return min(self._due, self._end)

    def moved(self) -> None:
        """Something came that belongs to a reply."""
        self._wait(self._patience.silence_s)

    def ended(self) -> None:
        """The reply is whole; what may follow is worth a short wait only."""
        self._wait(self._patience.after_end_s)

    def late(self, place: Place) -> Fault:
        """The fault of having waited until now."""
        if self._end <= self._due:
            return fault("too_much", place, f"The reply did not end within {self._patience.whole_s:g} s.")
        return fault("timeout", place, f"Nothing of a reply arrived for {self._waits:g} s.")

    def _wait(self, seconds: float) -> None:
        self._waits = seconds
        self._due = asyncio.get_running_loop().time() + seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers: its head, and its body piece by piece."""

    status: int
    headers: Mapping[str, str]
    place: Place
    watch: Watch
    raw: AsyncIterator[bytes]

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes."""
        size = 0
        while True:
            try:
                async with asyncio.timeout_at(self.watch.due):
                    piece = await anext(self.raw, b"")
            except TimeoutError:
                raise self.watch.late(self.place) from None
            except httpx.HTTPError as error:
                raise fault(
                    "cut", self.place, f"The connection ended before the reply did ({_words(error)})."
                ) from error
            if not piece:
                return
            size += len(piece)
            if size > LARGEST_REPLY:
                raise too_much("It is larger than 32 MiB.")
            yield piece

    async def body(self, most: int = LARGEST_REPLY) -> bytes:
        """The body as far as it came, and no more of it than asked for."""
        pieces: list[bytes] = []
        size = 0
        with contextlib.suppress(Fault):
            async for piece in self.pieces():
                pieces.append(piece)
                size += len(piece)
                if size >= most:
                    break
        return b"".join(pieces)[:most]


class Http:
    """Requests to one server. Each has a connection of its own: nothing to close later, nothing gone stale."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._trust: ssl.SSLContext | None = None

    @contextlib.asynccontextmanager
    async def ask(
        self, url: str, place: Place, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[Answer]:
        """Ask with POST where there is a body; what comes back is open until the context ends."""
        watch = Watch(self._server.patience)
        head = {"accept-encoding": "identity", "user-agent": "journeyman", **headers}
        client = self._client()
        try:
            request = client.build_request("POST" if body is not None else "GET", url, content=body, headers=head)
            response = await _sent(client, request, place, watch)
            raw = cast(AsyncGenerator[bytes, None], response.aiter_raw())
            try:
                _check(response, place)
                plain = {name.lower(): value for name, value in response.headers.items()}
                yield Answer(response.status_code, plain, place, watch, raw)
            finally:
                await _closed(response, raw)
        finally:
            await client.aclose()

    def _client(self) -> httpx.AsyncClient:
        proxy = self._server.proxy if self._server.proxy and not self._server.local else None
        secure = self._server.base_url.lower().startswith("https") or bool(proxy)
        waits = httpx.Timeout(None, connect=self._server.patience.connect_s)
        verify = self._trusted() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which trusts nobody
        return httpx.AsyncClient(trust_env=False, follow_redirects=False, verify=verify, timeout=waits, proxy=proxy)

    def _trusted(self) -> ssl.SSLContext:
        """What the system trusts, and, where it knows of none, the usual authorities."""
        if self._trust is None:
            self._trust = ssl.create_default_context()
            self._trust.load_verify_locations(certifi.where())
        return self._trust


async def _sent(client: httpx.AsyncClient, request: httpx.Request, place: Place, watch: Watch) -> httpx.Response:
    try:
        async with asyncio.timeout_at(watch.due):
            return await client.send(request, stream=True)
    except TimeoutError:
        raise watch.late(place) from None
    except httpx.HTTPError as error:
        raise _unsent(error, place) from error


async def _closed(response: httpx.Response, raw: AsyncGenerator[bytes, None]) -> None:
    """Close it; a server that hinders even that has a bound."""
    with contextlib.suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await raw.aclose()
            await response.aclose()


def _check(response: httpx.Response, place: Place) -> None:
    """Refuse what would lead elsewhere, and what we did not ask for."""
    if 300 <= response.status_code < 400:
        target = urlsplit(response.headers.get("location", ""))
        where = target.netloc.rpartition("@")[2] or target.path or "a place it does not name"
        raise fault(
            "moved", place, f"It answered {response.status_code} and named {where}. The key was not sent there."
        )
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise fault("garbled", place, f"It answered in {coding}, which was not asked for.", again=False)


def _unsent(error: httpx.HTTPError, place: Place) -> Fault:
    """Why there is no answer."""
    roots = list(_roots(error))
    for root in roots:
        if isinstance(root, ssl.SSLCertVerificationError):
            return fault("tls", place, f"Its certificate is not valid: {root.verify_message}.")
        if isinstance(root, ssl.SSLError):
            return fault("tls", place, f"It does not speak TLS ({root.reason or root}).")
    if any(isinstance(root, ConnectionRefusedError) for root in roots):
        return fault("refused", place, "The connection was refused.")
    if any(isinstance(root, socket.gaierror) for root in roots):
        return fault("unreachable", place, "No computer has this name, or the network is down.")
    if isinstance(error, httpx.ConnectTimeout):
        return fault("unreachable", place, "It did not take the connection in time.")
    if isinstance(error, httpx.ProxyError):
        return fault("unreachable", place, f"The proxy did not let it through ({_words(error)}).")
    if isinstance(error, httpx.ConnectError):
        return fault("unreachable", place, f"There is no connection ({_words(error)}).")
    if isinstance(error, httpx.LocalProtocolError):
        return fault("rejected", place, f"The request cannot be sent ({_words(error)}).")
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return fault("not_a_server", place, f"Its answer is not HTTP as it should be ({_words(error)}).")
    return fault("cut", place, f"It ended the connection without an answer ({_words(error)}).")


def _roots(error: BaseException) -> Iterator[BaseException]:
    """Every exception that led to this one."""
    seen: list[Any] = [error]
    while seen:
        cause = seen.pop()
        yield cause
        seen += [nested for nested in (cause.__cause__, cause.__context__) if nested is not None]
        if isinstance(cause, BaseExceptionGroup):
            seen += cause.exceptions


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
