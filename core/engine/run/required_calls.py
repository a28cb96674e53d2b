"""Which tools a small model has to call after a nudge, for providers that can enforce it."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.models.model import ToolSpec
from core.tools.catalogue import ASK

NUDGE_PREFIX = "[Your reply called no tool"
MAX_QUESTION_CHARS = 300  # a small model may list options without end


def required_calls(note: str, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools of which one has to be called: those that the nudge names, or else all; none without a nudge."""
    if not note.startswith(NUDGE_PREFIX):
        return ()
    named = [tool for tool in tools if re.search(rf"\b[Cc]all (?:\w+ or )?{re.escape(tool.name)}\b", note)]
    return tuple(_with_short_question(tool) for tool in named or tools)


def _with_short_question(tool: ToolSpec) -> ToolSpec:
    if tool.name != ASK:
        return tool
    question = {**tool.parameters["properties"]["question"], "maxLength": MAX_QUESTION_CHARS}
    parameters = {**tool.parameters, "properties": {"question": question}, "required": ["question"]}
    return replace(tool, parameters=parameters)
