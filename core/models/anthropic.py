"""Anthropic Messages, also as others speak it: thoughts go back as they came, and the prompt's cache is marked."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.domain.messages import Message
from core.domain.text import Attachment
from core.models.anthropic_reply import AnthropicReply
from core.models.attach import Part, Shapes, parts_of
from core.models.carry import carried, stamp
from core.models.lists import anthropic_list
from core.models.model import Delta, Request
from core.models.names import ToolNames
from core.models.plain import as_object
from core.models.schemas import instruction
from core.models.server import Server
from core.models.wire import UNKNOWN, Known, Listed, Wire

VERSION = "2023-06-01"
CACHE = {"type": "ephemeral"}
OUTPUT = 32_000
OUTPUT_OLD = 4_096
OLD = re.compile(r"claude-(2|instant|3)")
BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 10_000, "high": 20_000, "xhigh": 28_000, "max": 28_000}
BUDGETED = re.compile(
    r"claude-(3-7|(sonnet|opus|haiku)-4(-[0-5])?(-\d{8}|$|@))"
)  # models from before adaptive thinking


class Anthropic:
    """A model behind `/v1/messages`."""

    def __init__(self, server: Server, model: str = "", known: Known = UNKNOWN) -> None:
        self._wire = Wire(server, model)
        self._known = known
        self.window = known.window or 0
        self._root = "" if server.base_url.rstrip("/").endswith("/v1") else "/v1"

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply."""
        names = ToolNames(tool.name for tool in request.tools)
        mark = stamp(self._wire, "anthropic")
        official = self._wire.server.host == "api.anthropic.com"
        body = anthropic_body(request, self._wire.model, self._known, names, mark, official)
        fold = AnthropicReply(self._wire.place, names, mark)
        async with aclosing(self._wire.reply(f"{self._root}/messages", self._headers(), body, fold)) as deltas:
            async for delta in deltas:
                yield delta

    async def list_models(self) -> list[Listed]:
        """The models of the server."""
        return anthropic_list(await self._wire.fetch(f"{self._root}/models?limit=1000", self._headers()))

    def _headers(self) -> dict[str, str]:
        key = self._wire.server.key
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def anthropic_body(
    request: Request, model: str, known: Known, names: ToolNames, mark: str, official: bool = False
) -> dict[str, Any]:
    """The body; the limit of the reply is the one field this wire demands."""
    limit = request.wanted.max_output or known.output or (OUTPUT_OLD if OLD.search(model) else OUTPUT)
    messages = anthropic_messages(request, _shapes(known), names, mark)
    _mark(messages)
    body: dict[str, Any] = {"model": model, "max_tokens": limit, "messages": messages, "stream": True}
    system = "\n\n".join(request.instructions())
    if request.schema is not None and not official:
        system = f"{system}\n\n{instruction(request.schema)}".strip()
    if system:
        body["system"] = [{"type": "text", "text": system, "cache_control": CACHE}]
    if request.tools:
        body["tools"] = [
            {"name": names.out(tool.name), "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
        body["tools"][-1]["cache_control"] = CACHE
    if request.wanted.temperature is not None:
        body["temperature"] = request.wanted.temperature
    if request.wanted.effort is not None:
        body |= _thinking(request.wanted.effort, limit, adaptive=official and not BUDGETED.search(model))
    if request.schema is not None and official:
        form = {"type": "json_schema", "schema": dict(request.schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": form}
    return body


def anthropic_messages(request: Request, shapes: Shapes, names: ToolNames, mark: str) -> list[dict[str, Any]]:
    """The conversation in turns: what is not the model's is one turn, with the results of calls first."""
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        match message.role:
            case "user":
                _add(turns, "user", parts_of(message, request, shapes))
            case "tool":
                _add(turns, "user", [_result(message, request, shapes)])
            case "assistant":
                _add(turns, "assistant", _said(message, request, names, mark))
            case _:
                pass
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": "(the conversation goes on)"}]})
    for turn in turns:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result" and turn["role"] == "user")
    return turns


def _add(turns: list[dict[str, Any]], role: str, blocks: list[Part]) -> None:
    """To the last turn when it is of the same side; words that are empty are refused there, so they are left out."""
    blocks = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
    if not blocks and role == "user":
        blocks = [{"type": "text", "text": "(nothing)"}]
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] += blocks
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _said(message: Message, request: Request, names: ToolNames, mark: str) -> list[Part]:
    """A reply of before, its thoughts unchanged and in their place where this model thought them."""
    words = request.whole(message.text)
    calls = [
        {
            "type": "tool_use",
            "id": _id(call.id),
            "name": names.out(call.tool),
            "input": as_object(request.whole(call.arguments)),
        }
        for call in message.calls
    ]
    kept = carried(message, request, mark)
    if isinstance(kept, list) and sum(block.get("type") == "tool_use" for block in kept) == len(calls):
        ours = iter(calls)
        return [next(ours) if block["type"] == "tool_use" else block for block in kept]
    return [{"type": "text", "text": words}, *calls]


def _result(message: Message, request: Request, shapes: Shapes) -> Part:
    words = request.whole(message.text)
    content: str | list[Part] = parts_of(message, request, shapes) if message.attachments else words
    block = {"type": "tool_result", "tool_use_id": _id(message.call_id), "content": content}
    return {**block, "is_error": True} if message.failed else block


def _thinking(effort: str, limit: int, adaptive: bool) -> dict[str, Any]:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if adaptive:
        level = "low" if effort == "minimal" else effort
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
    budget = min(BUDGETS.get(effort, BUDGETS["medium"]), limit - 1_024)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1_024 else {}


def _mark(turns: list[dict[str, Any]]) -> None:
    """Where the prompt may be cached: after the last two turns that are not the model's."""
    for turn in [turn for turn in turns if turn["role"] == "user"][-2:]:
        turn["content"][-1] = {**turn["content"][-1], "cache_control": CACHE}


def _id(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def _shapes(known: Known) -> Shapes:
    def part(kind: str, one: Attachment, data: str) -> Part:
        return {"type": kind, "source": {"type": "base64", "media_type": one.media_type, "data": data}}

    return Shapes(
        lambda words: {"type": "text", "text": words},
        None if known.images is False else lambda one, data: part("image", one, data),
        None if known.pdf is False else lambda one, data: {**part("document", one, data), "title": one.name},
    )
