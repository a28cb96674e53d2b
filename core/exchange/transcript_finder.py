"""Finds transcripts of other agents in their default locations on this computer."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.exchange.importers.registry import IMPORTERS

MAX_PER_AGENT = 500  # the newest are returned


class TranscriptFile(NamedTuple):
    """A transcript of another agent. `size` is in bytes, `modified_at` is the modification time in seconds."""

    agent: str
    path: Path
    size: int
    modified_at: float


def find_transcripts(home: Path) -> list[TranscriptFile]:
    """Return the transcripts below a home folder, newest first. No file is opened."""
    transcripts: list[TranscriptFile] = []
    for importer in IMPORTERS:
        files = [file for pattern in importer.default_locations for file in _matching(home, pattern, importer.agent)]
        transcripts += sorted(files, key=lambda file: -file.modified_at)[:MAX_PER_AGENT]
    return sorted(transcripts, key=lambda file: -file.modified_at)


def _matching(home: Path, pattern: str, agent: str) -> Iterator[TranscriptFile]:
    try:
        for path in home.glob(pattern):
            status = path.stat()
            if status.st_size:
                yield TranscriptFile(agent, path, status.st_size, status.st_mtime)
    except OSError:
        return  # skip a folder that cannot be read
