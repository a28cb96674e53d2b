"""The in-memory state that the writing thread keeps for each session it appends to."""

from dataclasses import dataclass, field

from core.domain.events import EventRecord, RunStarted, SessionEvent, UserMessage
from core.domain.sessions import SessionRow
from core.domain.steps import Outline, Step


@dataclass(slots=True)
class WriteState:
    """The state of a session to which events are appended.

    Attributes:
        number: The number under which the session is stored.
        row: The session row after the last event.
        run: The number of the current run.
        at: The time of the last event, in microseconds.
        untrusted: The untrusted sources that the session has read, as keys; None until they are needed.
        unwritten: Whether there are events whose derived rows are not written yet.
        steps: The timeline rows that are not written yet, by position.
        unindexed: The keys and events that are not in the full-text index yet.
    """

    number: int
    row: SessionRow
    outline: Outline
    run: int = 0
    at: int = 0
    untrusted: dict[str, None] | None = None
    unwritten: bool = False
    steps: dict[int, Step] = field(default_factory=dict)
    unindexed: list[tuple[int, SessionEvent]] = field(default_factory=list)

    def next_entry(self, event: SessionEvent, at: int) -> EventRecord:
        """Return the record of the next event, with its sequence number, run and time, and advance the state by it."""
        if isinstance(event, RunStarted):
            self.run += 1
        # A user message that starts a run belongs to the run, although RunStarted comes after the message.
        opens_run = isinstance(event, UserMessage) and "run" not in self.outline.open
        self.at = max(at, self.at)  # the clock may be set back, but the times of events must not decrease
        return EventRecord(self.row.id, self.row.last_seq + 1, self.run + 1 if opens_run else self.run, self.at, event)
