"""Ollama's native API. Unlike its other APIs, it can set the context window and disable silent truncation."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.domain.messages import Message
from core.models.api_client import UNKNOWN_LIMITS, ApiClient, ListedModel, ModelLimits, ReplyParser, decode_json
from core.models.attachments import Part, PartEncoders, message_parts
from core.models.endpoint import ProviderEndpoint
from core.models.errors import ErrorContext, error_from_event, make_error
from core.models.json_values import CheckedUsage, arguments_object, as_objects, as_text, get_path, parse_usage
from core.models.model import ModelError, ReplyDelta, Request, RequestedCall
from core.models.model_lists import parse_ollama_model, parse_ollama_names
from core.models.provider_state import pack_state, state_origin, unpack_state
from core.models.stop_reasons import normalize_stop_reason
from core.models.stream_parsers import StreamEvent
from core.models.token_estimate import max_request_tokens
from core.models.tool_names import ToolNames, function_tools

MIN_WINDOW = 8_192
REPLY_RESERVE = 4_096  # tokens to reserve for the reply if the user set no limit


class OllamaModel:
    """A model that Ollama serves at `/api/chat`."""

    def __init__(self, server: ProviderEndpoint, model: str = "", limits: ModelLimits = UNKNOWN_LIMITS) -> None:
        self._api = ApiClient(server, model)
        self._limits = limits
        self.window = limits.window or 0

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        names = ToolNames(tool.name for tool in request.tools)
        origin = state_origin(self._api, "ollama")
        body = ollama_body(request, self._api.model, self._limits, names, origin)
        parser = OllamaReplyParser(self._api.error_context, names, origin)
        async with aclosing(self._api.stream_reply("/api/chat", self._headers(), body, parser, ndjson=True)) as deltas:
            async for delta in deltas:
                yield delta

    async def list_models(self) -> list[ListedModel]:
        """Return the installed models with their capabilities, or only the name where the details cannot be loaded."""
        listed = []
        for name in parse_ollama_names(await self._api.fetch_json("/api/tags", self._headers())):
            try:
                details = await self._api.fetch_json("/api/show", self._headers(), {"model": name})
            except ModelError:
                details = None
            listed.append(parse_ollama_model(name, details))
        return listed

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._api.endpoint.api_key}"} if self._api.endpoint.api_key else {}


def ollama_body(request: Request, model: str, limits: ModelLimits, names: ToolNames, origin: str) -> dict[str, Any]:
    """Return the request body. Truncation is disabled, so that a prompt that is too long is an error."""
    messages = ollama_messages(request, limits, names, origin)
    options: dict[str, Any] = {"num_ctx": limits.window or window_for(request)}
    if request.options.max_output_tokens is not None:
        options["num_predict"] = request.options.max_output_tokens
    if request.options.temperature is not None:
        options["temperature"] = request.options.temperature
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True, "options": options}
    body |= {"truncate": False, "shift": False}
    if request.tools:
        body["tools"] = function_tools(request.tools, names)
    if request.options.effort is not None:
        levels = {"none": False, "minimal": "low", "xhigh": "high"}
        body["think"] = levels.get(request.options.effort, request.options.effort)
    if request.output_schema is not None:
        body["format"] = dict(request.output_schema)
    return body


def window_for(request: Request) -> int:
    """Return a context window in tokens that fits the request: MIN_WINDOW, doubled as often as necessary.

    The steps are large because Ollama reloads the model whenever the window changes.
    """
    needed = max_request_tokens(request) + (request.options.max_output_tokens or REPLY_RESERVE)
    window = MIN_WINDOW
    while window < needed:
        window *= 2
    return window


def ollama_messages(request: Request, limits: ModelLimits, names: ToolNames, origin: str) -> list[dict[str, Any]]:
    """Return the conversation in Ollama's form: images are in a separate field, and tool results name their tool."""
    encoders = PartEncoders(
        _text_part, None if limits.images is False else lambda attachment, data: {"type": "image", "image": data}
    )
    tools = {call.id: call.tool for message in request.messages for call in message.calls}
    messages: list[dict[str, Any]] = (
        [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []
    )
    for message in request.messages:
        parts = message_parts(message, request, encoders)
        plain: dict[str, Any] = {
            "role": message.role,
            "content": "\n\n".join(part["text"] for part in parts if part["type"] == "text"),
        }
        if images := [part["image"] for part in parts if part["type"] == "image"]:
            plain["images"] = images
        if message.role == "tool":
            plain |= {"tool_name": names.to_provider(tools.get(message.call_id, "")), "tool_call_id": message.call_id}
        if message.role == "assistant":
            plain |= _assistant_fields(message, request, names, origin)
            if not plain["content"] and len(plain) == 2:
                continue
        messages.append(plain)
    return messages


def _assistant_fields(message: Message, request: Request, names: ToolNames, origin: str) -> dict[str, Any]:
    """Return the reasoning and the calls of an earlier reply as fields of its message."""
    fields: dict[str, Any] = {}
    if unpack_state(message, request, origin) and message.calls:
        fields["thinking"] = request.read_text(message.reasoning)
    if message.calls:
        fields["tool_calls"] = []
        for index, call in enumerate(message.calls):
            plain = arguments_object(request.read_text(call.arguments))
            function = {"index": index, "name": names.to_provider(call.tool), "arguments": plain}
            fields["tool_calls"].append({"id": call.id, "function": function})
    return fields


def _text_part(text: str) -> Part:
    return {"type": "text", "text": text}


class OllamaReplyParser(ReplyParser):
    """Parses the lines of one reply. Each call arrives complete in one line."""

    def __init__(self, context: ErrorContext, names: ToolNames, origin: str) -> None:
        super().__init__(context, names, origin)
        self._calls: list[RequestedCall] = []
        self._last: dict[str, Any] = {}
        self._thought = False
        self._has_output = False

    def feed(self, event: StreamEvent) -> bool:
        plain = decode_json(event.data, self._error_context)
        if not isinstance(plain, dict):
            raise make_error("garbled", self._error_context, "One of its lines is not a JSON object.")
        if plain.get("error"):
            raise error_from_event(self._error_context, plain)
        message = plain.get("message")
        if isinstance(message, dict):
            self._message(message)
        if plain.get("done") is True:
            self._last = plain
            self.complete = self.ended = True
        return True

    def finish(self) -> ReplyDelta:
        usage, note = CheckedUsage()
        if "eval_count" in self._last or "prompt_eval_count" in self._last:
            usage, note = parse_usage(
                prompt=self._last.get("prompt_eval_count"), completion=self._last.get("eval_count")
            )
        stop = normalize_stop_reason(as_text(self._last.get("done_reason")) or "stop")
        is_empty = not self._has_output and not self._calls
        if stop == "length" and is_empty and not (usage and usage.output):
            raise make_error(
                "too_long",
                self._error_context,
                "The reply ended with no output, which means the context window is full.",
            )
        state = pack_state(self._origin, {"thinking": True}) if self._thought else ""
        return ReplyDelta(calls=tuple(self._calls), usage=usage, stop_reason=stop, provider_state=state, note=note)

    def _message(self, message: dict[str, Any]) -> None:
        if text := as_text(message.get("content")):
            self.text.append(text)
            self._has_output = True
        if thought := as_text(message.get("thinking")) or as_text(message.get("reasoning_content")):
            self.reasoning.append(thought)
            self._thought = self._has_output = True
        for call in as_objects(message.get("tool_calls")):
            arguments = get_path(call, "function", "arguments")
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments or {}, ensure_ascii=False)
            name = self._names.from_provider(as_text(get_path(call, "function", "name")))
            self._calls.append(RequestedCall(name, arguments or "{}"))
