"""OpenAI Responses: nothing is stored there, so thoughts come back sealed and are sent again."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.domain.messages import Message
from core.models.attach import Part, Shapes, data_url, parts_of
from core.models.carry import carried, stamp
from core.models.lists import chat_list
from core.models.model import Delta, Request
from core.models.names import ToolNames
from core.models.plain import as_written
from core.models.responses_reply import ResponsesReply
from core.models.schemas import is_closed
from core.models.server import Server
from core.models.wire import UNKNOWN, Known, Listed, Wire

OPENAI = ("api.openai.com", ".openai.azure.com")


class Responses:
    """A model behind `/responses`."""

    def __init__(self, server: Server, model: str = "", known: Known = UNKNOWN) -> None:
        self._wire = Wire(server, model)
        self._known = known
        self.window = known.window or 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply."""
        names = ToolNames(tool.name for tool in request.tools)
        mark = stamp(self._wire, "responses")
        official = self._wire.server.host.endswith(OPENAI)
        body = responses_body(request, self._wire.model, self._known, names, mark, official)
        fold = ResponsesReply(self._wire.place, names, mark)
        async with aclosing(self._wire.reply("/responses", self._headers(), body, fold)) as deltas:
            async for delta in deltas:
                yield delta

    async def list_models(self) -> list[Listed]:
        """The models of the server."""
        return chat_list(await self._wire.fetch("/models", self._headers()))

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._wire.server.key}"} if self._wire.server.key else {}


def responses_body(
    request: Request, model: str, known: Known, names: ToolNames, mark: str, official: bool = False
) -> dict[str, Any]:
    """The body; what a person did not set is not sent."""
    instructions = request.instructions()
    body: dict[str, Any] = {
        "model": model,
        "input": responses_items(request, _shapes(known), names, mark),
        "stream": True,
        "store": False,
    }
    if instructions:
        body["instructions"] = "\n\n".join(instructions)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": names.out(tool.name),
                "description": tool.description,
                "parameters": dict(tool.schema),
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.wanted.max_output is not None:
        body["max_output_tokens"] = request.wanted.max_output
    if request.wanted.temperature is not None:
        body["temperature"] = request.wanted.temperature
    if request.wanted.effort is not None:
        body["reasoning"] = {"effort": request.wanted.effort, "summary": "auto"}
    if official:
        body["include"] = ["reasoning.encrypted_content"]
    if request.schema is not None:
        form = {"type": "json_schema", "name": "reply", "schema": dict(request.schema)}
        body["text"] = {"format": {**form, "strict": is_closed(request.schema)}}
    return body


def responses_items(request: Request, shapes: Shapes, names: ToolNames, mark: str) -> list[dict[str, Any]]:
    """The conversation as items."""
    items: list[dict[str, Any]] = []
    for message in request.messages:
        match message.role:
            case "user":
                items.append({"role": "user", "content": parts_of(message, request, shapes)})
            case "assistant":
                items += _said(message, request, names, mark)
            case "tool":
                words: str | list[Part] = request.whole(message.text)
                output = parts_of(message, request, shapes) if message.attachments else words
                items.append({"type": "function_call_output", "call_id": _id(message.call_id), "output": output})
            case _:
                pass
    return items


def _said(message: Message, request: Request, names: ToolNames, mark: str) -> list[dict[str, Any]]:
    """A reply of before: as its server gave it, with our names of the calls, or made anew from what we know."""
    calls = [
        {
            "type": "function_call",
            "call_id": _id(call.id),
            "name": names.out(call.tool),
            "arguments": as_written(request.whole(call.arguments)),
        }
        for call in message.calls
    ]
    kept = carried(message, request, mark)
    if isinstance(kept, list) and sum(_is_call(item) for item in kept) == len(calls):
        ours = iter(calls)
        return [{**item, **next(ours)} if _is_call(item) else item for item in kept]
    words = request.whole(message.text)
    said = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}]
    return [*(said if words else []), *calls]


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "function_call"


def _id(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:40]


def _shapes(known: Known) -> Shapes:
    return Shapes(
        lambda words: {"type": "input_text", "text": words},
        None
        if known.images is False
        else (lambda one, data: {"type": "input_image", "image_url": data_url(one, data)}),
        None
        if known.pdf is False
        else (lambda one, data: {"type": "input_file", "filename": one.name, "file_data": data_url(one, data)}),
    )
