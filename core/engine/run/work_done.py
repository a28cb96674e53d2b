"""What a conversation shows of the work that the model has done. `since` is the sequence number of the task."""

import re
from typing import NamedTuple

from core.domain.messages import Message
from core.engine.run.permission import NOT_ALLOWED
from core.engine.state.conversation import Conversation
from core.timeline.context_item import RESULTS_PREFIX
from core.tools.catalogue import ASK, tool_named
from core.tools.edit import ALSO_IN, EDIT
from core.tools.read import READ
from core.tools.run import runs_command
from core.tools.tool import NOTHING_CHANGED, READ_ONLY_ACCESS


class CheckState(NamedTuple):
    """The last result of a check since the last change of a file: whether it `passed` or `failed`, or neither.

    `last_change` is the arguments of the last call that could change files.
    """

    passed: bool = False
    failed: bool = False
    last_change: str = ""


def check_state(conversation: Conversation, command: str, since: int) -> CheckState:
    """Return what the conversation shows of the command with which a task is checked."""
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


def has_acted(conversation: Conversation, since: int) -> bool:
    """Return whether a call since this event changed something. A command did, even if it failed."""
    tools = {call.id: tool_named(call.tool) for message in conversation.messages for call in message.calls}
    for message in conversation.messages:
        if message.role == "tool" and message.seq > since:
            access = tool.access if (tool := tools.get(message.call_id)) else ""
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
    """Return whether the last call read a file, failed, or found its work done."""
    calls = [call for message in conversation.messages for call in message.calls]
    result = next((message for message in reversed(conversation.messages) if message.role == "tool"), None)
    is_reading = bool(calls) and calls[-1].tool == READ.name
    return is_reading or (result is not None and not changed(result))


def is_denied(conversation: Conversation) -> bool:
    """Return whether the user has denied the last call: the model must not be pushed to do something else instead."""
    last = next((message for message in reversed(conversation.messages) if message.role == "tool"), None)
    return last is not None and last.text.head.startswith(NOT_ALLOWED)


def left_over(conversation: Conversation, task: str, since: int) -> str:
    """Return what the last `edit` said about other files with the identifier that it replaced, if the task names it."""
    edits = [message.text.head for message in conversation.messages if message.seq > since and _is_edit(message)]
    match = ALSO_IN.search(edits[-1]) if edits else None
    return match[0].strip(" .") if match and re.search(rf"(?<!\w){re.escape(match[1])}(?!\w)", task) else ""


def changed(message: Message) -> bool:
    """Return whether a tool result reports a change."""
    return not message.failed and not message.text.head.endswith(NOTHING_CHANGED)


def _is_edit(message: Message) -> bool:
    return message.role == "tool" and message.category == f"{RESULTS_PREFIX}{EDIT.name}"
