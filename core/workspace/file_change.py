"""The changes of files by a command or another tool call, and the files before it."""

import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

LINK_MODE: Final = stat.S_IFLNK | 0o777  # the mode of a symbolic link, whose contents are its target


class FileModes(NamedTuple):
    """The permission bits of a file before and after a call; 0 if unknown, or if the file does not exist.

    `LINK_MODE` marks a symbolic link.
    """

    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class FileChange:
    """The contents of a file before and after a call; None where the file does not exist."""

    path: str
    before: bytes | None
    after: bytes | None
    modes: FileModes = field(default=FileModes(), compare=False)


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """The state of a path before a command: the contents and mode of a file, or the target of a link."""

    body: bytes
    mode: int
    link: bool = False


@dataclass(frozen=True, slots=True)
class UnrecordedChanges:
    """Changes that cannot be shown as a diff, and changes that need special attention.

    Attributes:
        unrecorded: changed files whose contents before or after are unknown.
        protected: changed files that are protected, whether their contents are known or not.
        created: the files in `unrecorded` that are new.
        originals: the states before, for the files in `unrecorded` where they are known.
        privileged: files that became setuid or setgid.
        closed: folders of this user that could not be listed, so that changes in them are unknown.
        loosened: trusted folders and git files that other users may now write to, with their permission bits from
            before.
    """

    unrecorded: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    originals: Mapping[str, OriginalFile] = field(default_factory=dict, compare=False)
    privileged: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    loosened: Mapping[str, int] = field(default_factory=dict)


class FolderChanges(NamedTuple):
    """The changes in a folder: those with known contents, sorted by path, and what is known about others."""

    changes: tuple[FileChange, ...] = ()
    missed: UnrecordedChanges = UnrecordedChanges()


def without_foreign(changes: Iterable[FileChange], foreign: Mapping[str, bytes | None]) -> Iterator[FileChange]:
    """Yield the changes that a command itself made, leaving out those by other calls that ran at the same time.

    `foreign` maps the paths that other calls wrote to the contents they left. If the command changed such a file again
    afterwards, its change starts from those contents.
    """
    for change in changes:
        if change.path not in foreign:
            yield change
        elif foreign[change.path] != change.after:
            yield replace(change, before=foreign[change.path])
