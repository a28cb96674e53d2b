"""What a session did to its folder together with the sub-agents it began, in the order in which it happened."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from core.domain.events import CallStarted, Delegated, Entry, FileChanged, ToolReturned
from core.domain.rewinding import FilesRewound

Read = Callable[[str], AsyncIterator[Entry]]
ACTS = (CallStarted, FileChanged, FilesRewound, ToolReturned)


async def with_children(entries: list[Entry], read: Read) -> list[Entry]:
    """The entries of a session, and between them the acts of its sub-agents, numbered by what they came before."""
    times = [entry.at for entry in entries]
    placed = [(entry.seq, 1, entry.at, entry) for entry in entries]
    for entry in entries:
        if not isinstance(entry.event, Delegated):
            continue
        for act in await _acts(entry.event.child, read):
            # Clocks of two journals can disagree by what one of them was set back; the order of cause and effect holds.
            place = max(bisect_left(times, act.at), entry.seq) + 1
            placed.append((place, 0, act.at, replace(act, seq=place)))
    return [entry for *_, entry in sorted(placed, key=lambda each: each[:3])]


async def _acts(session: str, read: Read) -> list[Entry]:
    own = [entry async for entry in read(session)]
    return [entry for entry in await with_children(own, read) if isinstance(entry.event, ACTS)]
