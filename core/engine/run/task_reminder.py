"""The message that repeats the task to a small model after a tool result, and the file that the task asks for."""

from collections.abc import Callable
from typing import NamedTuple

from core.domain.events import READ_AHEAD, ExpectedReply
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.run.project_tests import (
    failed_output,
    files_of_failure,
    find_test_command,
    first_command,
    is_missing_program,
)
from core.engine.state.compaction import HARNESS, USER
from core.engine.state.conversation import Conversation
from core.models.model import AskedFile
from core.models.work_phrases import (
    asks_for_calculation,
    asks_for_file_copy,
    asks_for_file_move,
    asks_for_frequency,
    check_command,
    code_to_change,
    implies_work,
    is_code_file,
    named_files,
    possible_results,
    reports_failing_tests,
    reports_fault,
    requested_files,
)
from core.timeline.context_item import RESULTS_PREFIX
from core.tools.edit import EDIT
from core.tools.read import READ
from core.tools.run import RUN, runs_command
from core.tools.tool import NOTHING_CHANGED
from core.tools.write import WRITE
from core.workspace.broker import FileBroker

FAILURE_REMINDER = "[The call failed and changed nothing. Correct it and call again.\nThe task is: {}]"
FAILED_COMMAND_REMINDER = "[The command failed. Read why, correct it and call run again.\nThe task is: {}]"
ANSWER_REMINDER = "[The task is: {}\nAnswer it now if you can. If not, make the next call.]"
CALCULATION_REMINDER = "[The task is: {}\nCall run with a command that calculates it and prints the result.{}]"
WORK_REMINDER = "[The task is: {}\nDo it now: make the next call.]"
FREQUENCY_NOTE = " To count what occurs how often: sort | uniq -c | sort -rn."
CALCULATED_FILE_REMINDER = (
    "[The task is: {0}\nCall run with a command that calculates it and writes the result to {1}.{2}]"
)
COLUMN_NOTE = " The columns of {0} are separated by `{1}`: awk needs -F'{1}'."
COPY_REMINDER = "[The task is: {}\nDo it now: call run with cp. Then change the copy, if the task asks for it.]"
MOVE_REMINDER = "[The task is: {}\nDo it now: call run with mv.]"
CREATE_REMINDER = "[The task is: {}\nDo it now: call write or run to create {}.]"
FAULT_REMINDER = "[The task is: {}\nFirst say in one sentence what has to change, then call edit or write.]"
CODE_REMINDER = "[The task is: {0}\nFirst say in one sentence what has to change. {1}]"
TESTED_CODE_REMINDER = (
    "[The task is: {0}\nThe tests are right and `{1}` has to pass, so {2} has a fault. First say in one sentence what "
    "has to change in {2}. {3}]"
)
NEW_CODE_REMINDER = "[The task is: {0}\nFirst say in one sentence how {1} has to work. {2}]"
FAILED_CHECK_REMINDER = "[`{0}` fails. First say in one sentence why. {1}]"
SAME_TEXT_REMINDER = "[The task is: {0}\nThe file has this text already. First say what is missing. {1}]"
WHOLE_FILE_REMINDER = "[The task is: {0}\nFirst say in one sentence what it must contain. {1}]"
WHOLE_FILE_SUFFIXES = (".json", ".html", ".xml", ".svg")  # full of quotes, which small models escape wrongly in a call
WHOLE_TEXT = "Then give the whole new text of {} in one code block."
RESULTS_OF_READ = f"{RESULTS_PREFIX}{READ.name}"
RESULTS_OF_RUN = f"{RESULTS_PREFIX}{RUN.name}"
RESULTS_OF_WRITE = f"{RESULTS_PREFIX}{WRITE.name}"
RESULTS_OF_FILE_TOOLS = (RESULTS_OF_READ, RESULTS_OF_WRITE, f"{RESULTS_PREFIX}{EDIT.name}")
MAX_REMINDER_CHARS = 400
MAX_CODE_BYTES = 1_500  # larger files are edited, because a small model takes long to write a whole file


class _Reminder(NamedTuple):
    """The text of a reminder. `file` is the file whose whole new text it requests, "" if it requests none."""

    text: str
    file: str = ""


def task_check(conversation: Conversation, task: str, broker: FileBroker) -> str:
    """Return the command that has to succeed: the one that a task names, or that of the tests which it says fail.

    These tests are run before the first request, so later the command is known even if the model removes them. "" if
    there is none, or if the program that runs the tests is not installed.
    """
    if (named := check_command(task)) or not reports_failing_tests(task):
        return named
    since = conversation.task_seq
    command = first_command(conversation, since) or find_test_command(broker)
    return "" if command and is_missing_program(failed_output(conversation, command, since)) else command


def files_to_repair(conversation: Conversation, task: str, broker: FileBroker) -> list[str]:
    """Return the files that the output of the failed check is about; [] if it did not fail or shows no file."""
    command = task_check(conversation, task, broker)
    output = failed_output(conversation, command, conversation.task_seq) if command else ""
    return files_of_failure(output, broker)


def task_reminder(conversation: Conversation, broker: FileBroker, full_text: Callable[[Text], str]) -> list[Message]:
    """Return the message that repeats the task to a small model, as a list; [] if there is nothing to repeat.

    Without it, small models report a failed call as done, or keep calling tools after they have read the answer. After
    a successful call in a task that asks for work there is no reminder, because it made models stop too early. The
    exception are files read ahead: after reading them, a small model loses sight of the task.
    """
    messages = conversation.messages
    if not messages or messages[-1].role != "tool":
        return []
    task = user_task(conversation, full_text)
    reminder = _choose_reminder(conversation, task, broker) if task else None
    if reminder is None:
        return []
    expected = ExpectedReply("file", path=reminder.file) if reminder.file else None
    return [Message("user", Text(reminder.text), category=HARNESS, expected_reply=expected)]


def user_task(conversation: Conversation, full_text: Callable[[Text], str]) -> str:
    """Return the text of the user's last message; "" if there is none."""
    messages = reversed(conversation.messages)
    return next((full_text(message.text) for message in messages if message.category == USER), "")


def _choose_reminder(conversation: Conversation, task: str, broker: FileBroker) -> _Reminder | None:
    last = conversation.messages[-1]
    if last.failed:
        return _after_failure(conversation, task, broker)
    short = shortened(task)
    missing = missing_file(task, broker)
    if not (implies_work(task) or missing):
        if last.category == RESULTS_OF_READ and asks_for_calculation(task):
            return _Reminder(CALCULATION_REMINDER.format(short, _calculation_note(task, broker)))
        return _Reminder(ANSWER_REMINDER.format(short))
    code = code_to_write(conversation, task, broker)
    if conversation.stop_reason == READ_AHEAD and last.category == RESULTS_OF_READ:
        if code:
            return _code_reminder(conversation, task, broker, code, is_new=bool(missing))
        return _work_reminder(task, broker, missing)
    if code and last.category == RESULTS_OF_WRITE and last.text.head.endswith(NOTHING_CHANGED):
        return _Reminder(SAME_TEXT_REMINDER.format(short, WHOLE_TEXT.format(code)), code)
    return None


def _after_failure(conversation: Conversation, task: str, broker: FileBroker) -> _Reminder | None:
    """Return the reminder after a failed call; None after one that was refused, and mostly after a command."""
    last = conversation.messages[-1]
    if last.call_id == conversation.last_refused:
        return None
    code = code_to_write(conversation, task, broker)
    check = task_check(conversation, task, broker)
    if code and check and _ran(conversation, check):
        return _Reminder(FAILED_CHECK_REMINDER.format(check, WHOLE_TEXT.format(code)), code)
    if last.category in RESULTS_OF_FILE_TOOLS:
        return _Reminder(FAILURE_REMINDER.format(shortened(task)))
    is_work = last.category == RESULTS_OF_RUN and implies_work(task) and not check
    return _Reminder(FAILED_COMMAND_REMINDER.format(shortened(task))) if is_work else None


def _code_reminder(conversation: Conversation, task: str, broker: FileBroker, file: str, *, is_new: bool) -> _Reminder:
    """Return the reminder that asks for the whole new text of a source file."""
    short = shortened(task)
    whole = WHOLE_TEXT.format(file)
    check = task_check(conversation, task, broker)
    if check and files_to_repair(conversation, task, broker):
        return _Reminder(TESTED_CODE_REMINDER.format(short, check, file, whole), file)
    text = NEW_CODE_REMINDER.format(short, file, whole) if is_new else CODE_REMINDER.format(short, whole)
    return _Reminder(text, file)


def _work_reminder(task: str, broker: FileBroker, missing: str) -> _Reminder:
    """Return the reminder that asks for the next call. `missing` is a file that the task asks to create, or ""."""
    short = shortened(task)
    if asks_for_file_move(task):
        return _Reminder(MOVE_REMINDER.format(short))
    if asks_for_file_copy(task):
        return _Reminder(COPY_REMINDER.format(short))
    if missing and asks_for_calculation(task):
        return _Reminder(CALCULATED_FILE_REMINDER.format(short, missing, _calculation_note(task, broker)))
    if missing.endswith(WHOLE_FILE_SUFFIXES):
        return _Reminder(WHOLE_FILE_REMINDER.format(short, WHOLE_TEXT.format(missing)), missing)
    if missing:
        return _Reminder(CREATE_REMINDER.format(short, missing))
    return _Reminder((FAULT_REMINDER if reports_fault(task) else WORK_REMINDER).format(short))


def _calculation_note(task: str, broker: FileBroker) -> str:
    """Return hints for the command that calculates what the task asks for; "" if there are none."""
    return _column_note(task, broker) + (FREQUENCY_NOTE if asks_for_frequency(task) else "")


def _column_note(task: str, broker: FileBroker) -> str:
    """Return what separates the columns of the table that the task is about; "" if it names no table."""
    name = next((name for name in named_files(task) if name.endswith(".csv")), "")
    try:
        contents = broker.read_small(name, allow_secrets=False) if name else None
        header = (contents or b"").partition(b"\n")[0].decode()
    except (Problem, UnicodeDecodeError):
        return ""
    separator = max(",;", key=header.count)
    return COLUMN_NOTE.format(name, separator) if separator in header else ""


def shortened(task: str) -> str:
    """Return the task in one short line, as it is repeated to a model."""
    return task if len(task) <= MAX_REMINDER_CHARS else task[:MAX_REMINDER_CHARS] + "…"


def code_to_write(conversation: Conversation, task: str, broker: FileBroker) -> str:
    """Return the source file that a model should write as a whole, or "".

    It is the one that the task asks to change or create, or else the only one that the failed check is about. "" if the
    file is larger than MAX_CODE_BYTES, because a model should edit it instead.
    """
    name = code_to_change(task)
    if not name and reports_fault(task):
        sources = [path for path in files_to_repair(conversation, task, broker) if is_code_file(path)]
        name = sources[0] if len(sources) == 1 else ""
    if not name:
        return ""
    try:
        status = broker.stat(name)
    except Problem:  # The path is a folder or outside the project folder.
        return ""
    return name if status is None or status.st_size <= MAX_CODE_BYTES else ""


def asked_file(expected: ExpectedReply | None, broker: FileBroker) -> AskedFile | None:
    """Return the file whose whole new text the reply must contain, with its current text, or None."""
    if expected is None or expected.kind != "file":
        return None
    try:
        return AskedFile(expected.path, broker.read(expected.path, allow_secrets=False).decode("utf-8", "replace"))
    except Problem:  # The file does not exist or must not be read.
        return AskedFile(expected.path)


def _ran(conversation: Conversation, command: str) -> bool:
    """Return whether the last call ran this command."""
    calls = [call for message in conversation.messages for call in message.calls]
    return bool(calls) and runs_command(calls[-1], command)


def missing_file(task: str, broker: FileBroker) -> str:
    """Return the name of a file that a task asks for and that does not exist; "" if there is none."""
    has_source = existing_file(task, broker)
    names = (*requested_files(task), *possible_results(task, has_source=has_source))
    return next((name for name in names if _exists(name, broker) is False), "")


def existing_file(task: str, broker: FileBroker) -> bool:
    """Return whether a task names a file that exists."""
    return any(_exists(name, broker) for name in named_files(task))


def _exists(name: str, broker: FileBroker) -> bool | None:
    """Return whether a file or folder with this name exists; None if its path is outside the project folder."""
    try:
        return broker.stat(name) is not None
    except Problem:
        return None
