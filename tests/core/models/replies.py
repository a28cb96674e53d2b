"""Helpers that collect whole replies, from a loopback server or directly from recorded bytes."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.events import ToolCall, Usage
from core.domain.messages import Message
from core.domain.text import Attachment, Text
from core.models.anthropic_reply import AnthropicReplyParser
from core.models.api_client import UNKNOWN_LIMITS, BodyParser, ModelLimits, ReplyParser
from core.models.api_formats import API_FORMATS
from core.models.chat_reply import ChatReplyParser
from core.models.endpoint import ProviderEndpoint, RequestTimeouts
from core.models.errors import ErrorContext
from core.models.mask import KeyMask
from core.models.model import Model, ModelError, ReplyOptions, Request, RequestedCall, ToolSpec
from core.models.ollama import OllamaReplyParser
from core.models.responses_reply import ResponsesReplyParser
from core.models.stream_parsers import NdjsonParser, SseParser
from core.models.tool_names import ToolNames
from tests.servers.scripted_server import ScriptedServer, ServerAction, scripted_server

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "wire"
KEY = "sk-test-0123456789abcdef"
ERROR_CONTEXT = ErrorContext("model.example", "some-model", KeyMask(KEY))
TEST_TIMEOUT_S = 20.0
NO_OPTIONS = ReplyOptions()
SHORT_TIMEOUTS = RequestTimeouts(connect_s=2.0, first_event_s=5.0, idle_s=5.0, total_s=15.0, after_end_s=0.3)
READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
REPLY_PARSERS: dict[str, type[Any]] = {
    "chat": ChatReplyParser,
    "responses": ResponsesReplyParser,
    "anthropic": AnthropicReplyParser,
    "ollama": OllamaReplyParser,
}


@dataclass
class Gathered:
    """A whole reply, as the engine receives it."""

    text: str = ""
    reasoning: str = ""
    calls: list[RequestedCall] = field(default_factory=list)
    usage: Usage | None = None
    stop: str = ""
    carry: str = ""
    note: str = ""
    cost: float | None = None
    fault: ModelError | None = None
    deltas: int = 0

    @property
    def kind(self) -> str:
        return self.fault.kind if self.fault else ""


async def gather(model: Model, request: Request) -> Gathered:
    """Collect all deltas of a reply, and the error that ended it, if any."""
    got = Gathered()
    try:
        async for delta in model.stream(request):
            got.deltas += 1
            got.text += delta.text
            got.reasoning += delta.reasoning
            got.calls += delta.calls
            got.usage, got.stop = delta.usage or got.usage, delta.stop_reason or got.stop
            got.carry, got.note = delta.provider_state or got.carry, delta.note or got.note
            got.cost = got.cost if delta.cost is None else delta.cost
    except ModelError as fault:
        got.fault = fault
    return got


def make_request(
    *messages: Message,
    tools: Sequence[ToolSpec] = (READ,),
    options: ReplyOptions = NO_OPTIONS,
    output_schema: Mapping[str, Any] | None = None,
    read_attachment: Callable[[Attachment], bytes] = lambda attachment: b"",
) -> Request:
    """Return a request, by default with a single user message."""
    return Request(
        messages or (user_message("hello"),),
        tools=tools,
        options=options,
        output_schema=output_schema,
        read_attachment=read_attachment,
    )


def user_message(words: str, *attachments: Attachment) -> Message:
    return Message("user", Text(words), attachments=attachments)


def assistant_message(*calls: ToolCall, words: str = "", reasoning: str = "", carry: str = "") -> Message:
    return Message("assistant", Text(words), calls, reasoning=Text(reasoning), provider_state=Text(carry))


def tool_message(call: str, words: str, failed: bool = False) -> Message:
    return Message("tool", Text(words), call_id=call, failed=failed)


def run_exchange(
    wire: str,
    *answers: list[ServerAction],
    request: Request | None = None,
    patience: RequestTimeouts = SHORT_TIMEOUTS,
    known: ModelLimits = UNKNOWN_LIMITS,
    drip: bytes = b": still here\n\n",
) -> tuple[Gathered, ScriptedServer]:
    """Request a reply in an API format from a server that sends these responses; return the reply and the server."""

    async def run() -> tuple[Gathered, ScriptedServer]:
        async with scripted_server(*answers, drip=drip) as server, asyncio.timeout(TEST_TIMEOUT_S):
            model = API_FORMATS[wire](ProviderEndpoint(server.url, KEY, timeouts=patience), "some-model", known)
            return await gather(model, request or make_request()), server

    return asyncio.run(run())


def make_body_parser(wire: str) -> BodyParser:
    return NdjsonParser() if wire == "ollama" else SseParser()


def make_reply_parser(wire: str, *tools: str) -> ReplyParser:
    fold: ReplyParser = REPLY_PARSERS[wire](ERROR_CONTEXT, ToolNames(tools), "test")
    return fold


def parse_reply(wire: str, pieces: Iterable[bytes]) -> Gathered:
    """Parse a reply directly from its bytes, without a server."""
    parser, fold = make_body_parser(wire), make_reply_parser(wire)
    got = Gathered()
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
    for event in events:
        if not fold.ended:
            fold.feed(event)
    got.text, got.reasoning = "".join(fold.text), "".join(fold.reasoning)
    assert fold.complete
    last = fold.finish()
    got.calls, got.usage, got.stop, got.carry = list(last.calls), last.usage, last.stop_reason, last.provider_state
    return got
