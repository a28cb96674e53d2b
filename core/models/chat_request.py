"""A request as Chat Completions wants it, in the dialect of its server."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from core.domain.events import Call
from core.domain.messages import Message
from core.models.attach import Part, Shapes, data_url, parts_of
from core.models.carry import carried
from core.models.dialects import Dialect
from core.models.model import Request
from core.models.names import ToolNames, functions
from core.models.plain import as_written
from core.models.schemas import instruction, is_closed
from core.models.wire import Known

CACHE = {"type": "ephemeral"}


def chat_body(
    request: Request, model: str, known: Known, dialect: Dialect, names: ToolNames, mark: str
) -> dict[str, Any]:
    """The body; what a person did not set is not sent."""
    messages = chat_messages(request, _shapes(known, dialect), dialect, names, mark)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if dialect.usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = functions(request.tools, names)
    if request.wanted.max_output is not None:
        body[dialect.output] = request.wanted.max_output
    if request.wanted.temperature is not None:
        body["temperature"] = request.wanted.temperature
    if request.wanted.effort is not None:
        body |= _effort(request.wanted.effort, dialect)
    if request.schema is not None:
        body["response_format"] = _format(request.schema, dialect)
        if dialect.schema != "json_schema":
            _instruct(messages, instruction(request.schema), dialect)
    if dialect.cache_marks and model.startswith(dialect.cache_marks):
        _mark(messages)
    return body


def chat_messages(
    request: Request, shapes: Shapes, dialect: Dialect, names: ToolNames, mark: str
) -> list[dict[str, Any]]:
    """The conversation. Results of calls are words only, so what they hold besides follows as the person's."""
    messages: list[dict[str, Any]] = [{"role": dialect.system, "content": request.system}] if request.system else []
    shown: list[Part] = []
    for message in request.messages:
        if message.role != "tool" and shown:
            messages.append({"role": "user", "content": shown})
            shown = []
        words = request.whole(message.text)
        match message.role:
            case "system":
                messages.append({"role": dialect.system, "content": words})
            case "user":
                content = parts_of(message, request, shapes) if message.attachments else words
                messages.append({"role": "user", "content": content})
            case "assistant":
                if words or message.calls:
                    messages.append(_said(message, request, words, dialect, names, mark))
            case "tool":
                result = {"role": "tool", "tool_call_id": _call_id(message.call_id, dialect), "content": words}
                messages.append(result)
                if message.attachments:
                    shown += parts_of(message, request, shapes)[: len(message.attachments)]
    return [*messages, {"role": "user", "content": shown}] if shown else messages


def _said(
    message: Message, request: Request, words: str, dialect: Dialect, names: ToolNames, mark: str
) -> dict[str, Any]:
    """A reply of before, with the thoughts that its server wants back, under the name they came by."""
    plain: dict[str, Any] = {"role": "assistant", "content": words or None}
    kept = carried(message, request, mark)
    kept = kept if isinstance(kept, dict) else {}
    if dialect.thinking == "always":
        plain["reasoning_content"] = request.whole(message.reasoning)
    elif dialect.thinking == "same" and kept.get("field"):
        plain[str(kept["field"])] = request.whole(message.reasoning)
    if kept.get("details"):
        plain["reasoning_details"] = kept["details"]
    if message.calls:
        plain["tool_calls"] = [_call(call, request, dialect, names) for call in message.calls]
        extra = kept.get("extra")
        for place, call in enumerate(plain["tool_calls"]):
            if isinstance(extra, dict) and (more := extra.get(str(place))):
                call["extra_content"] = more
    return plain


def _call(call: Call, request: Request, dialect: Dialect, names: ToolNames) -> dict[str, Any]:
    function = {"name": names.out(call.tool), "arguments": as_written(request.whole(call.arguments))}
    return {"id": _call_id(call.id, dialect), "type": "function", "function": function}


def _call_id(name: str, dialect: Dialect) -> str:
    if dialect.call_ids:
        return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[: dialect.call_ids]
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:40]


def _shapes(known: Known, dialect: Dialect) -> Shapes:
    images = dialect.images if known.images is None else known.images
    pdf = dialect.pdf and known.pdf is not False
    return Shapes(
        lambda words: {"type": "text", "text": words},
        (lambda one, data: {"type": "image_url", "image_url": {"url": data_url(one, data)}}) if images else None,
        (lambda one, data: {"type": "file", "file": {"filename": one.name, "file_data": data_url(one, data)}})
        if pdf
        else None,
    )


def _effort(effort: str, dialect: Dialect) -> dict[str, Any]:
    thinks = {"type": "disabled" if effort == "none" else "enabled"}
    match dialect.effort:
        case "plain":
            return {"reasoning_effort": effort}
        case "openrouter":
            return {"reasoning": {"effort": effort}}
        case "deepseek":
            return {"thinking": thinks} | ({} if effort == "none" else {"reasoning_effort": effort})
        case "zai":
            return {"thinking": thinks}
        case "qwen":
            return {"enable_thinking": effort != "none"}
        case _:
            return {}


def _format(schema: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    if dialect.schema != "json_schema":
        return {"type": dialect.schema}
    named: dict[str, Any] = {"name": "reply", "schema": dict(schema)}
    if dialect.strict and is_closed(schema):
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}


def _instruct(messages: list[dict[str, Any]], words: str, dialect: Dialect) -> None:
    """Say it where instructions stand."""
    if messages and messages[0]["role"] == dialect.system:
        messages[0]["content"] = f"{messages[0]['content']}\n\n{words}"
    else:
        messages.insert(0, {"role": dialect.system, "content": words})


def _mark(messages: list[dict[str, Any]]) -> None:
    """Mark where the prompt may be cached: after the instructions, and after the last two words of the person."""
    system = [message for message in messages[:1] if message["role"] == "system"]
    said = [message for message in messages if message["role"] == "user"][-2:]
    for message in (*system, *said):
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"][-1] = {**message["content"][-1], "cache_control": CACHE}
