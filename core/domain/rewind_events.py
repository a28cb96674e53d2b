"""The event of a rewind, which reverts files to an earlier state."""

from dataclasses import dataclass


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
