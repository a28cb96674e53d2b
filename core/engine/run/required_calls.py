"""Determines the tools of which a small model must call one after a nudge, for providers that can enforce a call."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.models.model import ToolSpec
from core.tools.catalogue import ASK
from core.tools.write import WRITE

NUDGE_PREFIX = "[Your reply called no tool"
MISSING_FILE = re.compile(r", and (\S+) does not exist\.")  # part of MISSING_NUDGE in `nudges`
MAX_QUESTION_CHARS = 300  # enforced by the provider, because a small model may list options without end


def required_calls(note: str, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools of which the model must call one, given the harness message `note` that it replies to.

    These are the tools that a nudge names, or all tools if it names none. () if `note` is not a nudge.
    """
    if not note.startswith(NUDGE_PREFIX):
        return ()
    missing = MISSING_FILE.search(note)
    named = [tool for tool in tools if re.search(rf"\b[Cc]all (?:\w+ or )?{re.escape(tool.name)}\b", note)]
    return tuple(_narrowed(tool, missing[1] if missing else "") for tool in named or tools)


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
