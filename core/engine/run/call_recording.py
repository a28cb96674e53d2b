"""Records the start and the result of a call with as few commits as crash safety allows."""

import asyncio

from core.domain.events import EventRecord, SessionEvent, ToolReturned
from core.engine.run.run_context import RunContext

Commit = asyncio.Future[EventRecord]


async def record_start(run: RunContext, *events: SessionEvent, only_reads: bool) -> Commit | None:
    """Record the start of a call. Return the commit, or None if the events were only staged for the next commit.

    A call that only reads can be repeated after a crash, so its start need not be durable before it executes. For any
    other call, wait until the start is durable.
    """
    if only_reads and _stage(run, *events):
        return None
    commit = await run.journal.append_staged(run.session, *events)
    if not only_reads:
        await commit
    return commit


async def record_result(run: RunContext, start: Commit | None, *events: SessionEvent, blobs: dict[str, bytes]) -> None:
    """Record the result of a call. `start` is what `record_start` returned; its commit is awaited here.

    If the start was staged and the result has no files or blobs, stage the result as well instead of committing it.
    """
    if start is None:
        is_plain = not blobs and all(isinstance(event, ToolReturned) for event in events)
        if not is_plain or not _stage(run, *events):
            await run.record(*events, blobs=blobs)
        return
    write = await run.journal.append_staged(run.session, *events, blobs=blobs)
    try:
        await start
        await write
    finally:
        write.cancel()  # If the first write failed, nobody awaits the second, and its error would be reported.


def _stage(run: RunContext, *events: SessionEvent) -> bool:
    """Apply events to the conversation now, but leave their commit to the next write of the event log.

    Return False, and do nothing, if the events have to be committed at once.
    """
    if run.hooks:  # Hooks must receive only durable events.
        return False
    records = run.journal.stage(run.session, *events)
    for entry in records:
        run.conversation.apply(entry)
    return bool(records)
