"""The checks that a reply without tool calls must pass before it ends the run."""

from core.domain.events import HarnessMessage, RunEnded, TextCallsEnabled
from core.domain.problems import ErrorDetails
from core.domain.text import Text
from core.engine.run.acceptance import check_acceptance
from core.engine.run.delegate import check_output_schema
from core.engine.run.nudges import due_nudge
from core.engine.run.run_context import RunContext
from core.engine.run.work_done import check_state
from core.models.stop_reasons import REPEATED
from core.models.text_call_adapter import FINAL_STATE
from core.models.work_phrases import check_command
from core.models.written_call_reader import task_of

NO_CALL_REMINDER = "[You called nothing, so nothing happened. Call a tool, or call final when you are done.]"
HOOK_PREFIX = "[A user hook says: "
MAX_HOOK_OBJECTIONS = 5  # to the end of a run, so that a faulty hook cannot keep it going forever
REPEATED_NUDGE = (
    "[Your reply repeated one passage without end and was stopped. Do not write it again. Make the next tool call, "
    "or say in a few sentences what you did.]"
)
WRITTEN_REASON = "it wrote them into its replies and then stopped calling tools"
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
        if _ended_without_final(run):
            await run.record(HarnessMessage(Text(NO_CALL_REMINDER), NO_CALL_REASON))
            return None
    elif nudge := due_nudge(run):
        await run.record(HarnessMessage(Text(nudge.text), nudge.reason), *_text_calls_from_now_on(run))
        return None
    if ended := await check_output_schema(run):
        return ended
    if not conversation.has_new_input:
        await _run_end_hooks(run)
    if conversation.has_new_input:
        return None
    return await check_acceptance(run) or _end_with_failed_check(run)


def _end_with_failed_check(run: RunContext) -> RunEnded | None:
    """Return a failed end if the command that the task names as its check fails, whatever the model says."""
    command = check_command(task_of(run.request()))
    if not command or run.conversation.has_new_input:
        return None
    since = max(run.conversation.task, default=0)
    if not check_state(run.conversation, command, since).failed:
        return None
    return RunEnded(
        "failed", f"the task names a command that still fails: {command}", summary=Text(run.last_reply_text())
    )


def _ended_without_final(run: RunContext) -> bool:
    """Return whether a model with text-based tool calls has not called `final`, and got no reminder."""
    messages = run.conversation.messages
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    reminded = any(message.role == "user" and message.text.head == NO_CALL_REMINDER for message in messages)
    return last is not None and last.provider_state.head != FINAL_STATE and not reminded


async def _run_end_hooks(run: RunContext) -> None:
    """Run the user's hooks, and queue a message for the model if one objects to the end."""
    since = max(run.conversation.task, default=0)
    objections = [
        message
        for message in run.conversation.messages
        if message.seq > since and message.text.head.startswith(HOOK_PREFIX)
    ]
    if len(objections) >= MAX_HOOK_OBJECTIONS:
        return
    if why := (await run.run_hooks("before_end", said=run.last_reply_text())).refusal:
        await run.record(HarnessMessage(Text(f"{HOOK_PREFIX}{why}]"), f"your hook says: {why}"))


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
