"""A model without tool calls writes them as text: known before it is asked, or from what its server answered."""

from core.domain.events import CallsWritten
from core.engine.work import Work
from core.models.model import Fault

KNOWN = "its server says so, or a test or an earlier run found it"


async def look_for_calls(run: Work, model: str) -> None:
    """Where it is known that the model takes none, it is not asked for them."""
    if run.takes_calls(model) is False and not run.writes_calls(model):
        await run.record(CallsWritten(model, KNOWN))


async def turn_to_words(run: Work, model: str, fault: Fault) -> bool:
    """After a request that was refused for its tools: whether another may be made, with calls as text."""
    if fault.kind != "no_tools" or run.writes_calls(model):
        return False
    await run.record(CallsWritten(model, fault.trouble.what))
    return True
