"""The events that describe imported transcripts of other programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class UnrecognizedRecordsKept:
    """Records of an imported transcript that have no equivalent here were kept as they are.

    `raw` holds them, one a line, and `count` is their number. `record_type` is their type in the source format.
    """

    record_type: str
    raw: Text = Text()
    count: int = 1


@dataclass(frozen=True, slots=True)
class TranscriptImported:
    """The first `records` records of a transcript were imported.

    `location` is its file or database. `unrecognized` counts the records kept as they are, by type. `digest` is a hash
    of the records read, which distinguishes a transcript that grew from one that was modified. `partial` marks a
    checkpoint within an import.
    """

    location: str
    records: int
    unrecognized: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    partial: bool = False


def transcript_imported_text(event: TranscriptImported) -> str:
    """Return the timeline text for an imported transcript."""
    unrecognized = ", ".join(
        f"{record_type} {count:,}"
        for record_type, count in sorted(event.unrecognized.items(), key=lambda item: -item[1])
    )
    text = f"{event.records:,} records from {event.location}"
    return f"{text}; not recognized and kept unchanged: {unrecognized}" if unrecognized else text


def source_program(source: str) -> str:
    """Return the program that wrote an imported session: `Claude Code:7f…` → `Claude Code`."""
    return source.partition(":")[0]
