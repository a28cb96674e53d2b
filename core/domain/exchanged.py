"""What was read of a transcript that another program wrote, as facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class RecordKept:
    """Records of a transcript that Journeyman has no fact for, a line each; `form` is what they call themselves."""

    form: str
    raw: Text = Text()
    count: int = 1


@dataclass(frozen=True, slots=True)
class TranscriptRead:
    """The transcript at `place` was read up to here: so many records, of which `kept` are left as they were, by form.

    `digest` is that of the records, so that a file which grew is told from one that was changed. One with `more` was
    noted on the way: the reading went on.
    """

    place: str
    records: int
    kept: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    more: bool = False


def read_words(event: TranscriptRead) -> str:
    """The row of it."""
    kept = ", ".join(f"{form} {count:,}" for form, count in sorted(event.kept.items(), key=lambda each: -each[1]))
    words = f"{event.records:,} records of {event.place}"
    return f"{words}; not understood and kept as they were: {kept}" if kept else words


def agent_of(source: str) -> str:
    """Who wrote an imported session, from its `source`: `Claude Code:7f…` → `Claude Code`."""
    return source.partition(":")[0]
