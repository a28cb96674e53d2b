"""Text-based tool calls, for models without native tool calling.

A call is a fenced block whose info string contains a secret boundary. So a block without it, such as a quoted file,
cannot end the run. Calls without the boundary are treated like those in the text of any other model.
"""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from importlib import resources
from string import Template
from typing import Any, NamedTuple

from core.domain.messages import Message
from core.domain.text import Text
from core.models.call_shapes import END_MARK, calls_in
from core.models.lenient_json import read_json
from core.models.model import Model, ReplyDelta, Request, RequestedCall
from core.models.written_call_reader import FENCE_START, StreamedReply
from core.models.written_calls import ArgumentCheck

FINAL_TOOL = "final"
FINAL_STATE = '{"final":true}'  # the provider state of a reply that declares itself final
UNKNOWN_TOOL = "call"


class TextCallAdapter:
    """Adds tool calls to a model without them, by parsing its text. `boundary` is the session's secret boundary."""

    def __init__(self, model: Model, boundary: str, check_arguments: ArgumentCheck) -> None:
        self._model = model
        self._check_arguments = check_arguments
        self._fence = f"{FENCE_START}{boundary}"
        self._boundary = boundary

    @property
    def window(self) -> int:
        return self._model.window

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the reply as it arrives, followed by the calls in its text, if any."""
        reply = StreamedReply()
        async with aclosing(reply.collect(self._model.stream(self._text_request(request)))) as deltas:
            async for delta in deltas:
                yield delta
        text = reply.text
        if self._fence in text and not reply.is_refused:
            parsed = parse_text_calls(text, self._fence)
            is_final = parsed.is_final and not parsed.calls and not reply.has_calls
            state = FINAL_STATE if is_final else ""
            yield ReplyDelta(parsed.text, calls=parsed.calls, provider_state=state, written=text)
        elif last := reply.written_calls(request, self._check_arguments):
            yield last

    def _text_request(self, request: Request) -> Request:
        messages: list[Message] = []
        for message in request.messages:
            if message.role == "tool":
                _add_result(messages, self._result(message, request))
            elif message.calls:
                calls = (self._call(call.tool, request.read_text(call.arguments)) for call in message.calls)
                text = "\n".join([request.read_text(message.text), *calls]).strip()
                messages.append(Message("assistant", Text(text)))
            else:
                is_final = message.provider_state.head == FINAL_STATE
                messages.append(replace(message, provider_state=Text()) if is_final else message)
        tool_list = [
            {"tool": tool.name, "does": tool.description, "arguments": tool.parameters} for tool in request.tools
        ]
        tool_lines = "\n".join(json.dumps(entry, ensure_ascii=False) for entry in tool_list)
        instructions = _instructions(tool_lines, self._boundary) if request.tools else ""
        system = f"{request.system_prompt}\n\n{instructions}".strip()
        return replace(request, messages=messages, tools=(), system_prompt=system, output_schema=None)

    def _call(self, tool: str, arguments: str) -> str:
        try:
            plain = json.loads(arguments or "{}")
        except ValueError:
            plain = arguments
        return f"{self._fence}\n{json.dumps({'tool': tool, 'arguments': plain}, ensure_ascii=False)}\n```"

    def _result(self, message: Message, request: Request) -> str:
        failed_mark = " failed" if message.failed else ""
        return f"<result-{self._boundary}{failed_mark}>\n{request.read_text(message.text)}\n</result-{self._boundary}>"


def _add_result(messages: list[Message], text: str) -> None:
    """Append a tool result, joining the results for one reply into one message."""
    if messages and messages[-1].role == "user" and messages[-1].call_id:
        text = f"{messages.pop().text.head}\n{text}"
    messages.append(Message("user", Text(text), call_id="results"))


def _instructions(tool_lines: str, boundary: str) -> str:
    """Return the instructions for calling tools. The boundary comes last, so that the rest stays in prompt caches."""
    text = (resources.files("resources") / "prompts" / "text_calls.md").read_text("utf-8")
    return Template(text).substitute(tools=tool_lines, boundary=boundary).strip()


class ParsedReply(NamedTuple):
    """A reply with text-based calls: the text outside of marked blocks, and the calls in them, in order.

    `is_final` tells whether the reply declares itself final.
    """

    text: str
    calls: tuple[RequestedCall, ...]
    is_final: bool


def parse_text_calls(text: str, fence: str) -> ParsedReply:
    """Parse a reply. A malformed block becomes a call as well, so that the model receives a validation error."""
    outside: list[str] = []
    calls: list[RequestedCall] = []
    is_final = False
    position = 0
    opening = re.compile(rf"^{re.escape(fence)}[ \t]*(?:\n|$)", re.MULTILINE)
    while match := opening.search(text, position):
        outside.append(text[position : match.start()])
        block = _parse_block(text, match.end())
        position = block.end
        for call in block.calls:
            if call.tool == FINAL_TOOL:
                is_final = True
                outside.append(_final_text(call))
            else:
                calls.append(call)
    outside.append(text[position:])
    outside_text = "\n\n".join(part.strip() for part in outside if part.strip())
    return ParsedReply(outside_text, tuple(calls), is_final)


class _MarkedBlock(NamedTuple):
    """The calls in a marked block, and the position after the block."""

    calls: list[RequestedCall]
    end: int


def _parse_block(text: str, start: int) -> _MarkedBlock:
    """Parse the marked block whose content begins at `start`."""
    closing = re.compile(r"^[ \t]*```[ \t]*(?:\n|$)", re.MULTILINE)
    content_start = len(text) - len(text[start:].lstrip())
    try:
        value, end = read_json(text, content_start, END_MARK)
    except ValueError:
        closed = closing.search(text, start)
        content_end, block_end = closed.span() if closed else (len(text), len(text))
        return _MarkedBlock([_malformed_call(text[start:content_end].strip())], block_end)
    closed = closing.search(text, end)
    if closed and not text[end : closed.start()].strip():
        end = closed.end()
    return _MarkedBlock(_to_calls(value), end)


def _to_calls(value: Any) -> list[RequestedCall]:
    if isinstance(value, list):
        return [call for item in value for call in _to_calls(item)]
    if isinstance(value, dict) and value.get("tool") == FINAL_TOOL and isinstance(value.get("arguments"), str):
        return [RequestedCall(FINAL_TOOL, value["arguments"])]
    calls = [RequestedCall(call.tool, json.dumps(dict(call.arguments), ensure_ascii=False)) for call in calls_in(value)]
    return calls or [_malformed_call(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))]


def _malformed_call(text: str) -> RequestedCall:
    match = re.search(r'"(?:tool|name)"\s*:\s*"([\w-]+)"', text)
    return RequestedCall(match[1] if match and match[1] != FINAL_TOOL else UNKNOWN_TOOL, text)


def _final_text(call: RequestedCall) -> str:
    try:
        plain = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    text = plain.get("text", "") if isinstance(plain, dict) else plain
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
