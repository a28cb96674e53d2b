"""Builds request bodies for Chat Completions, in the dialect of the provider."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.domain.events import ToolCall
from core.domain.messages import Message
from core.domain.text import Attachment
from core.models.api_client import ModelLimits
from core.models.attachments import Part, PartEncoders, data_url, message_parts
from core.models.dialects import Dialect
from core.models.json_values import arguments_json
from core.models.model import Request, ToolSpec
from core.models.output_schema import is_strict, schema_instruction
from core.models.provider_state import unpack_state
from core.models.tool_names import ToolNames, function_tools

CACHE_CONTROL = {"type": "ephemeral"}


def chat_body(
    request: Request, model: str, limits: ModelLimits, dialect: Dialect, names: ToolNames, origin: str
) -> dict[str, Any]:
    """Return the request body, without options that the user did not set."""
    messages = chat_messages(request, _encoders(limits, dialect), dialect, names, origin)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if dialect.prompt_progress:
        body["return_progress"] = True
    if request.tools:
        body["tools"] = function_tools(request.tools, names)
        if request.required_calls and request.output_schema is None and dialect.schema == "json_schema":
            body["response_format"] = _response_format(_call_schema(request.required_calls, names), dialect)
    if request.options.max_output_tokens is not None:
        body[dialect.max_tokens_field] = request.options.max_output_tokens
    if request.options.temperature is not None:
        body["temperature"] = request.options.temperature
    if request.options.effort is not None:
        body |= _effort(request.options.effort, dialect)
    if request.output_schema is not None:
        body["response_format"] = _response_format(request.output_schema, dialect)
        if dialect.schema != "json_schema":
            _add_instruction(messages, schema_instruction(request.output_schema), dialect)
    if dialect.cache_prefix and model.startswith(dialect.cache_prefix):
        _set_cache_breakpoints(messages, dialect)
    return body


def chat_messages(
    request: Request, encoders: PartEncoders, dialect: Dialect, names: ToolNames, origin: str
) -> list[dict[str, Any]]:
    """Return the conversation in the form of Chat Completions.

    Tool results may only contain text, so their attachments follow in a user message. Adjacent user messages are
    joined, because the chat templates of some models reject them.
    """
    messages: list[dict[str, Any]] = (
        [{"role": dialect.system_role, "content": request.system_prompt}] if request.system_prompt else []
    )
    tool_attachments: list[Part] = []
    for message in request.messages:
        if message.role != "tool" and tool_attachments:
            _add_user_content(messages, tool_attachments)
            tool_attachments = []
        text = request.read_text(message.text)
        match message.role:
            case "system":
                messages.append({"role": dialect.system_role, "content": text})
            case "user":
                content = message_parts(message, request, encoders) if message.attachments else text
                _add_user_content(messages, content)
            case "assistant":
                if text or message.calls:
                    messages.append(_assistant_message(message, request, text, dialect, names, origin))
            case "tool":
                result = {"role": "tool", "tool_call_id": _call_id(message.call_id, dialect), "content": text}
                messages.append(result)
                if message.attachments:
                    tool_attachments += message_parts(message, request, encoders)[: len(message.attachments)]
    if tool_attachments:
        _add_user_content(messages, tool_attachments)
    return messages


def _add_user_content(messages: list[dict[str, Any]], content: str | list[Part]) -> None:
    """Append a user message, or add the content to the last message if that is a user message."""
    if not messages or messages[-1]["role"] != "user":
        messages.append({"role": "user", "content": content})
        return
    previous = messages[-1]["content"]
    if isinstance(previous, str) and isinstance(content, str):
        messages[-1]["content"] = f"{previous}\n\n{content}"
    else:
        messages[-1]["content"] = [*_parts(previous), *_parts(content)]


def _parts(content: str | list[Part]) -> list[Part]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _assistant_message(
    message: Message, request: Request, text: str, dialect: Dialect, names: ToolNames, origin: str
) -> dict[str, Any]:
    """Return an earlier reply, with its reasoning in the field in which it arrived, if the provider expects it back."""
    plain: dict[str, Any] = {"role": "assistant", "content": text or None}
    unpacked = unpack_state(message, request, origin)
    state = unpacked if isinstance(unpacked, dict) else {}
    if dialect.reasoning_back == "always":
        plain["reasoning_content"] = request.read_text(message.reasoning)
    elif dialect.reasoning_back == "same" and state.get("field"):
        plain[str(state["field"])] = request.read_text(message.reasoning)
    if state.get("details"):
        plain["reasoning_details"] = state["details"]
    if message.calls:
        plain["tool_calls"] = [_call(call, request, dialect, names) for call in message.calls]
        extra = state.get("extra")
        for index, call in enumerate(plain["tool_calls"]):
            if isinstance(extra, dict) and (extra_content := extra.get(str(index))):
                call["extra_content"] = extra_content
    return plain


def _call(call: ToolCall, request: Request, dialect: Dialect, names: ToolNames) -> dict[str, Any]:
    function = {"name": names.to_provider(call.tool), "arguments": arguments_json(request.read_text(call.arguments))}
    return {"id": _call_id(call.id, dialect), "type": "function", "function": function}


def _call_id(name: str, dialect: Dialect) -> str:
    """Return the id of a call in a form that the provider accepts: of a fixed length, or of at most 40 characters."""
    if dialect.call_id_length:
        return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[: dialect.call_id_length]
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:40]


def _encoders(limits: ModelLimits, dialect: Dialect) -> PartEncoders:
    def text(text: str) -> Part:
        return {"type": "text", "text": text}

    def image(attachment: Attachment, data: str) -> Part:
        return {"type": "image_url", "image_url": {"url": data_url(attachment, data)}}

    def pdf(attachment: Attachment, data: str) -> Part:
        return {"type": "file", "file": {"filename": attachment.name, "file_data": data_url(attachment, data)}}

    supports_images = dialect.images if limits.images is None else limits.images
    supports_pdf = dialect.pdf and limits.pdf is not False
    return PartEncoders(text, image if supports_images else None, pdf if supports_pdf else None)


def _effort(effort: str, dialect: Dialect) -> dict[str, Any]:
    thinking = {"type": "disabled" if effort == "none" else "enabled"}
    match dialect.effort:
        case "plain":
            return {"reasoning_effort": effort}
        case "openrouter":
            return {"reasoning": {"effort": effort}}
        case "deepseek":
            return {"thinking": thinking} | ({} if effort == "none" else {"reasoning_effort": effort})
        case "zai":
            return {"thinking": thinking}
        case "qwen":
            return {"enable_thinking": effort != "none"}
        case _:
            return {}


def _call_schema(tools: Sequence[ToolSpec], names: ToolNames) -> dict[str, Any]:
    """Return the schema of a reply that is exactly one tool call, written as JSON text like small models do.

    `tool_choice` is not enough: llama.cpp allows text before a required call, and a model that writes its calls into
    that text would then never end.
    """

    def call(tool: ToolSpec) -> dict[str, Any]:
        arguments = {**tool.parameters, "additionalProperties": False}
        properties = {"name": {"const": names.to_provider(tool.name)}, "arguments": arguments}
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}

    return {"anyOf": [call(tool) for tool in tools]}


def _response_format(schema: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    if dialect.schema != "json_schema":
        return {"type": dialect.schema}
    json_schema: dict[str, Any] = {"name": "reply", "schema": dict(schema)}
    if dialect.strict and is_strict(schema):
        json_schema["strict"] = True
    return {"type": "json_schema", "json_schema": json_schema}


def _add_instruction(messages: list[dict[str, Any]], instruction: str, dialect: Dialect) -> None:
    """Append an instruction to the system message, or insert it as one."""
    if messages and messages[0]["role"] == dialect.system_role:
        messages[0]["content"] = f"{messages[0]['content']}\n\n{instruction}"
    else:
        messages.insert(0, {"role": dialect.system_role, "content": instruction})


def _set_cache_breakpoints(messages: list[dict[str, Any]], dialect: Dialect) -> None:
    """Mark the system message and the last two user messages as cache breakpoints."""
    system = [message for message in messages[:1] if message["role"] == dialect.system_role]
    last_user = [message for message in messages if message["role"] == "user"][-2:]
    for message in (*system, *last_user):
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"][-1] = {**message["content"][-1], "cache_control": CACHE_CONTROL}
