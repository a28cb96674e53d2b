"""The open end of a session, as the writing thread knows it."""

from dataclasses import dataclass

from core.domain.events import Entry, PersonSpoke, RunEvent, RunStarted
from core.domain.sessions import SessionRow
from core.domain.steps import Outline


@dataclass(slots=True)
class Live:
    """A session that was written to: its number in the file, its line, the rows that may still change.

    `at` is when the last fact was.
    """

    number: int
    row: SessionRow
    outline: Outline
    run: int = 0
    at: int = 0

    def entry(self, event: RunEvent, at: int) -> Entry:
        """The next line of the journal."""
        if isinstance(event, RunStarted):
            self.run += 1
        # Words that begin a run belong to it, and stand before its header.
        opening = isinstance(event, PersonSpoke) and "run" not in self.outline.open
        self.at = max(at, self.at)  # clocks go backwards, journals do not
        return Entry(self.row.id, self.row.seq + 1, self.run + opening, self.at, event)
