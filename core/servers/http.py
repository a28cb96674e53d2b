"""The way to a tool server at an address: no environment, no other origin, nothing compressed, bounded."""

import ssl
from collections.abc import AsyncIterator
from typing import cast

import certifi
import httpx2

from core.domain.address import is_loopback
from core.servers.opening import Opening

LARGEST = 32 << 20  # of one answer
LARGEST_EVENT = 16 << 20  # of one piece of an answer in pieces
CONNECT_S = 30.0


class Http(httpx2.AsyncHTTPTransport):
    """Remembers what the server answered last, where it was no yes: the client's own words do not say it."""

    def __init__(self, opened: Opening) -> None:
        url = httpx2.URL(opened.server.url)
        local = is_loopback(url.host)
        proxy = opened.proxy if opened.proxy and not local else None
        verify = _trusted() if url.scheme == "https" or proxy else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        super().__init__(verify=verify, trust_env=False, proxy=proxy)
        self.refused = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        self.refused = response.status_code if response.status_code >= 400 else 0
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("it answered compressed, which was not asked for")
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream))
        return response


class _Bounded(httpx2.AsyncByteStream):
    """An answer that comes whole, and may not fill the memory."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > LARGEST:
                raise httpx2.DecodingError(f"its answer is larger than {LARGEST >> 20} MiB")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(opened: Opening, transport: Http) -> httpx2.AsyncClient:
    """How long an answer may take is for whoever asks: a person may be thinking about a question in it."""
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity", "user-agent": "journeyman", **opened.given},
        transport=transport,
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        trust_env=False,
        follow_redirects=False,
    )


def _trusted() -> ssl.SSLContext:
    """What the system trusts, and, where it knows of none, the usual authorities."""
    made = ssl.create_default_context()
    made.load_verify_locations(certifi.where())
    return made
