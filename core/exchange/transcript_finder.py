"""Finds transcripts of other agents in their default locations on this computer."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from core.domain.events import SessionCreated, SessionEvent
from core.domain.problems import Problem
from core.exchange.importers.registry import IMPORTERS
from core.exchange.importers.session_builder import SessionBuilder

MAX_PER_AGENT = 500  # transcripts returned per agent, the newest first
MAX_TITLE_RECORDS = 60


class TranscriptFile(NamedTuple):
    """A transcript of another agent. `size` is in bytes; `modified_at` is in seconds since 1970."""

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


def read_title(file: TranscriptFile) -> str:
    """Return the title that a transcript would be imported with; empty if its first records do not contain it."""
    importer = next(importer for importer in IMPORTERS if importer.agent == file.agent)
    builders: dict[str, SessionBuilder] = {}
    titles: list[str] = []

    def emit(_key: str, _at: int, event: SessionEvent, _contents: Mapping[str, bytes]) -> None:
        if isinstance(event, SessionCreated):
            titles.append(event.title)

    def open_session(key: str) -> SessionBuilder:
        return builders.setdefault(key, SessionBuilder(file.agent, key, emit, str))

    try:
        for record in islice(importer.read_records(file.path), MAX_TITLE_RECORDS):
            importer.convert(record, open_session(record.key), open_session)
            if titles:
                break
    except (OSError, ValueError, RecursionError, Problem):
        return ""  # without a title; an import of the file reports what is wrong with it
    return titles[0] if titles else ""


def _matching(home: Path, pattern: str, agent: str) -> Iterator[TranscriptFile]:
    try:
        for path in home.glob(pattern):
            status = path.stat()
            if status.st_size:
                yield TranscriptFile(agent, path, status.st_size, status.st_mtime)
    except OSError:
        return  # skip a folder that cannot be read
