"""Signs in to remote MCP servers with OAuth: discovery, registration, PKCE in the browser, and refreshed tokens.

The protocol is that of the `mcp` library. This module adds a sign-in that outlives a restart, and restricts the
addresses that a server can make Journeyman or the browser request.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from core.domain.address import is_loopback, origin_of
from core.mcp.redirect_listener import RedirectListener
from core.mcp.sign_in_store import StoredSignIn, sign_in_owner
from core.settings.api_keys import ApiKeys
from core.settings.schema import McpServerSettings

OpenPage = Callable[[str], None]

SIGN_IN_AGAIN = "The sign-in has expired or was never made."


@asynccontextmanager
async def browser_sign_in(server: McpServerSettings, keys: ApiKeys, open_page: OpenPage) -> AsyncIterator["SignInAuth"]:
    """Yield the HTTP authentication for a connection during which the user signs in to the server in the browser.

    `open_page` opens a URL in the browser.
    """
    async with RedirectListener() as listener:
        stored = StoredSignIn(keys, sign_in_owner(server))
        yield SignInAuth(server, stored, listener.url, open_page, listener.wait)


def refuse_page(url: str) -> None:
    """Refuse to open a page, because the user has not started a sign-in."""
    raise OAuthFlowError(SIGN_IN_AGAIN)


async def refuse_redirect() -> AuthorizationCodeResult:
    raise OAuthFlowError(SIGN_IN_AGAIN)


class SignInAuth(OAuthClientProvider):
    """HTTP authentication that adds the token of a stored sign-in to requests, and refreshes it, also after a restart.

    Without `open_page`, a server that requests a new sign-in causes an OAuthFlowError.

    `_initialize` and `_auth_flow` override private methods of the library, as they are in `mcp` 2.3. Compare them
    before you use a newer version.
    """

    def __init__(
        self,
        server: McpServerSettings,
        stored: StoredSignIn,
        redirect_uri: str = "http://127.0.0.1/callback",
        open_page: OpenPage = refuse_page,
        wait_for_redirect: Callable[[], Awaitable[AuthorizationCodeResult]] = refuse_redirect,
    ) -> None:
        super().__init__(
            server.url, _client_metadata(redirect_uri), stored, self._open_authorization_page, wait_for_redirect
        )
        self._server_url = server.url
        self._stored = stored
        self._open_page = open_page

    async def _open_authorization_page(self, url: str) -> None:
        check_url(url, self._server_url)
        self._open_page(url)
        if self.context.oauth_metadata:
            await self._stored.set_metadata(self.context.oauth_metadata)

    async def _initialize(self) -> None:
        """Restore the stored sign-in, which the library keeps only in memory, to refresh a token after a restart."""
        await super()._initialize()
        self.context.token_expiry_time = self._stored.expires_at()
        self.context.oauth_metadata = self._stored.metadata()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the library's flow, and raise OAuthFlowError before a request to an unsafe address from the server."""
        flow = super()._auth_flow(request)
        try:
            step = await anext(flow)
            while True:
                check_url(str(step.url), self._server_url)
                response = yield step
                step = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


def check_url(url: str, server_url: str) -> None:
    """Raise OAuthFlowError for an unsafe address to which the server directs Journeyman or the browser.

    It must use https, and must not be on this computer unless the server is, too. The server's own origin is allowed.
    """
    address, server = urlsplit(url), urlsplit(server_url)
    is_local, server_is_local = is_loopback(address.hostname or ""), is_loopback(server.hostname or "")
    if origin_of(url) == origin_of(server_url) or (server_is_local and is_local):
        is_allowed = address.scheme in ("http", "https")
    else:
        is_allowed = address.scheme == "https" and not is_local
    if not is_allowed:
        raise OAuthFlowError(f"Its sign-in uses the address {address.scheme}://{address.hostname}, which is not safe")


def _client_metadata(redirect_uri: str) -> OAuthClientMetadata:
    return OAuthClientMetadata.model_validate(
        {
            "client_name": "Journeyman",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
    )
