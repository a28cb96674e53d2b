"""The OpenAI Chat Completions API, in the dialect of each provider."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.models.api_client import UNKNOWN_LIMITS, ApiClient, ListedModel, ModelLimits
from core.models.chat_reply import ChatReplyParser
from core.models.chat_request import chat_body
from core.models.dialects import Dialect, dialect_of
from core.models.endpoint import ProviderEndpoint
from core.models.model import ModelError, ReplyDelta, Request
from core.models.model_lists import parse_openai_models
from core.models.provider_state import state_origin
from core.models.tool_names import ToolNames

TOKEN_LIMIT_FIELDS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
OPTIONAL_FIELDS = ("stream_options", "reasoning_effort", *TOKEN_LIMIT_FIELDS)
SCHEMA_FIELD = "response_format"  # providers without schema support reject it with various messages


class ChatCompletionsModel:
    """A model that a provider serves at `/chat/completions`."""

    def __init__(
        self,
        server: ProviderEndpoint,
        model: str = "",
        limits: ModelLimits = UNKNOWN_LIMITS,
        dialect: Dialect | None = None,
    ) -> None:
        self._api = ApiClient(server, model)
        self._limits = limits
        self.window = limits.window or 0
        self._dialect = dialect or dialect_of(server.host)
        self._rejected_fields: set[str] = set()

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the reply. If the provider rejects an optional field, repeat the request without the field.

        This object leaves the field out of all later requests, too.
        """
        names = ToolNames(tool.name for tool in request.tools)
        origin = state_origin(self._api, "chat")
        full = chat_body(request, self._api.model, self._limits, self._dialect, names, origin)
        while True:
            body = _drop_fields(full, self._rejected_fields)
            parser = ChatReplyParser(self._api.error_context, names, origin)
            try:
                async with aclosing(
                    self._api.stream_reply("/chat/completions", self._headers(), body, parser)
                ) as deltas:
                    async for delta in deltas:
                        yield delta
            except ModelError as error:
                field = next((name for name in OPTIONAL_FIELDS if name in body and _rejects_field(error, name)), "")
                if not field and SCHEMA_FIELD in body and error.kind == "rejected":
                    field = SCHEMA_FIELD
                if not field:
                    raise
                self._rejected_fields.add(field)
            else:
                break
        if request.options.effort and (not self._dialect.effort or "reasoning_effort" in self._rejected_fields):
            yield ReplyDelta(note="The provider does not support reasoning effort for this model, so it was left out.")

    async def list_models(self) -> list[ListedModel]:
        return parse_openai_models(await self._api.fetch_json("/models", self._headers()))

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._api.endpoint.api_key}"} if self._api.endpoint.api_key else {}


def _rejects_field(error: ModelError, field: str) -> bool:
    return error.kind in ("rejected", "model") and bool(re.search(rf"\b{field}\b", error.details.cause))


def _drop_fields(body: dict[str, Any], rejected: set[str]) -> dict[str, Any]:
    """Return the body without rejected fields; a rejected token limit is sent under its alternative name."""
    fields = {name: value for name, value in body.items() if name not in rejected}
    for old, new in TOKEN_LIMIT_FIELDS.items():
        if old in body and old in rejected and new not in rejected:
            fields[new] = body[old]
    return fields
