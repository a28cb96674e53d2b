"""The checks that a reply without tool calls must pass before it ends the run."""

import json
import re
from contextlib import suppress

from core.domain.events import HarnessMessage, RunEnded, TextCallsEnabled
from core.domain.external_agents import is_external_agent
from core.domain.messages import Message
from core.domain.problems import ErrorDetails, Problem
from core.domain.text import Text
from core.engine.run.acceptance import check_acceptance
from core.engine.run.delegate import check_output_schema
from core.engine.run.permission import NOT_ALLOWED
from core.engine.run.required_calls import NUDGE_PREFIX
from core.engine.run.run_context import RunContext
from core.engine.run.task_reminder import missing_file, short_code_file, shortened
from core.engine.state.conversation import Conversation
from core.models.model import Request
from core.models.stop_reasons import REPEATED
from core.models.text_call_adapter import FINAL_STATE
from core.models.work_phrases import (
    asks_for_question,
    asks_for_work,
    asks_how,
    check_command,
    claims_work,
    promises_work,
)
from core.models.written_call_reader import find_written_calls, task_of
from core.timeline.context_item import RESULTS_PREFIX
from core.tools.argument_check import argument_fault
from core.tools.catalogue import ASK, tool_named
from core.tools.edit import ALSO_IN, EDIT
from core.tools.read import READ
from core.tools.run import RUN
from core.tools.tool import NOTHING_CHANGED, READ_ONLY_ACCESS

NO_CALL_REMINDER = "[You called nothing, so nothing happened. Call a tool, or call final when you are done.]"
HOOK_PREFIX, MAX_HOOK_OBJECTIONS = (
    "[A user hook says: ",
    5,
)  # how often hooks may object to the end of a run, so that a faulty hook cannot keep it going forever
PROMISE_NUDGE = f"{NUDGE_PREFIX}, so nothing happened. {{}} If the task is done, say what you did.]"
IDLE_NUDGE = f"{NUDGE_PREFIX}, and no change has been made for this task. {{}} If no change is needed, say why.]"
REPEATED_NUDGE = (
    "[Your reply repeated one passage without end and was stopped. Do not write it again. Make the next tool call, "
    "or say in a few sentences what you did.]"
)
EMPTY_NUDGE = (
    f"{NUDGE_PREFIX} and is empty, and your last call changed nothing. The task is: {{0}} Call edit or write.]"
)
LEFT_NUDGE = f"{NUDGE_PREFIX}, but {{0}}. The task is: {{1}} Call edit for that file.]"
CHECK_NUDGE = f"{NUDGE_PREFIX}, and `{{0}}` has not been run since the last change. Call run with this command.]"
FAILED_CHECK_NUDGE = f"{NUDGE_PREFIX}, but `{{0}}` still fails. {{1}}]"
CODE_TEXT = "Give the whole new text of {} in one code block."
WHOLE_NUDGE = f"{NUDGE_PREFIX}, and no change has been made for this task. {CODE_TEXT}]"
PART_NUDGE = f"{NUDGE_PREFIX}, and its code is not a whole file. {CODE_TEXT}]"
REWRITE, CORRECT = "Call write with the whole corrected text of the file.", "Call edit or write to correct the file."
SHORT_BYTES = 1_500  # of a file that a small model rewrites more reliably than it edits it
CODE_NUDGE = f"{NUDGE_PREFIX}: code in a reply changes no file. Call write with the whole new text of the file.]"
QUESTION_NUDGE = (
    f"{NUDGE_PREFIX}, and you have not asked the user. The task tells you to. Call ask_user with the question.]"
)
COMMAND_NUDGE = f"{NUDGE_PREFIX}: a command in a reply is not run. Call run with it.]"
MISSING_NUDGE = f"{NUDGE_PREFIX}, and {{0}} does not exist. The task asks for it. Create it now: call write or run.]"
NEXT_CALL = "Only tool calls have an effect. Your next reply must call one of these tools: {}."
WRITTEN_REASON = "it wrote them into its replies and then stopped calling tools"
_COMMAND_BLOCK = re.compile(r"^```(?:sh|bash|shell)\n(?:.*\n)+?```", re.MULTILINE)
_CODE_BLOCK = re.compile(r"^```(?!sh\b|bash\b|shell\b|console\b|text\b|diff\b)\w+\n(?:.*\n){2,}?```", re.MULTILINE)
MAX_NUDGES, MAX_CHECKS = 4, 2  # of a small model for each task; MAX_CHECKS is for the same message about a check
NO_CALL_REASON = "the model neither called a tool nor declared that it was done"


async def check_completion(run: RunContext) -> RunEnded | None:
    """Check whether the run may end after a reply without calls.

    Queue a message for the model if the run has to continue, because a model with text-based tool calls did not declare
    that it was done, the reply does not match the output schema, a hook objects, or an acceptance check fails. Return
    an event if the run has to end as failed, otherwise None.
    """
    conversation = run.conversation
    if conversation.stop_reason == REPEATED and not conversation.has_new_input:
        return await _after_repetition(run)
    if run.uses_text_calls(conversation.last_request[0]):
        last = next((message for message in reversed(conversation.messages) if message.role == "assistant"), None)
        reminded = any(
            message.role == "user" and message.text.head == NO_CALL_REMINDER for message in conversation.messages
        )
        if last and last.provider_state.head != FINAL_STATE and not reminded:
            await run.record(HarnessMessage(Text(NO_CALL_REMINDER), NO_CALL_REASON))
            return None
    elif nudge := await _due_nudge(run):
        await run.record(HarnessMessage(*nudge), *_text_calls_from_now_on(run))
        return None
    if ended := await check_output_schema(run):
        return ended
    since = max(conversation.task, default=0)
    refusals = sum(
        message.text.head.startswith(HOOK_PREFIX) for message in conversation.messages if message.seq > since
    )
    if (
        not conversation.has_new_input
        and refusals < MAX_HOOK_OBJECTIONS
        and (why := (await run.run_hooks("before_end", said=run.last_reply_text())).refusal)
    ):
        await run.record(HarnessMessage(Text(f"{HOOK_PREFIX}{why}]"), f"your hook says: {why}"))
    return None if conversation.has_new_input else await check_acceptance(run)


async def _after_repetition(run: RunContext) -> RunEnded | None:
    """Tell the model once for each task that its reply was stopped; the second time, end the run as failed."""
    since = max(run.conversation.task, default=0)
    if any(message.seq > since and message.text.head == REPEATED_NUDGE for message in run.conversation.messages):
        fix = "Try another model, or a larger one."
        details = ErrorDetails("The model repeats the same passage without end.", "Its replies were stopped.", fix)
        return RunEnded("failed", details.message, details, Text(run.last_reply_text()))
    await run.record(HarnessMessage(Text(REPEATED_NUDGE), "the reply repeated one passage without end"))
    return None


def _text_calls_from_now_on(run: RunContext) -> tuple[TextCallsEnabled, ...]:
    """Return the switch to text-based tool calls if the model has written calls into its replies and then gave up.

    Such models keep to a format that the system prompt describes better than to the one of their provider. With a
    compact prompt they do not need it: their provider is slow, and would have to read the whole prompt again.
    """
    model = run.conversation.last_request[0]
    if run.has_compact_prompt:
        return ()
    return (TextCallsEnabled(model, WRITTEN_REASON),) if run.conversation.written_replies.get(model) else ()


async def _due_nudge(run: RunContext) -> tuple[Text, str] | None:
    """Return the message to a model that ends its work without having begun it, and the reason for the user.

    There is one for each task: for a call as text that is not valid, for announced work, and for a task that asks for
    work of which nothing was done. A small model may get several, also for a question that it has not asked, for code
    that it shows instead of writing it, for a file that does not exist, and for a check that it has not run.
    """
    conversation, request = run.conversation, run.request()
    since = max(conversation.task, default=0)
    nudges = [
        message.text.head
        for message in conversation.messages
        if message.seq > since and message.text.head.startswith(NUDGE_PREFIX)
    ]
    is_small = run.has_compact_prompt
    if (
        len(nudges) >= (MAX_NUDGES if is_small else 1)
        or is_external_agent(run.model_name)  # it has other tools
        or conversation.has_new_input
        or not request.tools
        or (conversation.start and conversation.start.reviewed_session)
        or _is_denied(conversation)
    ):
        return None
    found = _missing_work(run, request, since) if is_small else []
    check = _check_of_changes(run, check_command(task_of(request)), since) if is_small else None
    found += [check] if check and nudges.count(check[0]) < MAX_CHECKS else _idle_nudges(run, request, since)
    due = next(((text, reason) for text, reason in found if text not in nudges or (text, reason) == check), None)
    return (Text(due[0]), due[1]) if due else None


def _is_denied(conversation: Conversation) -> bool:
    """Return whether the user has denied the last call: the model must not be pushed to do something else instead."""
    last = next((message for message in reversed(conversation.messages) if message.role == "tool"), None)
    return last is not None and last.text.head.startswith(NOT_ALLOWED)


def _idle_nudges(run: RunContext, request: Request, since: int) -> list[tuple[str, str]]:
    reply, call = run.last_reply_text(), NEXT_CALL.format(", ".join(tool.name for tool in request.tools))
    if error := find_written_calls(reply, request, argument_fault).fault:
        text = f"{NUDGE_PREFIX}: the call in your reply is not valid. {error}]"
        return [(text, f"the call as text is not valid: {error}")]
    if promises_work(reply):
        return [(PROMISE_NUDGE.format(call), "the model announced work but called no tool")]
    task, files = task_of(request), run.tool_context.broker
    code = short_code_file(task, files) if run.has_compact_prompt else ""
    if code and not _has_acted(run.conversation, since):
        reason = "the model ended without a change, and the task asks for one"
        return [(WHOLE_NUDGE.format(code), reason), (IDLE_NUDGE.format(call), reason)]
    if (asks_for_work(task) or missing_file(task, files)) and not _has_acted(run.conversation, since):
        return [(IDLE_NUDGE.format(call), "the model ended without a change or a command, and the task asks for one")]
    if run.has_compact_prompt and claims_work(task, reply) and not _has_ever_acted(run.conversation):
        return [(IDLE_NUDGE.format(call), "the model reports work as done, and nothing has been changed or run")]
    return []


def _missing_work(run: RunContext, request: Request, since: int) -> list[tuple[str, str]]:
    """Return what to tell a small model about missing parts of its work, each with the reason for the user."""
    task, found = task_of(request), []
    can_ask = any(tool.name == ASK for tool in request.tools)
    if can_ask and asks_for_question(task) and not _has_asked(run.conversation, since):
        found.append((QUESTION_NUDGE, "the task asks for a question to you, and there was none"))
    code = short_code_file(task, run.tool_context.broker)
    if _CODE_BLOCK.search(run.last_reply_text()) and code:
        found.append((PART_NUDGE.format(code), "the code in the reply is not the whole text of a file"))
    elif _CODE_BLOCK.search(run.last_reply_text()) and asks_for_work(task):
        found.append((CODE_NUDGE, "the model showed code in its reply instead of writing it into a file"))
    if _COMMAND_BLOCK.search(run.last_reply_text()) and not (asks_how(task) or _has_acted(run.conversation, since)):
        found.append((COMMAND_NUDGE, "the model showed a command in its reply instead of running it"))
    if missing := missing_file(task, run.tool_context.broker):
        found.append((MISSING_NUDGE.format(missing), f"the task asks for {missing}, which does not exist"))
    if left := _left_over(run.conversation, task, since):
        found.append((LEFT_NUDGE.format(left, shortened(task)), left))
    if asks_for_work(task) and not run.last_reply_text().strip() and _has_just_looked(run.conversation):
        text = EMPTY_NUDGE.format(shortened(task))
        found.append((text, "the reply is empty after a call that changed nothing"))
    return found


def _left_over(conversation: Conversation, task: str, since: int) -> str:
    """Return what the last `edit` said about other files with the identifier that it replaced, if the task names it."""
    edits = [message.text.head for message in conversation.messages if message.seq > since and _is_edit(message)]
    match = ALSO_IN.search(edits[-1]) if edits else None
    return match[0].strip(" .") if match and re.search(rf"(?<!\w){re.escape(match[1])}(?!\w)", task) else ""


def _is_edit(message: Message) -> bool:
    return message.role == "tool" and message.category == f"{RESULTS_PREFIX}{EDIT.name}"


def _has_just_looked(conversation: Conversation) -> bool:
    """Return whether the last call read a file, failed, or found its work done."""
    calls = [call for message in conversation.messages for call in message.calls]
    result = next((message for message in reversed(conversation.messages) if message.role == "tool"), None)
    is_reading = bool(calls) and calls[-1].tool == READ.name
    return is_reading or (result is not None and not _changed(result))


def _check_of_changes(run: RunContext, command: str, since: int) -> tuple[str, str] | None:
    """Return what to tell a small model about the command that the task names as its check, or None.

    The command has to be run after the last change of a file, and has to succeed.
    """
    if not command:
        return None
    written = json.dumps(command, ensure_ascii=False)[1:-1]
    messages = run.conversation.messages
    calls = {call.id: call for message in messages for call in message.calls}
    checked, tried, failed = False, "", False
    for message in messages:
        call = calls.get(message.call_id)
        if message.role != "tool" or message.seq <= since or call is None:
            continue
        if call.tool == RUN.name and written in call.arguments.head:
            checked, failed = True, message.failed
        elif (tool := tool_named(call.tool)) and tool.access == "write":
            checked, failed = checked and not _changed(message), failed and not _changed(message)
            tried = call.arguments.head
    if failed:
        code = short_code_file(task_of(run.request()), run.tool_context.broker)
        how = CODE_TEXT.format(code) if code else REWRITE if _is_short(run, tried) else CORRECT
        return FAILED_CHECK_NUDGE.format(command, how), f"{command} fails, and the model has changed nothing since"
    if tried and not checked:
        return CHECK_NUDGE.format(command), f"{command} has not been run since the last change"
    return None


def _is_short(run: RunContext, arguments: str) -> bool:
    """Return whether the file that a call has changed is short."""
    with suppress(ValueError, TypeError, KeyError, Problem):
        status = run.tool_context.broker.stat(json.loads(arguments)["path"])
        return status is not None and status.st_size <= SHORT_BYTES
    return False


def _has_asked(conversation: Conversation, since: int) -> bool:
    return any(call.tool == ASK for message in conversation.messages if message.seq > since for call in message.calls)


def _has_acted(conversation: Conversation, since: int) -> bool:
    """Return whether a call since this event changed something. A command did, even if it failed."""
    tools = {call.id: tool_named(call.tool) for message in conversation.messages for call in message.calls}
    for message in conversation.messages:
        if message.role == "tool" and message.seq > since:
            access = tool.access if (tool := tools.get(message.call_id)) else ""
            if access == "execute" or (access not in READ_ONLY_ACCESS and _changed(message)):
                return True
    return False


def _has_ever_acted(conversation: Conversation) -> bool:
    """Return whether the session has changed or run something, or may have, because its context was compacted."""
    compacted = conversation.compactions or conversation.compacted_calls
    return bool(compacted or conversation.permissions.changed_files) or _has_acted(conversation, 0)


def _changed(message: Message) -> bool:
    return not message.failed and not message.text.head.endswith(NOTHING_CHANGED)
