"""The HTTP client for model providers, which limits the size and the duration of a reply.

It ignores proxy and certificate settings in the environment, follows no redirects and accepts no compressed bodies.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast
from urllib.parse import urlsplit

import certifi
import httpx

from core.domain.address import is_loopback
from core.models.endpoint import ProviderEndpoint, RequestTimeouts
from core.models.errors import ErrorContext, make_error, too_much
from core.models.model import ModelError

MAX_REPLY_BYTES = 32 << 20
MAX_ERROR_BYTES = 64 << 10
CLOSE_S = 2.0


class ReplyDeadline:
    """The deadline of a reply. Each event that shows progress extends it, within the limit for the whole reply."""

    def __init__(self, timeouts: RequestTimeouts) -> None:
        now = asyncio.get_running_loop().time()
        self._timeouts = timeouts
        self._end = now + timeouts.total_s
        self._due = now + timeouts.first_event_s
        self._waits = timeouts.first_event_s

    @property
    def due(self) -> float:
        return min(self._due, self._end)

    def extend(self) -> None:
        """Restart the idle timeout, after an event that shows progress."""
        self._wait(self._timeouts.idle_s)

    def reply_complete(self) -> None:
        """Shorten the deadline after the reply is complete, when only trailing events may follow."""
        self._wait(self._timeouts.after_end_s)

    def timeout_error(self, context: ErrorContext) -> ModelError:
        """Return the error to raise after the deadline has passed."""
        if self._end <= self._due:
            return make_error("too_much", context, f"The reply was not complete after {self._timeouts.total_s:g} s.")
        return make_error("timeout", context, f"No data of the reply arrived for {self._waits:g} s.")

    def _wait(self, seconds: float) -> None:
        self._waits = seconds
        self._due = asyncio.get_running_loop().time() + seconds


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response whose body is read in chunks. Header names are in lowercase."""

    status: int
    headers: Mapping[str, str]
    error_context: ErrorContext
    deadline: ReplyDeadline
    raw: AsyncIterator[bytes]

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; raise `ModelError` on timeout, disconnect or excessive size."""
        size = 0
        while True:
            try:
                async with asyncio.timeout_at(self.deadline.due):
                    chunk = await anext(self.raw, b"")
            except TimeoutError:
                raise self.deadline.timeout_error(self.error_context) from None
            except httpx.HTTPError as error:
                raise make_error(
                    "cut",
                    self.error_context,
                    f"The connection was closed before the reply was complete ({_exception_text(error)}).",
                ) from error
            if not chunk:
                return
            size += len(chunk)
            if size > MAX_REPLY_BYTES:
                raise too_much("The response is larger than 32 MiB.")
            yield chunk

    async def read_body(self, max_bytes: int = MAX_REPLY_BYTES) -> bytes:
        """Return up to `max_bytes` of the body. After a failure, return the bytes that have arrived."""
        chunks: list[bytes] = []
        size = 0
        with contextlib.suppress(ModelError):
            async for chunk in self.chunks():
                chunks.append(chunk)
                size += len(chunk)
                if size >= max_bytes:
                    break
        return b"".join(chunks)[:max_bytes]


class ModelHttpClient:
    """Sends requests to one provider. Each uses a new connection, so that none can go stale."""

    def __init__(self, server: ProviderEndpoint) -> None:
        self._server = server

    @contextlib.asynccontextmanager
    async def request(
        self, url: str, context: ErrorContext, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[HttpResponse]:
        """Send a request, with POST if there is a body or else GET; yield the response, then close it."""
        self._server.require_own()
        deadline = ReplyDeadline(self._server.timeouts)
        head = {"accept-encoding": "identity", "user-agent": "journeyman", **headers}
        client = self._client()
        try:
            request = client.build_request("POST" if body is not None else "GET", url, content=body, headers=head)
            response = await _send(client, request, context, deadline)
            body_stream = cast(AsyncGenerator[bytes, None], response.aiter_raw())
            try:
                _check_response(response, context)
                plain = {name.lower(): value for name, value in response.headers.items()}
                yield HttpResponse(response.status_code, plain, context, deadline, body_stream)
            finally:
                await _close(response, body_stream)
        finally:
            await client.aclose()

    def _client(self) -> httpx.AsyncClient:
        timeout = httpx.Timeout(None, connect=self._server.timeouts.connect_s)
        return make_client(self._server.base_url, self._server.proxy, timeout)


def make_client(url: str, proxy: str, timeout: httpx.Timeout, *, follow_redirects: bool = False) -> httpx.AsyncClient:
    """Return a client for requests to a URL. For URLs on this computer, the proxy is not used."""
    used_proxy = proxy if proxy and not is_loopback(urlsplit(url).hostname or "") else None
    secure = url.lower().startswith("https") or bool(used_proxy) or follow_redirects
    # No trusted certificates are loaded for plain HTTP.
    verify = _trust() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncClient(
        trust_env=False, follow_redirects=follow_redirects, verify=verify, timeout=timeout, proxy=used_proxy
    )


@cache
def _trust() -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates of the system, and those of certifi in case there are none."""
    trust = ssl.create_default_context()
    trust.load_verify_locations(certifi.where())
    return trust


async def _send(
    client: httpx.AsyncClient, request: httpx.Request, context: ErrorContext, deadline: ReplyDeadline
) -> httpx.Response:
    try:
        async with asyncio.timeout_at(deadline.due):
            return await client.send(request, stream=True)
    except TimeoutError:
        raise deadline.timeout_error(context) from None
    except httpx.HTTPError as error:
        raise _error_from_exception(error, context) from error


async def _close(response: httpx.Response, body_stream: AsyncGenerator[bytes, None]) -> None:
    """Close a response, but wait at most CLOSE_S seconds for the server."""
    with contextlib.suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await body_stream.aclose()
            await response.aclose()


def _check_response(response: httpx.Response, context: ErrorContext) -> None:
    """Raise `ModelError` for a redirect, or for a compressed body, which the request did not accept."""
    if 300 <= response.status_code < 400:
        target = urlsplit(response.headers.get("location", ""))
        destination = target.netloc.rpartition("@")[2] or target.path or "an unnamed address"
        raise make_error(
            "moved",
            context,
            f"It returned status {response.status_code} with a redirect to {destination}."
            " The API key was not sent there.",
        )
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise make_error("garbled", context, f"It sent a {coding} body, which was not requested.", retryable=False)


def _error_from_exception(error: httpx.HTTPError, context: ErrorContext) -> ModelError:
    """Return the error for a request that received no response."""
    roots = list(_exception_chain(error))
    for root in roots:
        if isinstance(root, ssl.SSLCertVerificationError):
            return make_error("tls", context, f"Its certificate is not valid: {root.verify_message}.")
        if isinstance(root, ssl.SSLError):
            return make_error("tls", context, f"It does not support TLS ({root.reason or root}).")
    if any(isinstance(root, ConnectionRefusedError) for root in roots):
        return make_error("refused", context, "The connection was refused.")
    if any(isinstance(root, socket.gaierror) for root in roots):
        return make_error("unreachable", context, "The host name cannot be resolved, or the network is down.")
    if isinstance(error, httpx.ConnectTimeout):
        return make_error("unreachable", context, "It did not accept the connection in time.")
    if isinstance(error, httpx.ProxyError):
        return make_error("unreachable", context, f"The proxy did not forward the request ({_exception_text(error)}).")
    if isinstance(error, httpx.ConnectError):
        return make_error("unreachable", context, f"The connection failed ({_exception_text(error)}).")
    if isinstance(error, httpx.LocalProtocolError):
        return make_error("rejected", context, f"The request cannot be sent ({_exception_text(error)}).")
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return make_error("not_a_server", context, f"Its response is not valid HTTP ({_exception_text(error)}).")
    return make_error("cut", context, f"It closed the connection without a response ({_exception_text(error)}).")


def _exception_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and, recursively, its causes and contexts and the members of exception groups."""
    pending: list[Any] = [error]
    while pending:
        cause = pending.pop()
        yield cause
        pending += [nested for nested in (cause.__cause__, cause.__context__) if nested is not None]
        if isinstance(cause, BaseExceptionGroup):
            pending += cause.exceptions


def _exception_text(error: Exception) -> str:
    return str(error) or type(error).__name__
