"""A model that plays a script: for the demo, for replay and for tests. No network, no key."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from core.domain.events import Usage
from core.domain.messages import Message
from core.models.model import Asked, Delta, Fault, Request
from core.models.script import Line, Script

_ENCODER = json.JSONEncoder(ensure_ascii=False)


class Scripted:
    """Stateless: the request says at which turn the script is."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.window = script.window

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        line = self._script.line(request.role, request.turn)
        if line.fault:
            async for delta in _fail(line):
                yield delta
            return
        arguments = [_encoded(call.arguments) for call in line.calls]
        places = "{{" in line.text or "{{" in line.reasoning or any("{{" in text for text in arguments)
        fill = _places(request.messages) if places else {}
        if line.reasoning:
            yield Delta(reasoning=_filled(line.reasoning, fill))
        async for delta in _pieces(_filled(line.text, fill), line):
            yield delta
        if fill:
            arguments = [_arguments(call.arguments, fill) for call in line.calls]
        calls = tuple(Asked(call.name, text) for call, text in zip(line.calls, arguments, strict=True))
        yield Delta(calls=calls, usage=Usage(line.input, line.output))


async def _pieces(text: str, line: Line) -> AsyncIterator[Delta]:
    """The text in as many chunks as asked, its delay spread over them."""
    size = max(1, -(-len(text) // line.chunks))
    for start in range(0, max(len(text), 1), size):
        if line.delay_s:
            await asyncio.sleep(line.delay_s / line.chunks)
        if text:
            yield Delta(text=text[start : start + size])


async def _fail(line: Line) -> AsyncIterator[Delta]:
    if line.fault == "rate_limited":
        wait = f"It asks to wait {line.retry_after_s:g} s." if line.retry_after_s else ""
        raise Fault("The model server takes no more requests for now.", wait, after_s=line.retry_after_s)
    if line.fault == "server_error":
        raise Fault("The model server failed.", "It answered with an internal error (500).", "Try again later.")
    if line.fault == "too_long":
        why = "It answered that the prompt is too long."
        raise Fault("The request is too long for the model.", why, again=False, kind="too_long")
    if line.fault == "silence":
        await asyncio.sleep(line.seconds)
        raise Fault("The model server went silent.", f"Nothing arrived for {line.seconds:g} s.")
    async for delta in _pieces(line.text[: line.after_chars], line):
        yield delta
    raise Fault("The reply was cut.", "The connection ended before the reply did.")


def _places(messages: Any) -> dict[str, str]:
    """What `{{answer}}` and `{{result}}` stand for now: found from the end, so that long runs cost nothing."""
    found: dict[str, str] = {}
    results: list[Message] = []
    for message in reversed(messages):
        if message.role == "tool":
            results.append(message)
        asked = {call.id for call in message.calls if call.tool == "ask_user"}
        if message.calls:
            for result in results:
                found.setdefault("{{answer}}" if result.call_id in asked else "{{result}}", result.text.head)
            results.clear()
        if len(found) == 2:
            break
    return {"{{answer}}": "", "{{result}}": ""} | found


def _filled(text: str, fill: dict[str, str]) -> str:
    for place, value in fill.items():
        text = text.replace(place, value)
    return text


def _arguments(plain: Any, fill: dict[str, str]) -> str:
    return _filled(plain, fill) if isinstance(plain, str) else _encoded(_deep(plain, fill))


def _encoded(plain: Any) -> str:
    """As JSON; a text where an object is due is passed on as it stands, so that sloppy models can be played."""
    return plain if isinstance(plain, str) else _ENCODER.encode(plain)


def _deep(plain: Any, fill: dict[str, str]) -> Any:
    match plain:
        case str():
            return _filled(plain, fill)
        case list():
            return [_deep(item, fill) for item in plain]
        case dict():
            return {name: _deep(item, fill) for name, item in plain.items()}
        case _:
            return plain
