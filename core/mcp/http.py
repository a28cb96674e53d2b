"""The HTTP transport for MCP servers, which bounds the size of responses.

It uses no settings from the environment, follows no redirects and accepts no compressed responses.
"""

import ssl
from collections.abc import AsyncIterator
from typing import cast

import certifi
import httpx2

from core.domain.address import is_loopback
from core.mcp.server_config import ResolvedMcpServer

MAX_RESPONSE_BYTES = 32 << 20  # maximum size of a response, after which reading it fails
MAX_EVENT_BYTES = 16 << 20  # maximum size of one server-sent event
CONNECT_S = 30.0


class McpHttpTransport(httpx2.AsyncHTTPTransport):
    """A transport that keeps the last HTTP error status, which the MCP client's exceptions do not contain."""

    def __init__(self, opened: ResolvedMcpServer) -> None:
        url = httpx2.URL(opened.server.url)
        local = is_loopback(url.host)
        proxy = opened.proxy if opened.proxy and not local else None
        verify = _ssl_context() if url.scheme == "https" or proxy else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        super().__init__(verify=verify, trust_env=False, proxy=proxy)
        self.last_error_status = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        self.last_error_status = response.status_code if response.status_code >= 400 else 0
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("it sent a compressed response, which was not requested")
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _LimitedStream(cast(httpx2.AsyncByteStream, response.stream))
        return response


class _LimitedStream(httpx2.AsyncByteStream):
    """A response body that raises DecodingError when it exceeds MAX_RESPONSE_BYTES."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_RESPONSE_BYTES:
                raise httpx2.DecodingError(f"its response is larger than {MAX_RESPONSE_BYTES >> 20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(
    opened: ResolvedMcpServer, transport: McpHttpTransport, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """Return an HTTP client without a read timeout: a call may wait for the user, so the caller limits its time."""
    return httpx2.AsyncClient(
        auth=auth,
        headers={"accept-encoding": "identity", "user-agent": "journeyman", **opened.values},
        transport=transport,
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        trust_env=False,
        follow_redirects=False,
    )


def _ssl_context() -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates of the system and of certifi: some systems have none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
