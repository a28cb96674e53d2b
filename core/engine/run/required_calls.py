"""Which tools a small model has to call after a nudge, for providers that can enforce it."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.models.model import ToolSpec
from core.tools.catalogue import ASK
from core.tools.write import WRITE

NUDGE_PREFIX = "[Your reply called no tool"
MISSING_FILE = re.compile(r", and (\S+) does not exist\.")  # as the nudge says it
MAX_QUESTION_CHARS = 300  # a small model may list options without end


def required_calls(note: str, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools of which one has to be called: those that the nudge names, or else all; none without a nudge."""
    if not note.startswith(NUDGE_PREFIX):
        return ()
    missing = MISSING_FILE.search(note)
    named = [tool for tool in tools if re.search(rf"\b[Cc]all (?:\w+ or )?{re.escape(tool.name)}\b", note)]
    return tuple(_narrowed(tool, missing[1] if missing else "") for tool in named or tools)


def _narrowed(tool: ToolSpec, missing: str) -> ToolSpec:
    """Return a tool with narrower parameters: a short question, and the file to create."""
    properties = tool.parameters["properties"]
    if tool.name == ASK:
        question = {**properties["question"], "maxLength": MAX_QUESTION_CHARS}
        parameters = {**tool.parameters, "properties": {"question": question}, "required": ["question"]}
    elif tool.name == WRITE.name and missing:
        parameters = {**tool.parameters, "properties": {**properties, "path": {"const": missing}}}
    else:
        return tool
    return replace(tool, parameters=parameters)
