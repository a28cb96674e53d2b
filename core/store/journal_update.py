"""Reports of changes in the store.

They have a module of their own, so that the window need not load the code that writes.
"""

from dataclasses import dataclass

from core.domain.events import EventRecord
from core.domain.sessions import SessionRow
from core.domain.steps import Step


@dataclass(frozen=True, slots=True)
class SessionsPurged:
    """Reports that sessions were permanently deleted, by their IDs."""

    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoriesChanged:
    """Reports that memories were saved, changed or used."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """Reports that a command of another process has ended. It may have changed anything, for example the providers."""


@dataclass(frozen=True, slots=True)
class JournalUpdate:
    """A committed event, the steps that it changed, and the row of its session after it."""

    entry: EventRecord
    steps: list[Step]
    session: SessionRow
