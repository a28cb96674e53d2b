"""Keeps the result of a sign-in to a remote MCP server in the keyring."""

import json
import time
from contextlib import suppress
from typing import Any, TypeVar

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from pydantic import BaseModel, ValidationError

from core.mcp.server_config import SIGN_IN_NAME, secret_owner
from core.settings.api_keys import ApiKeys, KeyOwner
from core.settings.schema import McpServerSettings

Stored = TypeVar("Stored", bound=BaseModel)


def sign_in_owner(server: McpServerSettings) -> KeyOwner:
    """Return the keyring entry of the sign-in to a server."""
    return secret_owner(server, SIGN_IN_NAME)


class StoredSignIn:
    """The sign-in of one server in the keyring: the registered client, the tokens and where to refresh them.

    Implements the `TokenStorage` protocol of the `mcp` library.
    """

    def __init__(self, keys: ApiKeys, owner: KeyOwner) -> None:
        self._keys = keys
        self._owner = owner
        self._values: dict[str, Any] = {}

    async def load(self) -> None:
        """Read the entry of the keyring, if there is one."""
        with suppress(ValueError):
            self._values = json.loads((await self._keys.find(self._owner)).value or "{}")

    async def get_tokens(self) -> OAuthToken | None:
        tokens = self._get("tokens", OAuthToken)
        self._add_to_secrets(tokens)
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._add_to_secrets(tokens)
        self._values["expires_at"] = time.time() + tokens.expires_in if tokens.expires_in else None
        await self._set("tokens", tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._get("client", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._set("client", client_info)

    def metadata(self) -> OAuthMetadata | None:
        return self._get("metadata", OAuthMetadata)

    async def set_metadata(self, metadata: OAuthMetadata) -> None:
        await self._set("metadata", metadata)

    def expires_at(self) -> float | None:
        value = self._values.get("expires_at")
        return float(value) if isinstance(value, int | float) else None

    def _get(self, name: str, model: type[Stored]) -> Stored | None:
        """Return a stored value, or None if it is missing or was stored by an incompatible version of the library."""
        value = self._values.get(name)
        try:
            return model.model_validate(value) if value else None
        except ValidationError:
            return None

    async def _set(self, name: str, value: BaseModel) -> None:
        self._values[name] = value.model_dump(mode="json", exclude_none=True)
        await self._keys.save(self._owner, json.dumps(self._values))

    def _add_to_secrets(self, tokens: OAuthToken | None) -> None:
        """Register the tokens as secrets, so that they are redacted from everything sent to a model."""
        if tokens:
            self._keys.seen.update(filter(None, (tokens.access_token, tokens.refresh_token)))
