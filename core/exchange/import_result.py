"""The result of an import, and the callbacks that report on it while it runs."""

from collections.abc import Callable
from dataclasses import dataclass

ImportProgressCallback = Callable[[int, int], None]  # called with the bytes read and the total bytes
SessionCallback = Callable[[str], None]  # called with the ID of a session that can already be shown


@dataclass(frozen=True, slots=True)
class SessionImportResult:
    """The result of an import.

    Attributes:
        session: the session to show first.
        sessions: all sessions in the file.
        agent: the program that wrote the file.
        added_events: the number of new events; 0 means that everything was imported before.
    """

    session: str
    sessions: tuple[str, ...]
    agent: str
    added_events: int
