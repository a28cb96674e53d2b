"""What listeners hear, apart from the journal, so that the window can know it without loading what writes."""

from dataclasses import dataclass

from core.domain.events import Entry
from core.domain.sessions import SessionRow
from core.domain.steps import Step


@dataclass(frozen=True, slots=True)
class Gone:
    """Sessions that were forgotten for good."""

    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A fact that is durable, with the rows it changed and the session's line after it."""

    entry: Entry
    steps: list[Step]
    session: SessionRow
