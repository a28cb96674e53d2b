"""A small file beside the data that remembers what there was, and whether the last end was a clean one."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from core.store.files import in_place_of


@dataclass(frozen=True, slots=True)
class Marker:
    """`closed` is false while the data is open. `size` and `changed` are those of the file when it was closed."""

    closed: bool
    facts: int = 0
    size: int = 0
    changed: int = 0

    @property
    def had_data(self) -> bool:
        """Was there something to lose? While open, facts may have come that are not counted."""
        return not self.closed or self.facts > 0


def marker_of(path: Path) -> Path:
    return path.with_suffix(".mark")


def read_marker(path: Path) -> Marker | None:
    """What was noted of the database at `path`; a note that cannot be read counts as an unclean end."""
    try:
        return Marker(**json.loads(marker_of(path).read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        return Marker(closed=False)


def write_marker(path: Path, *, closed: bool, facts: int) -> None:
    """Note the state of the database at `path`."""
    found = path.stat()
    marker = Marker(closed, facts, found.st_size, found.st_mtime_ns)
    with in_place_of(marker_of(path)) as part:
        part.write_text(json.dumps(asdict(marker)), "utf-8")


def untouched(path: Path, marker: Marker) -> bool:
    """Is the file the one that was closed cleanly?"""
    found = path.stat()
    return marker.closed and (found.st_size, found.st_mtime_ns) == (marker.size, marker.changed)
