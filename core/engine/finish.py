"""Is a reply without calls the end of the run? Where more was agreed than that, it is looked at once more."""

from core.domain.events import Nudged, RunEnded, Text
from core.engine.delegate import check_shape
from core.engine.work import Work
from core.models.spoken import ENDS

WENT_ON = "[You called nothing, so nothing happened. Call a tool, or call final when you are done.]"
UNMARKED = "it neither called a tool nor said that it was done"


async def check_end(run: Work) -> RunEnded | None:
    """The end it comes to instead; none where it may go on or is done."""
    talk = run.talk
    if run.writes_calls(talk.sent[0]):
        last = next((message for message in reversed(talk.messages) if message.role == "assistant"), None)
        told = any(message.role == "user" and message.text.head == WENT_ON for message in talk.messages)
        if last and last.carry.head != ENDS and not told:
            await run.record(Nudged(Text(WENT_ON), UNMARKED))
            return None
    return await check_shape(run)
