"""The parameters of the `recall_dropped` tool. The engine executes its calls, which read the event log."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from core.tools.parameter_description import MAX_NUMBER, ParameterDescription

RECALL_DROPPED = "recall_dropped"
CONVERSATION = "conversation"
RECALL_DROPPED_DESCRIPTION = (
    "Read what was truncated or compacted to save context: a tool result by the id of its call, an image or file by "
    f'its id, or the whole conversation with the id "{CONVERSATION}".'
)


@dataclass(frozen=True, slots=True)
class RecallDroppedArguments:
    id: Annotated[str, ParameterDescription(f'The id of a call or of an attachment, or "{CONVERSATION}".')]
    start: Annotated[int, Ge(1), Le(MAX_NUMBER), ParameterDescription("First line, from 1.")] = 1
    end: Annotated[int, Ge(0), Le(MAX_NUMBER), ParameterDescription("Last line, included; 0: as far as possible.")] = 0


def timeline_text(parameters: RecallDroppedArguments) -> str:
    """Return the line that the timeline shows for the call."""
    subject = "the conversation" if parameters.id == CONVERSATION else parameters.id
    if parameters.start == 1 and not parameters.end:
        return subject
    return f"{subject} {parameters.start}–{parameters.end or ''}"
