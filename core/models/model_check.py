"""Tests a model with two small real requests, for latency, streaming and tool calls."""

import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace

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
    """The result of testing a model; None means unknown.

    Attributes:
        first_token_s: seconds from the first request to the first text or reasoning of its reply.
        total_s: seconds from the first request to the end of its reply.
        streams: whether that reply arrived in more than one piece.
        calls_tools: whether the model called the tool of the second request; False also if the provider rejected it.
        reply: the text of the first reply.
        cost: the cost of the requests that succeeded, in US dollars.
        error: why the first request failed; then nothing else is known.
        tool_call_error: why the second request failed.
    """

    model: str
    first_token_s: float | None = None
    total_s: float | None = None
    streams: bool | None = None
    calls_tools: bool | None = None
    reply: str = ""
    cost: float | None = None
    error: ErrorDetails | None = None
    tool_call_error: ErrorDetails | None = None


@dataclass(slots=True)
class _TimedReply:
    """A reply, with times in seconds since the request.

    Attributes:
        first_token_s: when the first text or reasoning arrived; None if there was neither.
        piece_count: how many deltas had text or reasoning.
        called_tools: the names of the tools that were called.
        cost: the cost in US dollars; None if unknown.
    """

    first_token_s: float | None = None
    total_s: float = 0.0
    piece_count: int = 0
    text: str = ""
    called_tools: list[str] = field(default_factory=list)
    cost: float | None = None

    @property
    def streamed(self) -> bool | None:
        """Whether the reply arrived in more than one piece; None if it was empty."""
        return self.piece_count > 1 if self.piece_count else None

    def add(self, delta: ReplyDelta, arrived_s: float) -> None:
        """Add the next delta, which arrived `arrived_s` seconds after the request."""
        if delta.text or delta.reasoning:
            self.piece_count += 1
            if self.first_token_s is None:
                self.first_token_s = arrived_s
        self.text += delta.text
        self.called_tools += [call.tool for call in delta.calls]
        if delta.cost is not None:
            self.cost = delta.cost


async def check_model(name: str, model: Model) -> ModelCheck:
    """Send both requests, the second only if the first succeeds. Errors are part of the result, not raised."""
    try:
        reply = await _receive_reply(model, _request(TEXT_PROMPT))
    except ModelError as error:
        return ModelCheck(name, error=error.details)
    text_check = ModelCheck(
        model=name,
        first_token_s=reply.first_token_s,
        total_s=reply.total_s,
        streams=reply.streamed,
        reply=reply.text.strip(),
        cost=reply.cost,
    )
    return await _check_tool_call(text_check, model)


async def _check_tool_call(text_check: ModelCheck, model: Model) -> ModelCheck:
    """Send the second request, and return the result of the first one completed with that of the second."""
    try:
        reply = await _receive_reply(model, _request(CALL_PROMPT, NOTE_TOOL))
    except ModelError as error:
        calls_tools = False if error.kind == "no_tools" else None
        return replace(text_check, calls_tools=calls_tools, tool_call_error=error.details)
    return replace(
        text_check,
        calls_tools=NOTE_TOOL.name in reply.called_tools,
        cost=_total_cost(text_check.cost, reply.cost),
    )


def _total_cost(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    return first + second


def _request(prompt: str, *tools: ToolSpec) -> Request:
    return Request(
        [Message("user", Text(prompt))], tools=tools, options=ReplyOptions(max_output_tokens=CHECK_MAX_TOKENS)
    )


async def _receive_reply(model: Model, request: Request) -> _TimedReply:
    """Send the request and wait for the end of the reply. Raise ModelError if the request fails."""
    reply = _TimedReply()
    sent_at = time.monotonic()
    async with aclosing(model.stream(request)) as deltas:
        async for delta in deltas:
            reply.add(delta, time.monotonic() - sent_at)
    reply.total_s = time.monotonic() - sent_at
    return reply
