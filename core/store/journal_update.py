"""Reports of changes in the store. The window imports this module without loading the code that writes."""

from dataclasses import dataclass

from core.domain.events import EventRecord
from core.domain.sessions import SessionRow
from core.domain.steps import Step


@dataclass(frozen=True, slots=True)
class SessionsPurged:
    """The ids of sessions that were permanently deleted."""

    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoriesChanged:
    """Memories were saved, changed or used."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command of another process, such as `journeyman models use`, has ended, and may have changed anything."""


@dataclass(frozen=True, slots=True)
class JournalUpdate:
    """A committed event, the steps it changed, and the session row after it."""

    entry: EventRecord
    steps: list[Step]
    session: SessionRow
