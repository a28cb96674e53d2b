"""A run with tool calls and a question, driven without the engine against a provider."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.domain.events import ToolCall, Usage
from core.domain.messages import Message
from core.domain.text import Text
from core.models.api_formats import ProviderModel
from core.models.model import Request, ToolSpec
from tests.core.models.replies import Gathered, gather, tool_message, user_message

MAX_TURNS = 10
TOOLS = (
    ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("ask_user", "Ask the user.", {"type": "object", "properties": {"question": {"type": "string"}}}),
)


@dataclass
class DrivenRun:
    """The messages, tool calls and replies of the run."""

    messages: list[Message]
    asked: list[tuple[str, str]] = field(default_factory=list)
    replies: list[Gathered] = field(default_factory=list)

    @property
    def usage(self) -> list[Usage | None]:
        return [reply.usage for reply in self.replies]


def drive_run(model: ProviderModel, task: str, answers: Mapping[str, Callable[[str], str]]) -> DrivenRun:
    """Run turns until the model stops calling tools; `answers` maps a tool to the function that returns its result."""

    async def run() -> DrivenRun:
        journey = DrivenRun([Message("system", Text("You work in a folder.")), user_message(task)])
        for number in range(MAX_TURNS):
            got = await gather(model, Request(journey.messages, tools=TOOLS))
            journey.replies.append(got)
            if got.fault is not None:
                raise got.fault
            calls = tuple(ToolCall(f"r{number}c{n}", one.tool, Text(one.arguments)) for n, one in enumerate(got.calls))
            reply = Message(
                "assistant", Text(got.text), calls, reasoning=Text(got.reasoning), provider_state=Text(got.carry)
            )
            journey.messages.append(reply)
            if not calls:
                return journey
            for call in calls:
                value = next(iter(json.loads(call.arguments.head).values()))
                journey.asked.append((call.tool, value))
                journey.messages.append(tool_message(call.id, answers[call.tool](value)))
        raise AssertionError(f"no end after {MAX_TURNS} turns: {journey.asked}")

    return asyncio.run(run())
