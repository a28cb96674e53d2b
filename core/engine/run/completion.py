"""The checks that a reply without tool calls must pass before it ends the run."""

from core.domain.events import HarnessMessage, RunEnded
from core.domain.text import Text
from core.engine.run.delegate import check_output_schema
from core.engine.run.run_context import RunContext
from core.models.text_call_adapter import FINAL_STATE

NO_CALL_REMINDER = "[You called nothing, so nothing happened. Call a tool, or call final when you are done.]"
HOOK_PREFIX, MAX_HOOK_OBJECTIONS = (
    "[A user hook says: ",
    5,
)  # how often hooks may object to the end of a run, so that a faulty hook cannot keep it going forever
NO_CALL_REASON = "the model neither called a tool nor declared that it was done"


async def check_completion(run: RunContext) -> RunEnded | None:
    """Check whether the run may end after a reply without calls.

    Queue a message for the model if the run has to continue, because a model with text-based tool calls did not declare
    that it was done, the reply does not match the output schema, or a hook objects. Return an event if the run has to
    end as failed, otherwise None.
    """
    talk = run.conversation
    if run.uses_text_calls(talk.last_request[0]):
        last = next((message for message in reversed(talk.messages) if message.role == "assistant"), None)
        reminded = any(message.role == "user" and message.text.head == NO_CALL_REMINDER for message in talk.messages)
        if last and last.provider_state.head != FINAL_STATE and not reminded:
            await run.record(HarnessMessage(Text(NO_CALL_REMINDER), NO_CALL_REASON))
            return None
    if ended := await check_output_schema(run):
        return ended
    since = max(talk.task, default=0)
    refusals = sum(message.text.head.startswith(HOOK_PREFIX) for message in talk.messages if message.seq > since)
    if (
        not talk.queued
        and refusals < MAX_HOOK_OBJECTIONS
        and (why := await run.run_hooks("before_end", said=run.last_reply_text()))
    ):
        await run.record(HarnessMessage(Text(f"{HOOK_PREFIX}{why}]"), f"your hook says: {why}"))
    return None
