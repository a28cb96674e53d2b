"""A whole run with tools and a question, driven by hand against a model server."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.domain.events import Call, Usage
from core.domain.messages import Message
from core.domain.text import Text
from core.models.model import Request, ToolSpec
from core.models.wires import Remote
from tests.core.models.replies import Gathered, gather, returned, said

MOST_ROUNDS = 10
TOOLS = (
    ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("ask_user", "Ask the person.", {"type": "object", "properties": {"question": {"type": "string"}}}),
)


@dataclass
class Journey:
    """What happened."""

    messages: list[Message]
    asked: list[tuple[str, str]] = field(default_factory=list)
    replies: list[Gathered] = field(default_factory=list)

    @property
    def usage(self) -> list[Usage | None]:
        return [reply.usage for reply in self.replies]


def travel(model: Remote, task: str, answers: Mapping[str, Callable[[str], str]]) -> Journey:
    """Round after round until nothing is asked any more; each call is answered by the function of its tool."""

    async def run() -> Journey:
        journey = Journey([Message("system", Text("You work in a folder.")), said(task)])
        for number in range(MOST_ROUNDS):
            got = await gather(model, Request(journey.messages, tools=TOOLS))
            journey.replies.append(got)
            if got.fault is not None:
                raise got.fault
            calls = tuple(Call(f"r{number}c{n}", one.tool, Text(one.arguments)) for n, one in enumerate(got.calls))
            reply = Message("assistant", Text(got.text), calls, reasoning=Text(got.reasoning), carry=Text(got.carry))
            journey.messages.append(reply)
            if not calls:
                return journey
            for call in calls:
                value = next(iter(json.loads(call.arguments.head).values()))
                journey.asked.append((call.tool, value))
                journey.messages.append(returned(call.id, answers[call.tool](value)))
        raise AssertionError(f"no end after {MOST_ROUNDS} rounds: {journey.asked}")

    return asyncio.run(run())
