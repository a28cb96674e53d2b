"""The message that repeats the task to a small model after a tool result, and the file that the task asks for."""

from collections.abc import Callable

from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.state.compaction import HARNESS, USER
from core.engine.state.conversation import Conversation
from core.models.stop_reasons import READ_AHEAD
from core.models.work_phrases import asks_for_work, named_files, possible_results, reports_fault, requested_files
from core.timeline.context_item import RESULTS_PREFIX
from core.workspace.broker import FileBroker

FAILURE_REMINDER = "[The call failed and changed nothing. Correct it and call again.\nThe task is: {}]"
ANSWER_REMINDER = "[The task is: {}\nAnswer it now if you can. If not, make the next call.]"
WORK_REMINDER = "[The task is: {}\nDo it now: make the next call.]"
CREATE_REMINDER = "[The task is: {}\nDo it now: call write or run to create {}.]"
FAULT_REMINDER = "[The task is: {}\nFirst say in one sentence what has to change, then call edit or write.]"
RESULTS_OF_FILE_TOOLS = {f"{RESULTS_PREFIX}{tool}" for tool in ("read", "write", "edit")}
MAX_REMINDER_CHARS = 400


def task_reminder(conversation: Conversation, broker: FileBroker, full_text: Callable[[Text], str]) -> list[Message]:
    """Return the message that repeats the task after a tool result.

    Small models report a failed call as done, or call tools on after they have read the answer. After a successful
    call of a task that asks for work they get none: it made them stop before the work was finished. Only files that
    were read for them are followed by the task, which they otherwise lose sight of.
    """
    messages = conversation.messages
    if not messages or messages[-1].role != "tool":
        return []
    task = next((full_text(message.text) for message in reversed(messages) if message.category == USER), "")
    missing = missing_file(task, broker)
    last, refused = messages[-1], messages[-1].call_id == conversation.last_refused
    if last.failed and not refused and last.category in RESULTS_OF_FILE_TOOLS:
        reminder = FAILURE_REMINDER
    elif task and not last.failed and not (asks_for_work(task) or missing):
        reminder = ANSWER_REMINDER
    elif task and conversation.stop_reason == READ_AHEAD:
        reminder = CREATE_REMINDER if missing else FAULT_REMINDER if reports_fault(task) else WORK_REMINDER
    else:
        return []
    return [Message("user", Text(reminder.format(shortened(task), missing)), category=HARNESS)]


def shortened(task: str) -> str:
    """Return a task as it is repeated to a model."""
    return task if len(task) <= MAX_REMINDER_CHARS else task[:MAX_REMINDER_CHARS] + "…"


def missing_file(task: str, broker: FileBroker) -> str:
    """Return the name of a file that a task asks for and that does not exist; "" if there is none."""
    has_source = any(_exists(name, broker) for name in named_files(task))
    names = (*requested_files(task), *possible_results(task, has_source=has_source))
    return next((name for name in names if _exists(name, broker) is False), "")


def _exists(name: str, broker: FileBroker) -> bool | None:
    """Return whether there is such a file or folder; None if its path leads outside the folder."""
    try:
        return broker.stat(name) is not None
    except Problem:
        return None
