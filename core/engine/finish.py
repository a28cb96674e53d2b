"""Is a reply without calls the end of the run? Where more was agreed than that, it is looked at once more."""

from core.domain.events import Nudged, RunEnded
from core.domain.text import Text
from core.engine.delegate import check_shape
from core.engine.work import Work
from core.models.spoken import ENDS

WENT_ON = "[You called nothing, so nothing happened. Call a tool, or call final when you are done.]"
HOOK, MOST = "[A hook of the person says: ", 5  # times a run may be sent on: a hook may be wrong
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
    if ended := await check_shape(run):
        return ended
    since = max(talk.task, default=0)
    said_no = sum(message.text.head.startswith(HOOK) for message in talk.messages if message.seq > since)
    if not talk.waiting and said_no < MOST and (why := await run.hooked("end", said=run.said())):
        await run.record(Nudged(Text(f"{HOOK}{why}]"), f"your hook says: {why}"))
    return None
