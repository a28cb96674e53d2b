"""The Anthropic Messages API, which other providers implement, too.

Reasoning blocks of earlier replies are sent back unchanged, and the prompt contains cache breakpoints.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.domain.messages import Message
from core.domain.text import Attachment
from core.models.anthropic_reply import AnthropicReplyParser
from core.models.api_client import UNKNOWN_LIMITS, ApiClient, ListedModel, ModelLimits
from core.models.attachments import Part, PartEncoders, message_parts
from core.models.endpoint import ProviderEndpoint
from core.models.json_values import arguments_object
from core.models.model import ReplyDelta, Request
from core.models.model_lists import parse_anthropic_models
from core.models.output_schema import schema_instruction
from core.models.provider_state import state_origin, unpack_state
from core.models.tool_names import ToolNames

VERSION = "2023-06-01"
CACHE_CONTROL = {"type": "ephemeral"}
DEFAULT_MAX_TOKENS = 32_000
DEFAULT_MAX_TOKENS_OLD = 4_096
OLD_MODELS = re.compile(r"claude-(2|instant|3)")
BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 10_000, "high": 20_000, "xhigh": 28_000, "max": 28_000}
# Models without adaptive thinking, which need a token budget for their thinking instead of an effort.
BUDGET_MODELS = re.compile(r"claude-(3-7|(sonnet|opus|haiku)-4(-[0-5])?(-\d{8}|$|@))")


class AnthropicModel:
    """A model that a provider serves at `/v1/messages`."""

    def __init__(self, server: ProviderEndpoint, model: str = "", limits: ModelLimits = UNKNOWN_LIMITS) -> None:
        self._api = ApiClient(server, model)
        self._limits = limits
        self.window = limits.window or 0
        self._root = "" if server.base_url.rstrip("/").endswith("/v1") else "/v1"

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        names = ToolNames(tool.name for tool in request.tools)
        origin = state_origin(self._api, "anthropic")
        official = self._api.endpoint.host == "api.anthropic.com"
        body = anthropic_body(request, self._api.model, self._limits, names, origin, official)
        parser = AnthropicReplyParser(self._api.error_context, names, origin)
        async with aclosing(self._api.stream_reply(f"{self._root}/messages", self._headers(), body, parser)) as deltas:
            async for delta in deltas:
                yield delta

    async def list_models(self) -> list[ListedModel]:
        return parse_anthropic_models(await self._api.fetch_json(f"{self._root}/models?limit=1000", self._headers()))

    def _headers(self) -> dict[str, str]:
        key = self._api.endpoint.api_key
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def anthropic_body(
    request: Request, model: str, limits: ModelLimits, names: ToolNames, origin: str, official: bool = False
) -> dict[str, Any]:
    """Return the request body. The API requires `max_tokens`, so a default is sent if the user set no limit.

    `official`: the provider is Anthropic itself, which also supports output schemas and adaptive thinking.
    """
    max_tokens = (
        request.options.max_output_tokens
        or limits.max_output
        or (DEFAULT_MAX_TOKENS_OLD if OLD_MODELS.search(model) else DEFAULT_MAX_TOKENS)
    )
    messages = anthropic_messages(request, _encoders(limits), names, origin)
    _set_cache_breakpoints(messages)
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens, "messages": messages, "stream": True}
    system = "\n\n".join(request.system_texts())
    if request.output_schema is not None and not official:
        system = f"{system}\n\n{schema_instruction(request.output_schema)}".strip()
    if system:
        body["system"] = [{"type": "text", "text": system, "cache_control": CACHE_CONTROL}]
    if request.tools:
        body["tools"] = [
            {
                "name": names.to_provider(tool.name),
                "description": tool.description,
                "input_schema": dict(tool.parameters),
            }
            for tool in request.tools
        ]
        body["tools"][-1]["cache_control"] = CACHE_CONTROL
    if request.options.temperature is not None:
        body["temperature"] = request.options.temperature
    if request.options.effort is not None:
        body |= _thinking(request.options.effort, max_tokens, adaptive=official and not BUDGET_MODELS.search(model))
    if request.output_schema is not None and official:
        output_format = {"type": "json_schema", "schema": dict(request.output_schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": output_format}
    return body


def anthropic_messages(request: Request, encoders: PartEncoders, names: ToolNames, origin: str) -> list[dict[str, Any]]:
    """Return the conversation as alternating turns of user and assistant.

    All messages between two replies form one user turn, in which the tool results come first.
    """
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        match message.role:
            case "user":
                _append_blocks(turns, "user", message_parts(message, request, encoders))
            case "tool":
                _append_blocks(turns, "user", [_tool_result(message, request, encoders)])
            case "assistant":
                _append_blocks(turns, "assistant", _assistant_blocks(message, request, names, origin))
            case _:
                pass
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": "(conversation continues)"}]})
    for turn in turns:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result" and turn["role"] == "user")
    return turns


def _append_blocks(turns: list[dict[str, Any]], role: str, blocks: list[Part]) -> None:
    """Append blocks to the last turn if it has the same role, or else as a new turn.

    Empty text blocks are left out, because the API rejects them.
    """
    blocks = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
    if not blocks and role == "user":
        blocks = [{"type": "text", "text": "(empty)"}]
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] += blocks
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _assistant_blocks(message: Message, request: Request, names: ToolNames, origin: str) -> list[Part]:
    """Return the blocks of an earlier reply; if this model produced it, with its reasoning blocks unchanged."""
    text = request.read_text(message.text)
    calls = [
        {
            "type": "tool_use",
            "id": _call_id(call.id),
            "name": names.to_provider(call.tool),
            "input": arguments_object(request.read_text(call.arguments)),
        }
        for call in message.calls
    ]
    state = unpack_state(message, request, origin)
    if isinstance(state, list) and sum(block.get("type") == "tool_use" for block in state) == len(calls):
        remaining_calls = iter(calls)
        return [next(remaining_calls) if block["type"] == "tool_use" else block for block in state]
    return [{"type": "text", "text": text}, *calls]


def _tool_result(message: Message, request: Request, encoders: PartEncoders) -> Part:
    text = request.read_text(message.text)
    content: str | list[Part] = message_parts(message, request, encoders) if message.attachments else text
    block = {"type": "tool_result", "tool_use_id": _call_id(message.call_id), "content": content}
    return {**block, "is_error": True} if message.failed else block


def _thinking(effort: str, limit: int, adaptive: bool) -> dict[str, Any]:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if adaptive:
        level = "low" if effort == "minimal" else effort
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
    budget = min(BUDGETS.get(effort, BUDGETS["medium"]), limit - 1_024)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1_024 else {}


def _set_cache_breakpoints(turns: list[dict[str, Any]]) -> None:
    """Mark the ends of the last two user turns as cache breakpoints."""
    for turn in [turn for turn in turns if turn["role"] == "user"][-2:]:
        turn["content"][-1] = {**turn["content"][-1], "cache_control": CACHE_CONTROL}


def _call_id(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def _encoders(limits: ModelLimits) -> PartEncoders:
    def text(text: str) -> Part:
        return {"type": "text", "text": text}

    def image(attachment: Attachment, data: str) -> Part:
        return {"type": "image", "source": source(attachment, data)}

    def pdf(attachment: Attachment, data: str) -> Part:
        return {"type": "document", "source": source(attachment, data), "title": attachment.name}

    def source(attachment: Attachment, data: str) -> Part:
        return {"type": "base64", "media_type": attachment.media_type, "data": data}

    return PartEncoders(text, None if limits.images is False else image, None if limits.pdf is False else pdf)
