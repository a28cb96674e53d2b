"""Merges the file-related events of sub-agents into the events of the session that started them."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from core.domain.events import CallStarted, EventRecord, FileChanged, SubagentStarted, ToolReturned
from core.domain.rewind_events import FilesRewound

ReadEvents = Callable[[str], AsyncIterator[EventRecord]]
ACTION_EVENTS = (CallStarted, FileChanged, FilesRewound, ToolReturned)


def _position(entry: EventRecord, *, from_child: bool) -> tuple[int, bool, int]:
    """Return the sort key that places an event of a sub-agent before the parent event with the same number."""
    return entry.seq, not from_child, entry.at


async def merge_child_events(entries: list[EventRecord], read: ReadEvents) -> list[EventRecord]:
    """Return the events of a session with the file-related events of its sub-agents merged in.

    Each merged event gets the sequence number of the parent event that it is placed before.
    """
    times = [entry.at for entry in entries]
    merged = [(_position(entry, from_child=False), entry) for entry in entries]
    for entry in entries:
        if not isinstance(entry.event, SubagentStarted):
            continue
        for child_entry in await _action_entries(entry.event.child_session, read):
            # If the clock was set back, the times of two sessions can disagree. An event of a sub-agent is
            # nevertheless placed after the call that started the sub-agent.
            seq = max(bisect_left(times, child_entry.at), entry.seq) + 1
            placed = replace(child_entry, seq=seq)
            merged.append((_position(placed, from_child=True), placed))
    return [entry for _, entry in sorted(merged, key=lambda pair: pair[0])]


async def _action_entries(session: str, read: ReadEvents) -> list[EventRecord]:
    own = [entry async for entry in read(session)]
    return [entry for entry in await merge_child_events(own, read) if isinstance(entry.event, ACTION_EVENTS)]
