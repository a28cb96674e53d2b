"""A model that follows a script, for the demo and for tests, without network or API key."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from core.domain.events import Usage
from core.domain.messages import Message
from core.models.model import ModelError, ReplyDelta, Request, RequestedCall
from core.models.script import ModelScript, ScriptedReply

_ENCODER = json.JSONEncoder(ensure_ascii=False)


class ScriptedModel:
    """Replies from a script. It has no state, because each request contains the position in the script."""

    def __init__(self, script: ModelScript) -> None:
        self._script = script
        self.window = script.window

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        reply = self._script.reply_at(request.purpose, request.script_position)
        if reply.fault:
            async for delta in _fail(reply):
                yield delta
            return
        arguments = [_encode_arguments(call.arguments) for call in reply.calls]
        has_placeholders = "{{" in reply.text or "{{" in reply.reasoning or any("{{" in text for text in arguments)
        values = self._values(request) if has_placeholders else {}
        if reply.reasoning:
            yield ReplyDelta(reasoning=_fill_text(reply.reasoning, values))
        async for delta in _chunks(_fill_text(reply.text, values), reply):
            yield delta
        if values:
            arguments = [_filled_arguments(call.arguments, values) for call in reply.calls]
        calls = tuple(RequestedCall(call.name, text) for call, text in zip(reply.calls, arguments, strict=True))
        yield ReplyDelta(calls=calls, usage=Usage(reply.input, reply.output))

    def _values(self, request: Request) -> dict[str, str]:
        """Return the values of all placeholders. Those from the script come first: they may contain the others."""
        values = _placeholders(request.messages)
        answer, answers = values["{{answer}}"], self._script.answers
        key = next((key for key in answers if key and answer.startswith(key)), "")
        texts = answers.get(key, {})
        return {f"{{{{{name}}}}}": text for name, text in texts.items()} | values


async def _chunks(text: str, reply: ScriptedReply) -> AsyncIterator[ReplyDelta]:
    """Yield the text in the scripted number of chunks, with the delay spread over them."""
    size = max(1, -(-len(text) // reply.chunks))
    for start in range(0, max(len(text), 1), size):
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s / reply.chunks)
        if text:
            yield ReplyDelta(text=text[start : start + size])


async def _fail(reply: ScriptedReply) -> AsyncIterator[ReplyDelta]:
    if reply.fault == "rate_limited":
        wait = f"It asks to wait {reply.retry_after_s:g} s." if reply.retry_after_s else ""
        raise ModelError(
            "The provider is rate limiting requests.", wait, retry_after_s=reply.retry_after_s, kind="rate_limited"
        )
    if reply.fault == "server_error":
        raise ModelError(
            "The provider returned a server error.", "It returned status 500.", "Try again later.", kind="server"
        )
    if reply.fault == "too_long":
        cause = "The provider reported that the prompt is too long."
        raise ModelError("The conversation is too long for the model.", cause, retryable=False, kind="too_long")
    if reply.fault == "silence":
        await asyncio.sleep(reply.seconds)
        cause = f"No data of the reply arrived for {reply.seconds:g} s."
        raise ModelError("The provider stopped responding.", cause, kind="timeout")
    async for delta in _chunks(reply.text[: reply.after_chars], reply):
        yield delta
    cause = "The connection was closed before the reply was complete."
    raise ModelError("The reply was interrupted.", cause, kind="cut")


def _placeholders(messages: Any) -> dict[str, str]:
    """Return the values of `{{answer}}`, the last answer of the user, and `{{result}}`, the last other tool result.

    Messages are searched from the end, to be fast in long runs.
    """
    values: dict[str, str] = {}
    results: list[Message] = []
    for message in reversed(messages):
        if message.role == "tool":
            results.append(message)
        question_ids = {call.id for call in message.calls if call.tool == "ask_user"}
        if message.calls:
            for result in results:
                values.setdefault("{{answer}}" if result.call_id in question_ids else "{{result}}", result.text.head)
            results.clear()
        if len(values) == 2:
            break
    return {"{{answer}}": "", "{{result}}": ""} | values


def _fill_text(text: str, values: dict[str, str]) -> str:
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _filled_arguments(plain: Any, values: dict[str, str]) -> str:
    return _fill_text(plain, values) if isinstance(plain, str) else _encode_arguments(_fill_json(plain, values))


def _encode_arguments(plain: Any) -> str:
    """Return arguments as JSON; a string is returned unchanged, so that a script can produce malformed arguments."""
    return plain if isinstance(plain, str) else _ENCODER.encode(plain)


def _fill_json(plain: Any, values: dict[str, str]) -> Any:
    match plain:
        case str():
            return _fill_text(plain, values)
        case list():
            return [_fill_json(item, values) for item in plain]
        case dict():
            return {name: _fill_json(item, values) for name, item in plain.items()}
        case _:
            return plain
