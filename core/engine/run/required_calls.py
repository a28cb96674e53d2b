"""Determines the tools of which a small model must call one after a nudge, for providers that can enforce a call."""

from collections.abc import Sequence
from dataclasses import replace

from core.domain.events import ExpectedReply
from core.models.model import ToolSpec
from core.tools.catalogue import ASK
from core.tools.write import WRITE

MAX_QUESTION_CHARS = 300  # enforced by the provider, because a small model may list options without end


def required_calls(expected: ExpectedReply | None, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools of which the model must call one; () if the expected reply is not a call.

    If none of the expected tools is available, these are all available tools.
    """
    if expected is None or expected.kind != "call":
        return ()
    available = [tool for tool in tools if tool.name in expected.tools]
    return tuple(_narrowed(tool, expected.path) for tool in available or tools)


def _narrowed(tool: ToolSpec, missing: str) -> ToolSpec:
    """Return a copy of the tool with a narrower JSON Schema: `ask_user` only takes a short question, `write` only
    the path of the missing file.
    """
    properties = tool.parameters["properties"]
    if tool.name == ASK:
        question = {**properties["question"], "maxLength": MAX_QUESTION_CHARS}
        parameters = {**tool.parameters, "properties": {"question": question}, "required": ["question"]}
    elif tool.name == WRITE.name and missing:
        parameters = {**tool.parameters, "properties": {**properties, "path": {"const": missing}}}
    else:
        return tool
    return replace(tool, parameters=parameters)
