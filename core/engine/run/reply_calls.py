"""The calls of a reply as they are recorded: with the names and the contents that the model evidently meant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from core.domain.events import ToolCall
from core.domain.ids import call_id
from core.domain.provenance import without_data_tags
from core.domain.text import Text
from core.engine.run.run_context import RunContext
from core.models.model import RequestedCall, ToolSpec
from core.models.near_calls import correction_note, near_call
from core.tools.edit import EDIT
from core.tools.run import RUN
from core.tools.write import WRITE

UNSEEN_OUTPUT_NOTE = "Changes were left out that the model had written before it saw the output of the command."
TAGS_NOTE = "The tags that mark data were removed from the calls."


class CorrectedCalls(NamedTuple):
    """The calls of a reply with their IDs and corrected tool names and arguments.

    `note` is for the user and says what was corrected; "" if nothing was.
    """

    calls: tuple[ToolCall, ...]
    note: str


def calls_to_record(run: RunContext, calls: Sequence[RequestedCall], tools: Sequence[ToolSpec]) -> CorrectedCalls:
    """Return the calls of a reply as they are to be recorded."""
    start = run.conversation.start
    boundary = start.boundary if start else ""
    clean = [replace(call, arguments=without_data_tags(call.arguments, boundary)) for call in calls]
    named = [near_call(call, tools) for call in clean]
    kept = _without_unseen_output(named) if run.has_compact_prompt else named
    notes = (
        correction_note(clean, named),
        TAGS_NOTE if clean != list(calls) else "",
        UNSEEN_OUTPUT_NOTE if kept != named else "",
    )
    turn = run.conversation.total_turns + 1
    recorded = tuple(
        ToolCall(call_id(turn, number), call.tool, Text(call.arguments)) for number, call in enumerate(kept, 1)
    )
    return CorrectedCalls(recorded, " ".join(filter(None, notes)))


def _without_unseen_output(calls: Sequence[RequestedCall]) -> list[RequestedCall]:
    """Return the calls without the changes of files after a command.

    A small model writes such a file in place of the command's output, which it has not seen.
    """
    kept: list[RequestedCall] = []
    has_command = False
    for call in calls:
        has_command = has_command or call.tool == RUN.name
        if not has_command or call.tool not in {WRITE.name, EDIT.name}:
            kept.append(call)
    return kept
