"""Text-based tool calls, for models without native tool calls.

A call is a fenced block whose info string contains a secret boundary of the run, so text that the model quotes from a
file can neither call a tool nor end the run.
"""

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from importlib import resources
from string import Template
from typing import Any

from core.domain.messages import Message
from core.domain.text import Text
from core.models.model import Model, ReplyDelta, Request, RequestedCall

FINAL_TOOL = "final"
FINAL_STATE = '{"final":true}'  # the provider state of a reply that marks itself as final
UNKNOWN_TOOL = "call"
FENCE_START = "```call-"


class TextCallAdapter:
    """Adds tool calls to a model that has none by parsing them from its text. `boundary` is the secret of the run."""

    def __init__(self, model: Model, boundary: str) -> None:
        self._model = model
        self.window = model.window
        self._fence = f"```call-{boundary}"
        self._boundary = boundary

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the text before the first call as it arrives, and the rest once the reply is complete."""
        held, shown, last = "", "", ReplyDelta()
        async for delta in self._model.stream(self._text_request(request)):
            held += delta.text
            safe = _showable_length(held, shown[-1:] not in ("", "\n"))
            shown += held[:safe]
            if held[:safe] or delta.reasoning:
                yield ReplyDelta(held[:safe], delta.reasoning)
            held = held[safe:]
            calls = last.calls + delta.calls
            stop, state, note = (
                delta.stop_reason or last.stop_reason,
                delta.provider_state or last.provider_state,
                delta.note or last.note,
            )
            cost = last.cost if delta.cost is None else delta.cost
            last = ReplyDelta(
                calls=calls,
                usage=delta.usage or last.usage,
                stop_reason=stop,
                provider_state=state,
                note=note,
                cost=cost,
            )
        outside, calls, is_final = parse_text_calls(held, self._fence)
        calls = last.calls + calls  # some models also make native calls
        state = FINAL_STATE if is_final and not calls else last.provider_state
        yield replace(last, text=outside if outside.strip() or not shown else "", calls=calls, provider_state=state)

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
                messages.append(
                    replace(message, provider_state=Text()) if message.provider_state.head == FINAL_STATE else message
                )
        tool_list = [
            {"tool": tool.name, "does": tool.description, "arguments": tool.parameters} for tool in request.tools
        ]
        words = "\n".join(json.dumps(one, ensure_ascii=False) for one in tool_list)
        instructions = f"{_instructions(self._boundary)}\n{words}" if request.tools else ""
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


def _showable_length(held: str, inside: bool) -> int:
    """Return how many characters can be shown: all up to a line that is, or may become, the start of a call.

    `inside` is whether `held` begins in the middle of a line.
    """
    position = 0
    for line in held.splitlines(keepends=True):
        if not inside and (line.startswith(FENCE_START) or FENCE_START.startswith(line)):
            return position
        position, inside = position + len(line), False
    return position


def _add_result(messages: list[Message], text: str) -> None:
    """Append a tool result, merging the results of one reply into one message."""
    if messages and messages[-1].role == "user" and messages[-1].call_id:
        text = f"{messages.pop().text.head}\n{text}"
    messages.append(Message("user", Text(text), call_id="results"))


def _instructions(boundary: str) -> str:
    text = (resources.files("resources") / "prompts" / "calls.md").read_text("utf-8")
    return Template(text).substitute(boundary=boundary).strip()


def parse_text_calls(text: str, fence: str) -> tuple[str, tuple[RequestedCall, ...], bool]:
    """Return the text outside the calls, the calls in order, and whether the reply marks itself as final."""
    outside: list[str] = []
    calls: list[RequestedCall] = []
    is_final, position = False, 0
    opening = re.compile(rf"^{re.escape(fence)}[ \t]*(?:\n|$)", re.MULTILINE)
    while found := opening.search(text, position):
        outside.append(text[position : found.start()])
        plain, position = _parse_fence(text, found.end())
        for one in plain if isinstance(plain, list) else [plain]:
            call = _to_call(one)
            if call.tool == FINAL_TOOL:
                is_final = True
                outside.append(_final_text(call))
            else:
                calls.append(call)
    outside.append(text[position:])
    words = "\n\n".join(part.strip() for part in outside if part.strip())
    return words, tuple(calls), is_final


def _parse_fence(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value of a fenced block and the position after it; invalid JSON is returned as text."""
    closing = re.compile(r"^[ \t]*```[ \t]*(?:\n|$)", re.MULTILINE)
    begin = len(text) - len(text[start:].lstrip())
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
    except (ValueError, RecursionError):
        closed = closing.search(text, start)
        return text[start : closed.start() if closed else len(text)].strip(), closed.end() if closed else len(text)
    closed = closing.search(text, end)
    between = text[end : closed.start()] if closed else text[end:]
    return value, closed.end() if closed and not between.strip() else end


def _to_call(plain: Any) -> RequestedCall:
    """Convert a JSON value to a call. A malformed value becomes a call too, so that argument validation reports the
    error to the model.
    """
    if not isinstance(plain, dict):
        text = plain if isinstance(plain, str) else json.dumps(plain)
        named = re.search(r'"tool"\s*:\s*"([\w-]+)"', text)
        return RequestedCall(named[1] if named and named[1] != FINAL_TOOL else UNKNOWN_TOOL, text)
    tool = plain.get("tool", plain.get("name", UNKNOWN_TOOL))
    arguments = plain.get("arguments", {key: value for key, value in plain.items() if key not in ("tool", "name")})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return RequestedCall(tool if isinstance(tool, str) else UNKNOWN_TOOL, written)


def _final_text(call: RequestedCall) -> str:
    try:
        plain = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    text = plain.get("text", "") if isinstance(plain, dict) else plain
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
