"""Receives the redirect with which the user's browser returns from an OAuth sign-in."""

import asyncio
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

PATH = "/callback"
SIGN_IN_TIMEOUT_S = 300.0
REDIRECT_TIMEOUT_S = 10.0  # how long the browser may take to send its request after it has connected
MAX_REQUEST_BYTES = 16 << 10
RESPONSE_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
PAGE = "<!doctype html><meta charset=utf-8><title>Journeyman</title><p>{} You can close this page.</p>"


class RedirectListener:
    """An HTTP server on the loopback interface that waits for one redirect. It listens within `async with`."""

    def __init__(self) -> None:
        self._result: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "RedirectListener":
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=MAX_REQUEST_BYTES)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        if self._result.done():
            self._result.exception()  # Mark the error as retrieved, or asyncio would log it.

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def wait(self) -> AuthorizationCodeResult:
        """Wait for the redirect. Raise OAuthFlowError if the sign-in was refused or takes too long."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._result), SIGN_IN_TIMEOUT_S)
        except TimeoutError:
            minutes = f"{SIGN_IN_TIMEOUT_S / 60:g}"
            raise OAuthFlowError(f"Nobody has signed in within {minutes} minutes.") from None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and keep the result of the first redirect."""
        try:
            async with asyncio.timeout(REDIRECT_TIMEOUT_S):
                request_line = (await reader.readline()).decode("latin-1").split(" ")
            result = _parse_redirect(request_line[1] if len(request_line) > 1 else "")
            page = _page(result)
            writer.write(RESPONSE_HEAD.format(len(page)).encode() + page)
            await writer.drain()
            self._keep(result)
        except (OSError, ValueError):  # OSError includes TimeoutError.
            pass
        finally:
            writer.close()

    def _keep(self, result: AuthorizationCodeResult | OAuthFlowError | None) -> None:
        if self._result.done() or result is None:
            return
        if isinstance(result, OAuthFlowError):
            self._result.set_exception(result)
        else:
            self._result.set_result(result)


def _parse_redirect(target: str) -> AuthorizationCodeResult | OAuthFlowError | None:
    """Return the result of the sign-in from the target of a request; None for other requests, such as for an icon."""
    parts = urlsplit(target)
    values = {name: each[0] for name, each in parse_qs(parts.query).items()}
    if parts.path != PATH:
        return None
    if "code" in values:
        return AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))
    return OAuthFlowError("The sign-in was refused.") if "error" in values else None


def _page(result: AuthorizationCodeResult | OAuthFlowError | None) -> bytes:
    """Return the page that the browser shows."""
    text = "You are signed in." if isinstance(result, AuthorizationCodeResult) else str(result or "")
    return PAGE.format(text).encode()
