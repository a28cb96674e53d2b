"""The event of a rewind, which reverts files to an earlier state."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RewoundFile:
    """A reverted file.

    `before` and `after` are blob names of its contents before and after the rewind; empty means that the file did not
    exist.
    """

    path: str
    before: str = ""
    after: str = ""
    mode_before: int = 0  # permission bits before the rewind; 0 means unknown


@dataclass(frozen=True, slots=True)
class FilesRewound:
    """The user reverted files to their state after the event `to_seq`. Written durably before the files are touched.

    `skipped` are files that were left as they are. `undoes_seq` is the rewind that this one undoes; 0 for none.
    """

    to_seq: int
    files: tuple[RewoundFile, ...] = ()
    skipped: tuple[str, ...] = ()
    undoes_seq: int = 0


@dataclass(slots=True)
class OpenRewinds:
    """The rewinds that have not been undone, by sequence number, each with the paths that have not been undone."""

    paths: dict[int, set[str]] = field(default_factory=dict)

    def add(self, seq: int, paths: Iterable[str], skipped: Iterable[str], undoes_seq: int) -> None:
        """Add the next event of a session. A second event of the same undo names the files for which it failed."""
        changed = set(paths)
        if undoes_seq and changed:
            self.paths[undoes_seq] = set(skipped)
        elif undoes_seq:
            self.paths.get(undoes_seq, set()).update(skipped)
        elif changed:
            self.paths[seq] = changed

    def last(self) -> int:
        """Return the sequence number of the last rewind that can be undone; 0 if there is none."""
        return max((seq for seq, paths in self.paths.items() if paths), default=0)
