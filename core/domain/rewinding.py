"""Files that were put back, as a fact."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rewound:
    """A file that was put back: its contents before and after that, as blobs; empty means there was, or is, no file."""

    path: str
    before: str = ""
    after: str = ""
    mode: int = 0  # the permission bits it had before that; 0 means not known


@dataclass(frozen=True, slots=True)
class FilesRewound:
    """A person put files back to how they were after the entry `to`. Durable before the act.

    `left` are files that stayed as they are; `undoes` is the entry of the rewind that this one takes back.
    """

    to: int
    files: tuple[Rewound, ...] = ()
    left: tuple[str, ...] = ()
    undoes: int = 0
