"""The in-memory state that the writing thread keeps for each session it appends to."""

from dataclasses import dataclass, field

from core.domain.events import EventRecord, RunStarted, SessionEvent, UserMessage
from core.domain.sessions import SessionRow
from core.domain.steps import Outline, Step


@dataclass(slots=True)
class WriteState:
    """The state of a session that is being written to.

    Attributes:
        number: the row number of the session.
        row: the session row after the last event.
        run: the number of the current run.
        at: the time of the last event, in microseconds.
        untrusted: the untrusted sources that the session has read; None until they are needed.
        unwritten: whether events were appended whose derived rows are not written yet.
        steps: the unwritten timeline rows, by position.
        unindexed: the keys and events that are not in the full-text index yet.
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
        """Return the event with the next sequence number, its run and its time; the state of the session advances."""
        if isinstance(event, RunStarted):
            self.run += 1
        # A user message that starts a run belongs to it, although it precedes RunStarted.
        opening = isinstance(event, UserMessage) and "run" not in self.outline.open
        self.at = max(at, self.at)  # The clock may be set back; event times must not decrease.
        return EventRecord(self.row.id, self.row.last_seq + 1, self.run + opening, self.at, event)
