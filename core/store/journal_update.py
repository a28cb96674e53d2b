"""The messages that listeners of the journal receive. The window imports them without loading the code that writes."""

from dataclasses import dataclass

from core.domain.events import EventRecord
from core.domain.sessions import SessionRow
from core.domain.steps import Step


@dataclass(frozen=True, slots=True)
class SessionsPurged:
    """The ids of sessions that were permanently deleted."""

    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JournalUpdate:
    """A committed event, the steps it changed, and the session row after it."""

    entry: EventRecord
    steps: list[Step]
    session: SessionRow
