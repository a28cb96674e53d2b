"""Determines which objects the packs of a repository contain, without trusting indexes that may be forged."""

import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from core.workspace.git_plumbing import plumbing_command, plumbing_environment
from core.workspace.program_search import find_program
from core.workspace.regular_files import read_regular

SECONDS = 30.0
MAX_INDEX = 256 << 20  # largest pack index that is read, in bytes
_NAME_LENGTHS = (20, 32)  # hash lengths in bytes: SHA-1 and SHA-256
_MAGIC = b"\xfftOc\0\0\0\2"  # the first bytes of an index of version 2
_FIRST_NAME = 1032  # offset of the first object name; the number of objects precedes it


@dataclass(slots=True)
class PackCheck:
    """The result of checking packs.

    Attributes:
        objects: the hashes of all objects in valid packs.
        rejected: the paths of the indexes of damaged or forged packs.
        unverified: the paths of the indexes of packs that could not be checked in time.
    """

    objects: set[bytes] = field(default_factory=set)
    rejected: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)


def objects_of_index(index: bytes, name_length: int) -> set[bytes] | None:
    """Return the hashes of the objects that a pack index lists; None if it is malformed or not of version 2."""
    if name_length not in _NAME_LENGTHS or not index.startswith(_MAGIC) or len(index) < _FIRST_NAME:
        return None
    end = _FIRST_NAME + int.from_bytes(index[_FIRST_NAME - 4 : _FIRST_NAME], "big") * name_length
    if end > len(index):
        return None
    return {index[offset : offset + name_length] for offset in range(_FIRST_NAME, end, name_length)}


def check_packs(git: Path, packs: Iterable[str], folder: Path) -> PackCheck:
    """Verify packs object by object with `git verify-pack`.

    `packs` are paths of pack indexes in the git folder. The git program is not searched for in `folder`.
    """
    program, deadline = find_program("git", folder), time.monotonic() + SECONDS
    check = PackCheck()
    for path in packs:
        pack = git / f"{path.removesuffix('idx')}pack"
        if (git / path).is_symlink() or pack.is_symlink():
            check.rejected.append(path)
            continue
        if not pack.exists():  # without its pack, git ignores an index
            continue
        try:
            index = read_regular(git / path, MAX_INDEX, follow=False)
            completed = subprocess.run(
                plumbing_command(program, git, "verify-pack", str(git / path)),
                env=plumbing_environment(),
                cwd="/",
                capture_output=True,
                check=False,
                timeout=max(deadline - time.monotonic(), 0),
            )
            is_same = index == read_regular(git / path, MAX_INDEX, follow=False)
        except FileNotFoundError:
            continue
        except (OSError, subprocess.SubprocessError):
            check.unverified.append(path)
            continue
        if completed.returncode < 0:
            check.unverified.append(path)
        elif completed.returncode or not is_same:
            check.rejected.append(path)
        else:
            check.objects |= objects_of_index(index, name_length(path)) or set()
    return check


def name_length(path: str) -> int:
    """Return the length of object hashes in bytes, which is also that of the hash in the name of a pack."""
    return len(Path(path).stem.removeprefix("pack-")) // 2
