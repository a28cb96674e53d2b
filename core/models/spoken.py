"""Calls written as text, for models that have no calls of their own.

A call stands in a fence whose mark nobody but this run knows: a file that is quoted can neither call a tool nor end the
run, and a question mark means nothing.
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
from core.models.model import Asked, Delta, Model, Request

FINAL = "final"
ENDS = '{"final":true}'  # kept with a reply that says itself that it is the last
UNREADABLE = "call"
OPENING = "```call-"


class Spoken:
    """A model whose calls are read from its words. `boundary` is the mark of the run."""

    def __init__(self, model: Model, boundary: str) -> None:
        self._model = model
        self.window = model.window
        self._mark = f"```call-{boundary}"
        self._boundary = boundary

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Words before the first call are told as they come; the rest once it is whole."""
        held, shown, last = "", "", Delta()
        async for delta in self._model.stream(self._in_words(request)):
            held += delta.text
            safe = _told(held, shown[-1:] not in ("", "\n"))
            shown += held[:safe]
            if held[:safe] or delta.reasoning:
                yield Delta(held[:safe], delta.reasoning)
            held = held[safe:]
            calls = last.calls + delta.calls
            stop, carry, note = delta.stop or last.stop, delta.carry or last.carry, delta.note or last.note
            cost = last.cost if delta.cost is None else delta.cost
            last = Delta(calls=calls, usage=delta.usage or last.usage, stop=stop, carry=carry, note=note, cost=cost)
        said, calls, ends = read_calls(held, self._mark)
        calls = last.calls + calls  # some models know calls after all
        carry = ENDS if ends and not calls else last.carry
        yield replace(last, text=said if said.strip() or not shown else "", calls=calls, carry=carry)

    def _in_words(self, request: Request) -> Request:
        messages: list[Message] = []
        for message in request.messages:
            if message.role == "tool":
                _add_result(messages, self._result(message, request))
            elif message.calls:
                calls = (self._call(call.tool, request.whole(call.arguments)) for call in message.calls)
                text = "\n".join([request.whole(message.text), *calls]).strip()
                messages.append(Message("assistant", Text(text)))
            else:
                messages.append(replace(message, carry=Text()) if message.carry.head == ENDS else message)
        told = [{"tool": tool.name, "does": tool.description, "arguments": tool.schema} for tool in request.tools]
        words = "\n".join(json.dumps(one, ensure_ascii=False) for one in told)
        how = f"{_how(self._boundary)}\n{words}" if request.tools else ""
        system = f"{request.system}\n\n{how}".strip()
        return replace(request, messages=messages, tools=(), system=system, schema=None)

    def _call(self, tool: str, arguments: str) -> str:
        try:
            plain = json.loads(arguments or "{}")
        except ValueError:
            plain = arguments
        return f"{self._mark}\n{json.dumps({'tool': tool, 'arguments': plain}, ensure_ascii=False)}\n```"

    def _result(self, message: Message, request: Request) -> str:
        how = " failed" if message.failed else ""
        return f"<result-{self._boundary}{how}>\n{request.whole(message.text)}\n</result-{self._boundary}>"


def _told(held: str, inside: bool) -> int:
    """How much can be told: whole lines, and of a last one what cannot become a call. `inside` of a line it begins."""
    place = 0
    for line in held.splitlines(keepends=True):
        if not inside and (line.startswith(OPENING) or OPENING.startswith(line)):
            return place
        place, inside = place + len(line), False
    return place


def _add_result(messages: list[Message], text: str) -> None:
    """The results of one reply are one message."""
    if messages and messages[-1].role == "user" and messages[-1].call_id:
        text = f"{messages.pop().text.head}\n{text}"
    messages.append(Message("user", Text(text), call_id="results"))


def _how(boundary: str) -> str:
    text = (resources.files("resources") / "prompts" / "calls.md").read_text("utf-8")
    return Template(text).substitute(boundary=boundary).strip()


def read_calls(text: str, mark: str) -> tuple[str, tuple[Asked, ...], bool]:
    """The words outside the calls, the calls in order, and whether the reply says that it is the last."""
    said: list[str] = []
    calls: list[Asked] = []
    ends, place = False, 0
    opening = re.compile(rf"^{re.escape(mark)}[ \t]*(?:\n|$)", re.MULTILINE)
    while found := opening.search(text, place):
        said.append(text[place : found.start()])
        plain, place = _value(text, found.end())
        for one in plain if isinstance(plain, list) else [plain]:
            call = _asked(one)
            if call.tool == FINAL:
                ends = True
                said.append(_final(call))
            else:
                calls.append(call)
    said.append(text[place:])
    words = "\n\n".join(part.strip() for part in said if part.strip())
    return words, tuple(calls), ends


def _value(text: str, start: int) -> tuple[Any, int]:
    """The JSON value of a fence, and where the text goes on; what cannot be read stays as it was written."""
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


def _asked(plain: Any) -> Asked:
    """A call; one that is not written as a call reaches the tool's own check, which says what is wrong."""
    if not isinstance(plain, dict):
        text = plain if isinstance(plain, str) else json.dumps(plain)
        named = re.search(r'"tool"\s*:\s*"([\w-]+)"', text)
        return Asked(named[1] if named and named[1] != FINAL else UNREADABLE, text)
    tool = plain.get("tool", plain.get("name", UNREADABLE))
    arguments = plain.get("arguments", {key: value for key, value in plain.items() if key not in ("tool", "name")})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Asked(tool if isinstance(tool, str) else UNREADABLE, written)


def _final(call: Asked) -> str:
    try:
        plain = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    text = plain.get("text", "") if isinstance(plain, dict) else plain
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
