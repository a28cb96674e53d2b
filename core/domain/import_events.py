"""The events that describe imported transcripts of other programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class UnrecognizedRecordsKept:
    """Records of an imported transcript without an equivalent event were stored unchanged.

    `raw` contains `count` records, one per line, all of the type `record_type` of the source format.
    """

    record_type: str
    raw: Text = Text()
    count: int = 1


@dataclass(frozen=True, slots=True)
class TranscriptImported:
    """The first `records` records of a transcript have been imported.

    `location` is its file or database. `unrecognized` counts the records stored unchanged, by type. `digest` is a hash
    of the records read, to tell a transcript that grew from one that was modified. `partial` marks a checkpoint during
    an import.
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
    """Return the program that recorded an imported session: `Claude Code` for `Claude Code:7f…`."""
    return source.partition(":")[0]
