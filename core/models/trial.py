"""Try a model with two real, tiny requests: does it answer, how soon, piece by piece, and does it take tool calls?"""

import time
from contextlib import aclosing
from dataclasses import dataclass, field

from core.domain.messages import Message
from core.domain.problems import Trouble
from core.domain.text import Text
from core.models.model import Delta, Fault, Model, Request, ToolSpec, Wanted

LONGEST = 512  # tokens: a model that thinks first needs some
WORDS = "Count from one to ten in words, separated by commas. Say nothing else."
CALL = "Call the tool `note` with the word `pencil`. Say nothing else."
NOTE = ToolSpec(
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
class Trial:
    """What came of it. Seconds are from asking; `streams` and `tools` are None where it could not be seen.

    Attributes:
        first_s: until the first word or thought.
        took_s: until the end of the reply.
        trouble: why there is no reply.
        tools_trouble: why the request with a tool failed.
    """

    model: str
    first_s: float | None = None
    took_s: float | None = None
    streams: bool | None = None
    tools: bool | None = None
    reply: str = ""
    cost: float | None = None
    trouble: Trouble | None = None
    tools_trouble: Trouble | None = None


@dataclass(slots=True)
class _Heard:
    """One reply as it came."""

    times: list[float] = field(default_factory=list)
    text: str = ""
    last: Delta = Delta()
    called: str = ""
    took: float = 0.0


async def try_model(name: str, model: Model) -> Trial:
    """Both requests; the second only where the first was answered."""
    try:
        said = await _hear(model, Request([Message("user", Text(WORDS))], wanted=Wanted(max_output=LONGEST)))
    except Fault as fault:
        return Trial(name, trouble=fault.trouble)
    pieces = len(said.times)
    streams = pieces > 1 if pieces else None
    tools, why, cost = None, None, said.last.cost
    try:
        asked = Request([Message("user", Text(CALL))], tools=(NOTE,), wanted=Wanted(max_output=LONGEST))
        called = await _hear(model, asked)
        tools = called.called == NOTE.name
        cost = None if cost is None or called.last.cost is None else cost + called.last.cost
    except Fault as fault:
        tools, why = (False if fault.kind == "no_tools" else None), fault.trouble
    first = said.times[0] if said.times else None
    return Trial(name, first, said.took, streams, tools, said.text.strip(), cost, tools_trouble=why)


async def _hear(model: Model, request: Request) -> _Heard:
    heard, start = _Heard(), time.monotonic()
    async with aclosing(model.stream(request)) as deltas:
        async for delta in deltas:
            if delta.text or delta.reasoning:
                heard.times.append(time.monotonic() - start)
            heard.text += delta.text
            heard.last = heard.last.followed_by(delta)
            if delta.calls:
                heard.called = delta.calls[0].tool
    heard.took = time.monotonic() - start
    return heard
