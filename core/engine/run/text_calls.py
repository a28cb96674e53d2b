"""The switch to text-based tool calls for models whose provider does not support tool calls."""

from core.domain.events import TextCallsEnabled
from core.engine.run.run_context import RunContext
from core.models.model import ModelError

WRITTEN_REPLIES = 2  # replies with calls in their text after which a model counts as one that writes its calls
KNOWN_REASON = "the provider reports it, or a model test or an earlier run detected it"


async def enable_known_text_calls(run: RunContext, model: str) -> None:
    """Enable text-based tool calls before the first request if the model is known not to support tool calls."""
    if run.conversation.attempts and model in run.conversation.written_replies:
        return  # Switching in the middle of a run would make the provider process the whole prompt again.
    if run.supports_tool_calls(model) is False and not run.uses_text_calls(model):
        await run.record(TextCallsEnabled(model, KNOWN_REASON))


async def fall_back_to_text_calls(run: RunContext, model: str, fault: ModelError) -> bool:
    """Enable text-based tool calls after the provider rejected a request because of its tools.

    Return whether the request should be sent again.
    """
    if fault.kind != "no_tools" or run.uses_text_calls(model):
        return False
    await run.record(TextCallsEnabled(model, fault.details.message))
    return True


def remember_written_calls(run: RunContext) -> None:
    """Remember a model that repeatedly wrote its calls into the reply text and made none natively, for later runs."""
    model = run.conversation.last_request[0]
    if run.conversation.written_replies.get(model, 0) == WRITTEN_REPLIES:
        run.record_tool_support(model, False)
