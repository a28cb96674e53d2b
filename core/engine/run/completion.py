"""The checks that a reply without tool calls must pass before it ends the run."""

from core.domain.events import HarnessMessage, RunEnded, TextCallsEnabled
from core.domain.problems import ErrorDetails
from core.domain.text import Text
from core.engine.run.acceptance import check_acceptance
from core.engine.run.delegate import check_output_schema
from core.engine.run.nudges import due_nudge
from core.engine.run.run_context import RunContext
from core.engine.run.task_reminder import task_check
from core.engine.run.work_done import check_state, has_acted, is_denied
from core.models.stop_reasons import REPEATED
from core.models.text_call_adapter import FINAL_STATE
from core.models.work_phrases import check_command
from core.models.written_call_reader import task_of

NO_CALL_REMINDER = "[You called nothing, so nothing happened. Call a tool, or call final when you are done.]"
HOOK_PREFIX = "[A user hook says: "
MAX_HOOK_OBJECTIONS = 5  # how often hooks may keep a run from ending, so that a faulty hook cannot do so forever
REPEATED_NUDGE = (
    "[Your reply repeated one passage without end and was stopped. Do not write it again. Make the next tool call, "
    "or say in a few sentences what you did.]"
)
WRITTEN_REASON = "it wrote them into its replies and then stopped calling tools"
NO_CALL_REASON = "the model neither called a tool nor declared that it was done"


async def check_completion(run: RunContext) -> RunEnded | None:
    """Check whether the run may end after a reply without tool calls.

    If it has to continue, queue a message for the model, for example because the reply does not match the output
    schema, a hook objects, or an acceptance check fails. Return a failed RunEnded if the run must not continue either.
    None therefore means: the run has completed unless a message is queued.
    """
    conversation = run.conversation
    if conversation.stop_reason == REPEATED and not conversation.has_new_input:
        return await _after_repetition(run)
    if _ended_without_final(run):
        await run.record(HarnessMessage(Text(NO_CALL_REMINDER), NO_CALL_REASON))
        return None
    if nudge := due_nudge(run):
        await run.record(HarnessMessage(Text(nudge.text), nudge.reason, nudge.expected), *_text_calls_from_now_on(run))
        return None
    if ended := await check_output_schema(run):
        return ended
    if not conversation.has_new_input:
        await _run_end_hooks(run)
    if conversation.has_new_input:
        return None
    return await check_acceptance(run) or _end_with_failed_check(run)


def _end_with_failed_check(run: RunContext) -> RunEnded | None:
    """Return a failed RunEnded if the user's message names a check command that did not succeed, otherwise None.

    A run that changed nothing and ran no command fails too, because its check cannot have begun to succeed.
    """
    task = task_of(run.request())
    is_small = run.has_compact_prompt
    command = task_check(run.conversation, task, run.tool_context.broker) if is_small else check_command(task)
    if not command or run.conversation.has_new_input:
        return None
    since = run.conversation.task_seq
    if check_state(run.conversation, command, since).failed:
        reason = f"the task names a command that still fails: {command}"
    elif not has_acted(run.conversation, since) and not is_denied(run.conversation):
        reason = f"nothing was done, and the task names a command that has to succeed: {command}"
    else:
        return None
    return RunEnded("failed", reason, summary=Text(run.last_reply_text()))


def _ended_without_final(run: RunContext) -> bool:
    """Return whether a model with text-based tool calls ended without calling `final` and was not reminded yet.

    False for models with the compact prompt: asked to call a tool, a small model withdraws a good answer. It gets the
    more specific nudges instead.
    """
    if run.has_compact_prompt or not run.uses_text_calls(run.conversation.last_request.model):
        return False
    messages = run.conversation.messages
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    since = run.conversation.task_seq
    reminded = any(message.seq > since and message.text.head == NO_CALL_REMINDER for message in messages)
    return last is not None and last.provider_state.head != FINAL_STATE and not reminded


async def _run_end_hooks(run: RunContext) -> None:
    """Run the user's hooks, and queue a message for the model if one objects to the end."""
    since = run.conversation.task_seq
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
    """Handle a reply that was stopped because it repeated itself: tell the model.

    When it happens again after the same user message, return a failed RunEnded instead.
    """
    since = run.conversation.task_seq
    if any(message.seq > since and message.text.head == REPEATED_NUDGE for message in run.conversation.messages):
        fix = "Try another model, or a larger one."
        details = ErrorDetails("The model repeats the same passage without end.", "Its replies were stopped.", fix)
        return RunEnded("failed", details.message, details, Text(run.last_reply_text()))
    await run.record(HarnessMessage(Text(REPEATED_NUDGE), "the reply repeated one passage without end"))
    return None


def _text_calls_from_now_on(run: RunContext) -> tuple[TextCallsEnabled, ...]:
    """Return the event that enables text-based tool calls if the model wrote tool calls into its reply text.

    Such models follow a call format from the system prompt better than the format of their provider. With the compact
    prompt nothing is enabled, because a slow local provider would have to process the whole changed prompt again.
    """
    model = run.conversation.last_request.model
    if run.has_compact_prompt or run.uses_text_calls(model):
        return ()
    return (TextCallsEnabled(model, WRITTEN_REASON),) if run.conversation.written_replies.get(model) else ()
