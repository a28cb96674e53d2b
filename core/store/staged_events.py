"""Events that wait a moment, so that they can be committed together with the next events of their session."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from core.domain.events import EventRecord, RunEnded, SessionEvent
from core.store.codec import encode_event

HOLD_S = 0.02  # seconds after which staged events are committed without waiting any longer

TimedEvents = tuple[tuple[int, SessionEvent], ...]


@dataclass(slots=True)
class _SessionQueue:
    """The staged events of one session.

    `last` is the last committed event. It is None while appends are in flight and after one has failed.
    """

    in_flight: int = 0
    last: EventRecord | None = None
    events: list[tuple[int, SessionEvent]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class StagedEvents:
    """The staged events of all sessions. Used on the event loop of the journal only.

    `commit` is called with the ID of a session whose events have waited for HOLD_S.
    """

    def __init__(self, commit: Callable[[str], object]) -> None:
        self._commit = commit
        self._sessions: dict[str, _SessionQueue] = {}

    def stage(self, session: str, at: int, events: tuple[SessionEvent, ...]) -> list[EventRecord]:
        """Stage events. Return the records with which they will be committed.

        Stage nothing and return an empty list if the records cannot be known, because an append is in flight, or if an
        event has a long text. Such a text is read from its blob, which is stored only with the commit.
        """
        queue = self._sessions.get(session)
        if queue is None or queue.last is None or queue.in_flight:
            return []
        encoded = [encode_event(event) for event in events]
        if any(item.blobs for item in encoded):
            return []
        last = queue.last
        first_seq = last.seq + len(queue.events) + 1
        last_at = queue.events[-1][0] if queue.events else last.at
        at = max(at, last_at)
        queue.events += [(at, event) for event in events]
        if queue.timer is None:
            queue.timer = asyncio.get_running_loop().call_later(HOLD_S, self._commit, session)
        return [
            EventRecord(session, seq, last.run, at, item.stored_event) for seq, item in enumerate(encoded, first_seq)
        ]

    def take(self, session: str) -> TimedEvents:
        """Remove and return the staged events of a session, in order, because the caller appends them."""
        queue = self._sessions.get(session)
        if queue is None or not queue.events:
            return ()
        if queue.timer:
            queue.timer.cancel()
        events = tuple(queue.events)
        queue.events = []
        queue.timer = None
        return events

    def on_submit(self, session: str) -> None:
        """Note that an append to a session has begun."""
        self._sessions.setdefault(session, _SessionQueue()).in_flight += 1

    def on_done(self, session: str, last: EventRecord | None) -> None:
        """Note that an append was committed, with `last` as its last event, or that it failed, with None."""
        queue = self._sessions[session]
        queue.in_flight -= 1
        queue.last = last
        if not queue.in_flight and (last is None or isinstance(last.event, RunEnded)):
            del self._sessions[session]
