"""Finds out which objects the packs of a repository contain, without trusting what a command wrote there."""

import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from core.workspace.git_plumbing import plumbing_command, plumbing_environment
from core.workspace.program_search import find_program
from core.workspace.regular_files import read_regular

SECONDS = 30.0
MAX_INDEX = 256 << 20  # bytes
_NAME_LENGTHS = (20, 32)  # bytes, of SHA-1 and SHA-256
_MAGIC, _FIRST_NAME = b"\xfftOc\0\0\0\2", 1032


def objects_of_index(index: bytes, name_length: int) -> set[bytes] | None:
    """Return the names of the objects in a pack, given its index; None if its format is unknown."""
    if name_length not in _NAME_LENGTHS or not index.startswith(_MAGIC) or len(index) < _FIRST_NAME:
        return None
    end = _FIRST_NAME + int.from_bytes(index[_FIRST_NAME - 4 : _FIRST_NAME], "big") * name_length
    if end > len(index):
        return None
    return {index[offset : offset + name_length] for offset in range(_FIRST_NAME, end, name_length)}


def verified_objects(git: Path, packs: Iterable[str], folder: Path) -> set[bytes]:
    """Return the names of the objects in those of the packs that git finds intact, object by object.

    `packs` are the paths of indexes in the git folder; `folder` is the one in which no git is looked for.
    """
    program, deadline = find_program("git", folder), time.monotonic() + SECONDS
    found: set[bytes] = set()
    for path in packs if program else ():
        command = plumbing_command(program, git, "verify-pack", str(git / path))
        try:
            index = read_regular(git / path, MAX_INDEX, follow=False)
            completed = subprocess.run(
                command, env=plumbing_environment(), cwd="/", capture_output=True, check=False,
                timeout=max(deadline - time.monotonic(), 0),
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            continue
        if completed.returncode == 0 and index == read_regular(git / path, MAX_INDEX, follow=False):
            found |= objects_of_index(index, name_length(path)) or set()
    return found


def name_length(path: str) -> int:
    """Return the length of object names in bytes, which the name of a pack has, too."""
    return len(Path(path).stem.removeprefix("pack-")) // 2
