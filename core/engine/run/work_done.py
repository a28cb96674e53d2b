"""Functions that find out from a conversation what the model has done: changed files, run commands, passed checks.

Their parameter `since` is the sequence number of the user message with the task; earlier events are ignored.
"""

import re
from typing import NamedTuple

from core.domain.messages import Message
from core.domain.refusals import NOT_ALLOWED
from core.engine.state.conversation import Conversation
from core.timeline.context_item import RESULTS_PREFIX
from core.tools.catalogue import ASK, tool_named
from core.tools.edit import ALSO_IN, EDIT
from core.tools.read import READ
from core.tools.run import runs_command
from core.tools.tool import NOTHING_CHANGED, READ_ONLY_ACCESS


class CheckState(NamedTuple):
    """The result of a check command since the last change of a file; both False if it was not run since.

    `last_change` contains the JSON arguments of the last call that changed a file.
    """

    passed: bool = False
    failed: bool = False
    last_change: str = ""


def check_state(conversation: Conversation, command: str, since: int) -> CheckState:
    """Return whether the check command `command` has passed or failed since the last change of a file."""
    calls = {call.id: call for message in conversation.messages for call in message.calls}
    state = CheckState()
    for message in conversation.messages:
        call = calls.get(message.call_id)
        if message.role != "tool" or message.seq <= since or call is None:
            continue
        if runs_command(call, command):
            if not message.text.head.startswith(NOT_ALLOWED):
                state = state._replace(passed=not message.failed, failed=message.failed)
        elif (tool := tool_named(call.tool)) and tool.access == "write":
            outdated = changed(message)
            state = CheckState(
                state.passed and not outdated, state.failed and not outdated, last_change=call.arguments.head
            )
    return state


def has_acted(conversation: Conversation, since: int, check: str = "") -> bool:
    """Return whether a call after `since` ran a command, even if it failed, or successfully changed something.

    The command `check` does not count: it only tells whether there is work to do.
    """
    calls = {call.id: call for message in conversation.messages for call in message.calls}
    for message in conversation.messages:
        if message.role == "tool" and message.seq > since and (call := calls.get(message.call_id)):
            if check and runs_command(call, check):
                continue
            access = tool.access if (tool := tool_named(call.tool)) else ""
            if access == "execute" or (access not in READ_ONLY_ACCESS and changed(message)):
                return True
    return False


def has_ever_acted(conversation: Conversation) -> bool:
    """Return whether the session has changed or run something, or may have, because its context was compacted."""
    compacted = conversation.compactions or conversation.compacted_calls
    return bool(compacted or conversation.permissions.changed_files) or has_acted(conversation, 0)


def has_asked(conversation: Conversation, since: int) -> bool:
    return any(call.tool == ASK for message in conversation.messages if message.seq > since for call in message.calls)


def has_just_looked(conversation: Conversation) -> bool:
    """Return whether the last call was a `read`, failed, or reported that nothing had to be changed."""
    calls = [call for message in conversation.messages for call in message.calls]
    result = next((message for message in reversed(conversation.messages) if message.role == "tool"), None)
    is_reading = bool(calls) and calls[-1].tool == READ.name
    return is_reading or (result is not None and not changed(result))


def is_denied(conversation: Conversation) -> bool:
    """Return whether the user denied the last call. Then no nudge may push the model to find another way."""
    last = next((message for message in reversed(conversation.messages) if message.role == "tool"), None)
    return last is not None and last.text.head.startswith(NOT_ALLOWED)


def left_over(conversation: Conversation, task: str, since: int) -> str:
    """Return the note of the last `edit` that other files also contain the replaced identifier.

    "" if there is no such note or the task does not mention the identifier.
    """
    edits = [message.text.head for message in conversation.messages if message.seq > since and _is_edit(message)]
    match = ALSO_IN.search(edits[-1]) if edits else None
    return match[0].strip(" .") if match and re.search(rf"(?<!\w){re.escape(match[1])}(?!\w)", task) else ""


def changed(message: Message) -> bool:
    """Return whether a tool result is neither a failure nor a report that nothing was changed."""
    return not message.failed and not message.text.head.endswith(NOTHING_CHANGED)


def _is_edit(message: Message) -> bool:
    return message.role == "tool" and message.category == f"{RESULTS_PREFIX}{EDIT.name}"
