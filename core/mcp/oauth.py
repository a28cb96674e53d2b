"""Signs in to remote MCP servers with OAuth: discovery, registration, PKCE in the browser, and refreshed tokens.

The protocol is that of the `mcp` library. This module keeps the result in the keyring, receives the browser's redirect
on the loopback interface, and restricts the addresses that a server can make Journeyman request.

SignInAuth overrides `_initialize` and `_auth_flow`, which are private in the library, as they are in `mcp` 2.3. Before
you use a newer version, compare them.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import BaseModel, ValidationError

from core.domain.address import is_loopback, origin_of
from core.mcp.server_config import SIGN_IN_NAME, secret_owner
from core.settings.api_keys import ApiKeys, KeyOwner
from core.settings.schema import McpServerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Stored = TypeVar("Stored", bound=BaseModel)
OpenPage = Callable[[str], None]

SIGN_IN_TIMEOUT_S = 300.0
REDIRECT_TIMEOUT_S = 10.0  # for the browser to send its request once it has connected
MAX_REQUEST_BYTES = 16 << 10
SIGN_IN_AGAIN = "The sign-in has expired or was never made."
RESPONSE_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
DONE_PAGE = "<!doctype html><meta charset=utf-8><title>Journeyman</title><p>{} You can close this page.</p>"


def sign_in_owner(server: McpServerSettings) -> KeyOwner:
    """Return the keyring entry of the sign-in to a server."""
    return secret_owner(server, SIGN_IN_NAME)


class StoredSignIn:
    """The stored result of a sign-in: the registered client, the tokens and where to refresh them. A `TokenStorage`."""

    def __init__(self, keys: ApiKeys, owner: KeyOwner) -> None:
        self._keys, self._owner = keys, owner
        self._values: dict[str, Any] = {}

    async def load(self) -> None:
        """Read the entry of the keyring, if there is one."""
        with suppress(ValueError):
            self._values = json.loads((await self._keys.find(self._owner)).value or "{}")

    async def get_tokens(self) -> OAuthToken | None:
        tokens = _read(OAuthToken, self._values.get("tokens"))
        self._add_to_secrets(tokens)
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._add_to_secrets(tokens)
        self._values["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        self._values["expires_at"] = time.time() + tokens.expires_in if tokens.expires_in else None
        await self._save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _read(OAuthClientInformationFull, self._values.get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._values["client"] = client_info.model_dump(mode="json", exclude_none=True)
        await self._save()

    async def set_metadata(self, metadata: OAuthMetadata) -> None:
        self._values["metadata"] = metadata.model_dump(mode="json", exclude_none=True)
        await self._save()

    def metadata(self) -> OAuthMetadata | None:
        return _read(OAuthMetadata, self._values.get("metadata"))

    def expires_at(self) -> float | None:
        value = self._values.get("expires_at")
        return float(value) if isinstance(value, int | float) else None

    async def _save(self) -> None:
        await self._keys.save(self._owner, json.dumps(self._values))

    def _add_to_secrets(self, tokens: OAuthToken | None) -> None:
        """Have the tokens removed from whatever is sent to a model."""
        if tokens:
            self._keys.seen.update(filter(None, (tokens.access_token, tokens.refresh_token)))


class SignInAuth(OAuthClientProvider):
    """Adds the token of a stored sign-in to requests, and refreshes it, also after a restart.

    Without `open_page`, a server that asks for a new sign-in causes an OAuthFlowError.
    """

    def __init__(
        self,
        server: McpServerSettings,
        stored: StoredSignIn,
        redirect_uri: str = "http://127.0.0.1/callback",
        open_page: OpenPage | None = None,
        wait: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
    ) -> None:
        metadata = OAuthClientMetadata.model_validate(
            {
                "client_name": "Journeyman",
                "redirect_uris": [redirect_uri],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }
        )
        super().__init__(server.url, metadata, stored, self._open_authorization_page, wait or _require_sign_in)
        self._server_url, self._stored, self._open_page = server.url, stored, open_page

    async def _open_authorization_page(self, url: str) -> None:
        if self._open_page is None:
            raise OAuthFlowError(SIGN_IN_AGAIN)
        _check_url(url, self._server_url)
        if self.context.oauth_metadata:
            await self._stored.set_metadata(self.context.oauth_metadata)
        self._open_page(url)

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.token_expiry_time = self._stored.expires_at()
        self.context.oauth_metadata = self._stored.metadata()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the flow of the library, and refuse requests that the server must not cause."""
        flow = super()._auth_flow(request)
        response: httpx2.Response | None = None
        try:
            while True:
                step = await (anext(flow) if response is None else flow.asend(response))
                _check_url(str(step.url), self._server_url)
                response = yield step
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


async def _require_sign_in() -> AuthorizationCodeResult:
    raise OAuthFlowError(SIGN_IN_AGAIN)


@asynccontextmanager
async def browser_sign_in(server: McpServerSettings, keys: ApiKeys, open_page: OpenPage) -> "AsyncIterator[SignInAuth]":
    """Provide an `auth` for one connection during which the user signs in. `open_page` shows a URL in the browser.

    The browser is redirected to a server on the loopback interface, which lives as long as the context.
    """
    arrived: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REDIRECT_TIMEOUT_S):
                line = (await reader.readline()).decode("latin-1").split(" ")
            result, text = _parse_redirect(line[1] if len(line) > 1 else "")
            body = DONE_PAGE.format(text).encode()
            writer.write(RESPONSE_HEAD.format(len(body)).encode() + body)
            await writer.drain()
            if not arrived.done() and (result or text):
                arrived.set_result(result) if result else arrived.set_exception(OAuthFlowError(text))
        except (OSError, ValueError):  # including TimeoutError
            pass
        finally:
            writer.close()

    async def wait() -> AuthorizationCodeResult:
        try:
            return await asyncio.wait_for(asyncio.shield(arrived), SIGN_IN_TIMEOUT_S)
        except TimeoutError:
            minutes = f"{SIGN_IN_TIMEOUT_S / 60:g}"
            raise OAuthFlowError(f"Nobody has signed in within {minutes} minutes.") from None

    listener = await asyncio.start_server(answer, "127.0.0.1", 0, limit=MAX_REQUEST_BYTES)
    try:
        port = listener.sockets[0].getsockname()[1]
        stored = StoredSignIn(keys, sign_in_owner(server))
        yield SignInAuth(server, stored, f"http://127.0.0.1:{port}/callback", open_page, wait)
    finally:
        listener.close()
        if arrived.done():
            arrived.exception()


def _parse_redirect(target: str) -> tuple[AuthorizationCodeResult | None, str]:
    """Return what the browser was redirected with, and the text to show.

    There is no text for a request that is not a redirect after a sign-in: it has neither a code nor an error.
    """
    parts = urlsplit(target)
    if parts.path != "/callback":
        return None, ""
    values = {name: each[0] for name, each in parse_qs(parts.query).items()}
    if "code" in values:
        result = AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))
        return result, "You are signed in."
    return None, "The sign-in was refused." if "error" in values else ""


def _check_url(url: str, server_url: str) -> None:
    """Raise OAuthFlowError for an address that the server may not send us or the browser to.

    Tokens travel encrypted, and a server on the internet cannot name this computer.
    """
    parts, local = urlsplit(url), is_loopback(urlsplit(server_url).hostname or "")
    if origin_of(url) == origin_of(server_url) or (local and is_loopback(parts.hostname or "")):
        allowed = parts.scheme in ("http", "https")
    else:
        allowed = parts.scheme == "https" and not is_loopback(parts.hostname or "")
    if not allowed:
        raise OAuthFlowError(f"Its sign-in uses the address {parts.scheme}://{parts.hostname}, which is not safe")


def _read(model: type[Stored], value: object) -> Stored | None:
    """Return a stored value as a model of the library, or None if there is none or it is of another version."""
    try:
        return model.model_validate(value) if value else None
    except ValidationError:
        return None
