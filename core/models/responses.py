"""The OpenAI Responses API without server-side storage: encrypted reasoning is received and sent back."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.domain.messages import Message
from core.domain.text import Attachment
from core.models.api_client import UNKNOWN_LIMITS, ApiClient, ListedModel, ModelLimits
from core.models.attachments import Part, PartEncoders, data_url, message_parts
from core.models.endpoint import ProviderEndpoint
from core.models.json_values import arguments_json
from core.models.model import ReplyDelta, Request
from core.models.model_lists import parse_openai_models
from core.models.output_schema import is_strict
from core.models.provider_state import state_origin, unpack_state
from core.models.responses_reply import ResponsesReplyParser
from core.models.tool_names import ToolNames

OPENAI = ("api.openai.com", ".openai.azure.com")


class ResponsesModel:
    """A model that a provider serves at `/responses`."""

    def __init__(self, server: ProviderEndpoint, model: str = "", limits: ModelLimits = UNKNOWN_LIMITS) -> None:
        self._api = ApiClient(server, model)
        self._limits = limits
        self.window = limits.window or 0

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        names = ToolNames(tool.name for tool in request.tools)
        origin = state_origin(self._api, "responses")
        official = self._api.endpoint.host.endswith(OPENAI)
        body = responses_body(request, self._api.model, self._limits, names, origin, official)
        parser = ResponsesReplyParser(self._api.error_context, names, origin)
        async with aclosing(self._api.stream_reply("/responses", self._headers(), body, parser)) as deltas:
            async for delta in deltas:
                yield delta

    async def list_models(self) -> list[ListedModel]:
        return parse_openai_models(await self._api.fetch_json("/models", self._headers()))

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._api.endpoint.api_key}"} if self._api.endpoint.api_key else {}


def responses_body(
    request: Request, model: str, limits: ModelLimits, names: ToolNames, origin: str, official: bool = False
) -> dict[str, Any]:
    """Return the request body, without options that the user did not set.

    `official`: the provider is OpenAI or Azure, which can return encrypted reasoning.
    """
    instructions = request.system_texts()
    body: dict[str, Any] = {
        "model": model,
        "input": responses_items(request, _encoders(limits), names, origin),
        "stream": True,
        "store": False,
    }
    if instructions:
        body["instructions"] = "\n\n".join(instructions)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": names.to_provider(tool.name),
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.options.max_output_tokens is not None:
        body["max_output_tokens"] = request.options.max_output_tokens
    if request.options.temperature is not None:
        body["temperature"] = request.options.temperature
    if request.options.effort is not None:
        body["reasoning"] = {"effort": request.options.effort, "summary": "auto"}
    if official:
        body["include"] = ["reasoning.encrypted_content"]
    if request.output_schema is not None:
        text_format = {"type": "json_schema", "name": "reply", "schema": dict(request.output_schema)}
        body["text"] = {"format": {**text_format, "strict": is_strict(request.output_schema)}}
    return body


def responses_items(request: Request, encoders: PartEncoders, names: ToolNames, origin: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in request.messages:
        match message.role:
            case "user":
                items.append({"role": "user", "content": message_parts(message, request, encoders)})
            case "assistant":
                items += _assistant_items(message, request, names, origin)
            case "tool":
                text: str | list[Part] = request.read_text(message.text)
                output = message_parts(message, request, encoders) if message.attachments else text
                items.append({"type": "function_call_output", "call_id": _call_id(message.call_id), "output": output})
            case _:
                pass
    return items


def _assistant_items(message: Message, request: Request, names: ToolNames, origin: str) -> list[dict[str, Any]]:
    """Return the items of an earlier reply; if this model produced it, the original items with our call ids."""
    calls = [
        {
            "type": "function_call",
            "call_id": _call_id(call.id),
            "name": names.to_provider(call.tool),
            "arguments": arguments_json(request.read_text(call.arguments)),
        }
        for call in message.calls
    ]
    state = unpack_state(message, request, origin)
    if isinstance(state, list) and sum(_is_call(item) for item in state) == len(calls):
        remaining_calls = iter(calls)
        return [{**item, **next(remaining_calls)} if _is_call(item) else item for item in state]
    text = request.read_text(message.text)
    text_items = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
    return [*(text_items if text else []), *calls]


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "function_call"


def _call_id(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:40]


def _encoders(limits: ModelLimits) -> PartEncoders:
    def text(text: str) -> Part:
        return {"type": "input_text", "text": text}

    def image(attachment: Attachment, data: str) -> Part:
        return {"type": "input_image", "image_url": data_url(attachment, data)}

    def pdf(attachment: Attachment, data: str) -> Part:
        return {"type": "input_file", "filename": attachment.name, "file_data": data_url(attachment, data)}

    return PartEncoders(text, None if limits.images is False else image, None if limits.pdf is False else pdf)
