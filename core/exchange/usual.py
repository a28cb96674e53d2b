"""What other agents left on this computer: where their transcripts usually lie, how old and how large they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.exchange.importers.table import IMPORTERS

MOST = 500  # of one program; the newest are kept


class Lying(NamedTuple):
    """A transcript of another agent; `changed` is when, in seconds."""

    agent: str
    path: Path
    size: int
    changed: float


def lying(home: Path) -> list[Lying]:
    """The newest first. Nothing is opened."""
    found: list[Lying] = []
    for importer in IMPORTERS:
        of_one = [each for pattern in importer.usual for each in _matching(home, pattern, importer.agent)]
        found += sorted(of_one, key=lambda each: -each.changed)[:MOST]
    return sorted(found, key=lambda each: -each.changed)


def _matching(home: Path, pattern: str, agent: str) -> Iterator[Lying]:
    try:
        for path in home.glob(pattern):
            status = path.stat()
            if status.st_size:
                yield Lying(agent, path, status.st_size, status.st_mtime)
    except OSError:
        return  # a folder that may not be read has nothing to offer
