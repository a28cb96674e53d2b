"""Ollama's own wire: the only one on which the window can be set, and where a prompt is never cut in silence."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.domain.messages import Message
from core.models.attach import Part, Shapes, parts_of
from core.models.carry import carried, packed, stamp
from core.models.faults import Place, fault, told
from core.models.lists import ollama_model, ollama_names
from core.models.model import Asked, Delta, Fault, Request
from core.models.names import ToolNames, functions
from core.models.plain import as_object, at, objects, text, usage_of
from core.models.server import Server
from core.models.sse import Event
from core.models.stops import ended_as
from core.models.tokens import most_tokens
from core.models.wire import UNKNOWN, Fold, Known, Listed, Wire, read_json

LEAST_WINDOW = 8_192
REPLY = 4_096  # room for the reply where nobody said how long it may be


class Ollama:
    """A model behind `/api/chat`."""

    def __init__(self, server: Server, model: str = "", known: Known = UNKNOWN) -> None:
        self._wire = Wire(server, model)
        self._known = known
        self.window = known.window or 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply."""
        names = ToolNames(tool.name for tool in request.tools)
        mark = stamp(self._wire, "ollama")
        body = ollama_body(request, self._wire.model, self._known, names, mark)
        fold = OllamaReply(self._wire.place, names, mark)
        async with aclosing(self._wire.reply("/api/chat", self._headers(), body, fold, lines=True)) as deltas:
            async for delta in deltas:
                yield delta

    async def list_models(self) -> list[Listed]:
        """What is there, and what each can do; a model that cannot be shown is only named."""
        listed = []
        for name in ollama_names(await self._wire.fetch("/api/tags", self._headers())):
            try:
                shown = await self._wire.fetch("/api/show", self._headers(), {"model": name})
            except Fault:
                shown = None
            listed.append(ollama_model(name, shown))
        return listed

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._wire.server.key}"} if self._wire.server.key else {}


def ollama_body(request: Request, model: str, known: Known, names: ToolNames, mark: str) -> dict[str, Any]:
    """The body: a prompt that does not fit is to be an error, not to lose its beginning."""
    messages = ollama_messages(request, known, names, mark)
    options: dict[str, Any] = {"num_ctx": known.window or window_for(request)}
    if request.wanted.max_output is not None:
        options["num_predict"] = request.wanted.max_output
    if request.wanted.temperature is not None:
        options["temperature"] = request.wanted.temperature
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True, "options": options}
    body |= {"truncate": False, "shift": False}
    if request.tools:
        body["tools"] = functions(request.tools, names)
    if request.wanted.effort is not None:
        levels = {"none": False, "minimal": "low", "xhigh": "high"}
        body["think"] = levels.get(request.wanted.effort, request.wanted.effort)
    if request.schema is not None:
        body["format"] = dict(request.schema)
    return body


def window_for(request: Request) -> int:
    """A window that the request fits in. It grows by doubling: each change lets the server load the model anew."""
    needed = most_tokens(request) + (request.wanted.max_output or REPLY)
    window = LEAST_WINDOW
    while window < needed:
        window *= 2
    return window


def ollama_messages(request: Request, known: Known, names: ToolNames, mark: str) -> list[dict[str, Any]]:
    """The conversation; images stand beside the words, and results name their tool."""
    shapes = Shapes(_words, None if known.images is False else lambda one, data: {"type": "image", "image": data})
    tools = {call.id: call.tool for message in request.messages for call in message.calls}
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        parts = parts_of(message, request, shapes)
        plain: dict[str, Any] = {
            "role": message.role,
            "content": "\n\n".join(part["text"] for part in parts if part["type"] == "text"),
        }
        if images := [part["image"] for part in parts if part["type"] == "image"]:
            plain["images"] = images
        if message.role == "tool":
            plain |= {"tool_name": names.out(tools.get(message.call_id, "")), "tool_call_id": message.call_id}
        if message.role == "assistant":
            plain |= _said(message, request, names, mark)
            if not plain["content"] and len(plain) == 2:
                continue
        messages.append(plain)
    return messages


def _said(message: Message, request: Request, names: ToolNames, mark: str) -> dict[str, Any]:
    """What else a reply of before held."""
    more: dict[str, Any] = {}
    if carried(message, request, mark) and message.calls:
        more["thinking"] = request.whole(message.reasoning)
    if message.calls:
        more["tool_calls"] = []
        for place, call in enumerate(message.calls):
            plain = as_object(request.whole(call.arguments))
            function = {"index": place, "name": names.out(call.tool), "arguments": plain}
            more["tool_calls"].append({"id": call.id, "function": function})
    return more


def _words(words: str) -> Part:
    return {"type": "text", "text": words}


class OllamaReply(Fold):
    """Calls come whole."""

    def __init__(self, place: Place, names: ToolNames, mark: str) -> None:
        super().__init__(place, names, mark)
        self._calls: list[Asked] = []
        self._last: dict[str, Any] = {}
        self._thought = False
        self._spoke = False

    def take(self, event: Event) -> bool:
        plain = read_json(event.data, self._place)
        if not isinstance(plain, dict):
            raise fault("garbled", self._place, "A line of it is not an object.")
        if plain.get("error"):
            raise told(self._place, plain)
        message = plain.get("message")
        if isinstance(message, dict):
            self._message(message)
        if plain.get("done") is True:
            self._last = plain
            self.complete = self.ended = True
        return True

    def whole(self) -> Delta:
        usage, note = None, ""
        if "eval_count" in self._last or "prompt_eval_count" in self._last:
            usage, note = usage_of(self._last.get("prompt_eval_count"), self._last.get("eval_count"))
        stop = ended_as(text(self._last.get("done_reason")) or "stop")
        nothing = not self._spoke and not self._calls
        if stop == "length" and nothing and not (usage and usage.output):
            raise fault("too_long", self._place, "The reply ended before it began, as replies do when nothing fits.")
        carry = packed(self._mark, {"thinking": True}) if self._thought else ""
        return Delta(calls=tuple(self._calls), usage=usage, stop=stop, carry=carry, note=note)

    def _message(self, message: dict[str, Any]) -> None:
        if words := text(message.get("content")):
            self.text.append(words)
            self._spoke = True
        if thought := text(message.get("thinking")) or text(message.get("reasoning_content")):
            self.reasoning.append(thought)
            self._thought = self._spoke = True
        for call in objects(message.get("tool_calls")):
            arguments = at(call, "function", "arguments")
            words = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            self._calls.append(Asked(self._names.back(text(at(call, "function", "name"))), words or "{}"))
