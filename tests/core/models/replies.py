"""Replies gathered for tests: from a server on loopback, or straight from recorded bytes."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.events import Call, Usage
from core.domain.messages import Message
from core.domain.text import Attachment, Text
from core.models.anthropic_reply import AnthropicReply
from core.models.chat_reply import ChatReply
from core.models.faults import Place
from core.models.mask import Mask
from core.models.model import Asked, Fault, Model, Request, ToolSpec
from core.models.names import ToolNames
from core.models.ollama import OllamaReply
from core.models.responses_reply import ResponsesReply
from core.models.server import Patience, Server
from core.models.sse import Ndjson, Sse
from core.models.wire import UNKNOWN, Fold, Known, Parser
from core.models.wires import WIRES
from tests.servers.scripted import Act, Scripted, scripted

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "wire"
KEY = "sk-test-0123456789abcdef"
PLACE = Place("model.example", "some-model", Mask(KEY))
BOUND_S = 20.0
QUICK = Patience(connect_s=2.0, first_s=5.0, silence_s=5.0, whole_s=15.0, after_end_s=0.3)
READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
FOLDS: dict[str, type[Any]] = {
    "chat": ChatReply,
    "responses": ResponsesReply,
    "anthropic": AnthropicReply,
    "ollama": OllamaReply,
}


@dataclass
class Gathered:
    """A reply as the engine gets it."""

    text: str = ""
    reasoning: str = ""
    calls: list[Asked] = field(default_factory=list)
    usage: Usage | None = None
    stop: str = ""
    carry: str = ""
    note: str = ""
    cost: float | None = None
    fault: Fault | None = None
    deltas: int = 0

    @property
    def kind(self) -> str:
        return self.fault.kind if self.fault else ""


async def gather(model: Model, request: Request) -> Gathered:
    """Everything a reply brings, and the fault that ended it."""
    got = Gathered()
    try:
        async for delta in model.stream(request):
            got.deltas += 1
            got.text += delta.text
            got.reasoning += delta.reasoning
            got.calls += delta.calls
            got.usage, got.stop = delta.usage or got.usage, delta.stop or got.stop
            got.carry, got.note = delta.carry or got.carry, delta.note or got.note
            got.cost = got.cost if delta.cost is None else delta.cost
    except Fault as fault:
        got.fault = fault
    return got


def asking(*messages: Message, **more: Any) -> Request:
    """A request; one word of a person where nothing else is given."""
    return Request(messages or (said("hello"),), **{"tools": (READ,), **more})


def said(words: str, *attachments: Attachment) -> Message:
    return Message("user", Text(words), attachments=attachments)


def called(*calls: Call, words: str = "", reasoning: str = "", carry: str = "") -> Message:
    return Message("assistant", Text(words), calls, reasoning=Text(reasoning), carry=Text(carry))


def returned(call: str, words: str, failed: bool = False) -> Message:
    return Message("tool", Text(words), call_id=call, failed=failed)


def exchange(
    wire: str,
    *answers: list[Act],
    request: Request | None = None,
    patience: Patience = QUICK,
    known: Known = UNKNOWN,
    drip: bytes = b": still here\n\n",
) -> tuple[Gathered, Scripted]:
    """What a model of this wire makes of a server that plays these answers."""

    async def run() -> tuple[Gathered, Scripted]:
        async with scripted(*answers, drip=drip) as server, asyncio.timeout(BOUND_S):
            model = WIRES[wire](Server(server.url, KEY, patience=patience), "some-model", known)
            return await gather(model, request or asking()), server

    return asyncio.run(run())


def parser_of(wire: str) -> Parser:
    return Ndjson() if wire == "ollama" else Sse()


def fold_of(wire: str, *tools: str) -> Fold:
    fold: Fold = FOLDS[wire](PLACE, ToolNames(tools), "test")
    return fold


def folded(wire: str, pieces: Iterable[bytes]) -> Gathered:
    """A reply straight from its bytes, without a server."""
    parser, fold = parser_of(wire), fold_of(wire)
    got = Gathered()
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.rest()
    for event in events:
        if not fold.ended:
            fold.take(event)
    got.text, got.reasoning = "".join(fold.text), "".join(fold.reasoning)
    assert fold.complete
    last = fold.whole()
    got.calls, got.usage, got.stop, got.carry = list(last.calls), last.usage, last.stop, last.carry
    return got
