"""A small file next to the database that records how many events it holds and whether it was closed cleanly."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from core.store.files import replace_atomically


@dataclass(frozen=True, slots=True)
class ShutdownMarker:
    """The state of the database when it was last opened or closed.

    `closed` is false while the database is open, and after a crash. `size` and `mtime_ns` are those of the file.
    """

    closed: bool
    events: int = 0
    size: int = 0
    mtime_ns: int = 0

    @property
    def had_data(self) -> bool:
        """Whether the database may have held events.

        `events` does not count those added since the database was opened.
        """
        return not self.closed or self.events > 0


def marker_path(path: Path) -> Path:
    return path.with_suffix(".mark")


def read_marker(path: Path) -> ShutdownMarker | None:
    """Return the marker of the database at `path`, or None if there is none.

    A marker that cannot be read is returned as one with `closed` false, as after a crash.
    """
    try:
        return ShutdownMarker(**json.loads(marker_path(path).read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        return ShutdownMarker(closed=False)


def write_marker(path: Path, *, closed: bool, events: int) -> None:
    """Record the current state of the database at `path`."""
    stat = path.stat()
    marker = ShutdownMarker(closed, events, stat.st_size, stat.st_mtime_ns)
    with replace_atomically(marker_path(path)) as part:
        part.write_text(json.dumps(asdict(marker)), "utf-8")


def is_unchanged(path: Path, marker: ShutdownMarker) -> bool:
    """Return whether the database file is unchanged since it was closed cleanly."""
    stat = path.stat()
    return marker.closed and (stat.st_size, stat.st_mtime_ns) == (marker.size, marker.mtime_ns)
