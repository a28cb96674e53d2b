"""The checks that a reply without tool calls must pass before it ends the run."""

import asyncio
import re
from contextlib import suppress

from core.domain.events import HarnessMessage, RunEnded, TextCallsEnabled
from core.domain.external_agents import is_external_agent
from core.domain.problems import ErrorDetails, Problem
from core.domain.text import Text
from core.engine.run.acceptance import check_acceptance
from core.engine.run.delegate import check_output_schema
from core.engine.run.run_context import NUDGE_PREFIX, RunContext
from core.engine.state.conversation import Conversation
from core.models.stop_reasons import REPEATED
from core.models.text_call_adapter import FINAL_STATE
from core.models.work_phrases import asks_for_work, promises_work, requested_files
from core.models.written_call_reader import find_written_calls, task_of
from core.tools.argument_check import argument_fault
from core.tools.catalogue import tool_named
from core.tools.tool import READ_ONLY_ACCESS

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
CODE_NUDGE = f"{NUDGE_PREFIX}: code in a reply changes no file. Call write with the whole new text of the file.]"
MISSING_NUDGE = f"{NUDGE_PREFIX}, and {{0}} does not exist. The task asks for it. Create it now: call write or run.]"
NEXT_CALL = "Only tool calls have an effect. Your next reply must call one of these tools: {}."
WRITTEN_REASON = "it wrote them into its replies and then stopped calling tools"
_CODE_BLOCK = re.compile(r"^```(?!sh\b|bash\b|shell\b|console\b|text\b|diff\b)\w+\n(?:.*\n){2,}?```", re.MULTILINE)
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
    work of which nothing was done. A small model may get one more, for code that it shows instead of writing it.
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
        (nudges and (not is_small or CODE_NUDGE in nudges))
        or is_external_agent(run.model_name)  # it has other tools
        or conversation.has_new_input
        or not request.tools
        or (conversation.start and conversation.start.reviewed_session)
    ):
        return None
    reply = run.last_reply_text()
    if is_small and _CODE_BLOCK.search(reply) and asks_for_work(task_of(request)):
        return Text(CODE_NUDGE), "the model showed code in its reply instead of writing it into a file"
    if is_small and not nudges and (missing := await asyncio.to_thread(_missing_file, run, task_of(request))):
        return Text(MISSING_NUDGE.format(missing)), f"the task asks for {missing}, which does not exist"
    if nudges:
        return None
    if error := find_written_calls(reply, request, argument_fault).fault:
        return Text(
            f"{NUDGE_PREFIX}: the call in your reply is not valid. {error}]"
        ), f"the call as text is not valid: {error}"
    call = NEXT_CALL.format(", ".join(tool.name for tool in request.tools))
    if promises_work(reply):
        return Text(PROMISE_NUDGE.format(call)), "the model announced work but called no tool"
    if asks_for_work(task_of(request)) and not _has_acted(conversation, since):
        return Text(IDLE_NUDGE.format(call)), "the model ended without a change or a command, and the task asks for one"
    return None


def _missing_file(run: RunContext, task: str) -> str:
    """Return the name of a file that the task asks for and that does not exist; "" if there is none."""
    for name in requested_files(task):
        with suppress(Problem):  # a path outside the folder
            if run.tool_context.broker.stat(name) is None:
                return name
    return ""


def _has_acted(conversation: Conversation, since: int) -> bool:
    """Return whether a call since this event does more than read and succeeded. A command acted even if it failed."""
    tools = {call.id: tool_named(call.tool) for message in conversation.messages for call in message.calls}
    for message in conversation.messages:
        if message.role == "tool" and message.seq > since:
            access = tool.access if (tool := tools.get(message.call_id)) else ""
            if access == "execute" or (not message.failed and access not in READ_ONLY_ACCESS):
                return True
    return False
