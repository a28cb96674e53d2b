"""The switch to text-based tool calls for models whose provider does not support tool calls."""

from core.domain.events import TextCallsEnabled
from core.engine.run.run_context import RunContext
from core.models.model import ModelError

WRITTEN_REPLIES = 2  # after so many replies with text-based tool calls, a model is assumed to lack native calls
KNOWN_REASON = "the provider reports it, or a model test or an earlier run detected it"


async def enable_known_text_calls(run: RunContext, model: str) -> None:
    """Enable text-based tool calls before the first request if the model is known not to support tool calls."""
    if run.conversation.attempts and model in run.conversation.written_replies:
        return  # In the middle of a run, the provider would have to process the whole changed prompt again.
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
    """Remember for later runs if the model repeatedly made text-based tool calls and no native ones.

    With a compact prompt, such calls are read as they come, and the switch would cost more than it brings: the provider
    is slow and would have to read the whole prompt again.
    """
    model = run.conversation.last_request.model
    if not run.has_compact_prompt and run.conversation.written_replies.get(model, 0) == WRITTEN_REPLIES:
        run.record_tool_support(model, False)
