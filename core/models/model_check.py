"""Tests a model with two small real requests, for latency, streaming and tool calls."""

import time
from contextlib import aclosing
from dataclasses import dataclass, field

from core.domain.messages import Message
from core.domain.problems import ErrorDetails
from core.domain.text import Text
from core.models.model import Model, ModelError, ReplyDelta, ReplyOptions, Request, ToolSpec

CHECK_MAX_TOKENS = 512  # enough for a model that reasons before it replies
TEXT_PROMPT = "Count from one to ten in words, separated by commas. Say nothing else."
CALL_PROMPT = "Call the tool `note` with the word `pencil`. Say nothing else."
NOTE_TOOL = ToolSpec(
    "note",
    "Keep one word.",
    {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The result of a test; None means unknown.

    Attributes:
        first_token_s: seconds from the request to the first text or reasoning.
        total_s: seconds from the request to the end of the reply.
        streams: whether the reply arrived in more than one piece.
        tools: whether the model called the tool.
        cost: the cost of both requests in US dollars.
        error: why the first request failed.
        tools_error: why the second request, with a tool, failed.
    """

    model: str
    first_token_s: float | None = None
    total_s: float | None = None
    streams: bool | None = None
    tools: bool | None = None
    reply: str = ""
    cost: float | None = None
    error: ErrorDetails | None = None
    tools_error: ErrorDetails | None = None


@dataclass(slots=True)
class _TimedReply:
    """A reply with the arrival times of its deltas, in seconds since the request."""

    times: list[float] = field(default_factory=list)
    text: str = ""
    last: ReplyDelta = ReplyDelta()
    called_tool: str = ""
    duration_s: float = 0.0


async def check_model(name: str, model: Model) -> ModelCheck:
    """Send both requests, the second only if the first succeeds. Errors are part of the result, not raised."""
    try:
        reply = await _time_reply(
            model,
            Request([Message("user", Text(TEXT_PROMPT))], options=ReplyOptions(max_output_tokens=CHECK_MAX_TOKENS)),
        )
    except ModelError as error:
        return ModelCheck(name, error=error.details)
    delta_count = len(reply.times)
    streams = delta_count > 1 if delta_count else None
    cost = reply.last.cost
    tools: bool | None = None
    tools_error: ErrorDetails | None = None
    try:
        request = Request(
            [Message("user", Text(CALL_PROMPT))],
            tools=(NOTE_TOOL,),
            options=ReplyOptions(max_output_tokens=CHECK_MAX_TOKENS),
        )
        call_reply = await _time_reply(model, request)
        tools = call_reply.called_tool == NOTE_TOOL.name
        cost = None if cost is None or call_reply.last.cost is None else cost + call_reply.last.cost
    except ModelError as error:
        tools = False if error.kind == "no_tools" else None
        tools_error = error.details
    return ModelCheck(
        model=name,
        first_token_s=reply.times[0] if reply.times else None,
        total_s=reply.duration_s,
        streams=streams,
        tools=tools,
        reply=reply.text.strip(),
        cost=cost,
        tools_error=tools_error,
    )


async def _time_reply(model: Model, request: Request) -> _TimedReply:
    reply = _TimedReply()
    start = time.monotonic()
    async with aclosing(model.stream(request)) as deltas:
        async for delta in deltas:
            if delta.text or delta.reasoning:
                reply.times.append(time.monotonic() - start)
            reply.text += delta.text
            reply.last = reply.last.merge(delta)
            if delta.calls:
                reply.called_tool = delta.calls[0].tool
    reply.duration_s = time.monotonic() - start
    return reply
