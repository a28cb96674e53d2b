"""Sealed files: the files that a run has to leave as they are, such as the tests that decide when it is done."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.domain.globs import matches, pattern_parts
from core.domain.problems import Problem
from core.tools.folder_walk import FolderWalk, printable_path
from core.workspace.broker import FileBroker

MAX_SEALED_FILES = 10_000


def seal_files(folder: Path, patterns: Sequence[str], *, again: bool = False) -> dict[str, str]:
    """Return the digest of each file in the folder that a pattern matches, by its path.

    Raise Problem if there are too many files, or if a pattern matches none, unless the files are sealed `again`.
    """
    for pattern in () if again else patterns:
        if not _digests(folder, [pattern]):
            cause = "Files that .gitignore excludes cannot be sealed."
            raise Problem(f"No file can be sealed: {pattern!r} matches none.", cause, "Correct the pattern.")
    return _digests(folder, patterns)


def broken_seals(folder: Path, patterns: Sequence[str], sealed: Mapping[str, str]) -> list[str]:
    """Return the paths of the sealed files that were changed, removed or added, each with what happened to the file."""
    present = _digests(folder, patterns)
    return [
        f"{path} ({'removed' if path not in present else 'changed' if path in sealed else 'added'})"
        for path in sorted(sealed.keys() | present.keys())
        if sealed.get(path) != present.get(path)
    ]


def _digests(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    # A pattern that matches a folder matches all files in it.
    wanted = [(*pattern_parts(pattern), "**") for pattern in patterns]
    walk, digests = FolderWalk(folder.resolve()), dict[str, str]()
    with FileBroker(folder) as broker:
        for path in walk.files():
            if any(matches(pattern, path) for pattern in wanted):
                with broker.open_file("/".join(path)) as file:
                    digests[printable_path(path)] = hashlib.file_digest(file, "sha256").hexdigest()
            if len(digests) > MAX_SEALED_FILES:
                raise Problem("Too many files would be sealed.", f"The limit is {MAX_SEALED_FILES:,}.", "Seal fewer.")
    if walk.incomplete:
        raise Problem("The sealed files could not be determined.", f"{walk.incomplete}.", "Use a smaller folder.")
    return digests
