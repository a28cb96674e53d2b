"""The event of a rewind, which reverts files to an earlier state of the session."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RewoundFile:
    """A file that a rewind reverted.

    `before` and `after` are the blob names of its contents before and after the rewind; "" if it did not exist.
    """

    path: str
    before: str = ""
    after: str = ""
    mode_before: int = 0  # permission bits before the rewind; 0 means unknown


@dataclass(frozen=True, slots=True)
class FilesRewound:
    """The user reverted files to their state after the event `to_seq`. Written durably before the files are changed.

    `skipped` are files that were left unchanged. `undoes_seq` is the rewind that this rewind undoes; 0 for none.
    """

    to_seq: int
    files: tuple[RewoundFile, ...] = ()
    skipped: tuple[str, ...] = ()
    undoes_seq: int = 0


@dataclass(slots=True)
class OpenRewinds:
    """The rewinds that can still be undone, by event number, each with the paths for which that is possible."""

    paths: dict[int, set[str]] = field(default_factory=dict)

    def add(self, seq: int, paths: Iterable[str], skipped: Iterable[str], undoes_seq: int) -> None:
        """Add a FilesRewound event. A second event for the same undo lists in `skipped` the files that failed."""
        changed = set(paths)
        if undoes_seq and changed:
            self.paths[undoes_seq] = set(skipped)
        elif undoes_seq:
            self.paths.get(undoes_seq, set()).update(skipped)
        elif changed:
            self.paths[seq] = changed

    def last(self) -> int:
        """Return the event number of the last rewind that can be undone; 0 if there is none."""
        return max((seq for seq, paths in self.paths.items() if paths), default=0)
