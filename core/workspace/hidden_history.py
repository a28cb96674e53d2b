"""Finds files by which a command made git hide history, or read other objects in place of the real ones.

Git ignores the parents of a commit that is listed in `shallow` or `info/grafts`, and `git gc` then deletes the parents.
It reads a replacement (`refs/replace`) instead of an object, and trusts its caches and pack indexes.
"""

import contextlib
import os
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from core.workspace.beneath import open_by_walking
from core.workspace.git_plumbing import plumbing_command, plumbing_environment
from core.workspace.git_references import (
    ALTERNATES,
    GRAFTS,
    PACKED,
    SECONDS,
    SHALLOW,
    FileState,
    References,
    reference_tips,
    state_of,
)
from core.workspace.program_search import find_program

INFO = "objects/info"
PACKS = "objects/pack"
REPLACEMENTS = "refs/replace"
_FOLDERS = ("info", INFO, PACKS, REPLACEMENTS)
_PACK_ENDINGS = (".pack", ".idx")
_CACHE_ENDINGS = (".bitmap", ".rev")
MAX_BOUNDARIES = 10_000  # most commits in `shallow` that are verified
MAX_COMMIT = 1 << 20  # bytes; a larger commit is not read


def watched_states(git: int) -> dict[str, FileState]:
    """Return the states of the packs, caches and replace refs in an open git folder, by path.

    A link or file in place of one of their folders is included as well.
    """
    found: dict[str, FileState] = {}
    waiting = list(_FOLDERS)
    while waiting:
        path = waiting.pop()
        with contextlib.suppress(OSError):
            parent, _, name = path.rpartition("/")
            outer = open_by_walking(git, parent or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                status = os.lstat(name, dir_fd=outer)
            finally:
                os.close(outer)
            if not stat.S_ISDIR(status.st_mode):
                found[path] = state_of(status)
            elif path != "info":
                waiting += _note_folder(git, path, found)
    return found


def _note_folder(git: int, path: str, found: dict[str, FileState]) -> list[str]:
    """Add the states of watched files in a folder to `found`; return its subfolders that may contain more."""
    subfolders: list[str] = []
    folder = open_by_walking(git, path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                inner_path = f"{path}/{entry.name}"
                if not (is_cache(inner_path) or is_pack(inner_path) or is_replacement(inner_path)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    subfolders.append(inner_path)
                else:
                    found[inner_path] = state_of(entry.stat(follow_symlinks=False))
    finally:
        os.close(folder)
    return subfolders


def is_cache(path: str) -> bool:
    """Return whether git can recreate the file at this path from the objects."""
    is_pack_cache = path.startswith(f"{PACKS}/") and path.endswith(_CACHE_ENDINGS)
    return is_pack_cache or path.startswith((f"{INFO}/commit-graph", f"{PACKS}/multi-pack-index"))


def is_pack(path: str) -> bool:
    """Return whether git reads the file at this path as a pack or pack index, whatever its name."""
    return path.startswith(f"{PACKS}/") and path.endswith(_PACK_ENDINGS)


def is_replacement(path: str) -> bool:
    """Return whether this is a replace ref, which makes git read another object in place of an object."""
    return path.startswith(f"{REPLACEMENTS}/")


def revealing_writes(git: Path, before: References, after: References, folder: Path) -> dict[str, bytes | None]:
    """Return the files to write so that no more history is hidden than `before`; None means that a file must not exist.

    A file missing in `after` may still exist, for example as a link. The git program is not searched for in `folder`.
    """
    writes = {path: before[path].body if path in before else None for path in (GRAFTS, ALTERNATES)}
    writes[SHALLOW] = _rightful_boundaries(git, before, after, folder)
    if PACKED in after:
        writes[PACKED] = _without_new_replacements(after[PACKED].body, reference_tips(before))
    return {
        path: body for path, body in writes.items() if body is None or path not in after or after[path].body != body
    }


def _without_new_replacements(packed: bytes, known: Mapping[str, bytes]) -> bytes:
    """Return the contents of `packed-refs` without replace refs that are not in `known`."""
    lines: list[bytes] = []
    for line in packed.splitlines(keepends=True):
        tip, _, name = line.strip().partition(b" ")
        path = os.fsdecode(name.strip())
        if not is_replacement(path) or known.get(path) == tip:
            lines.append(line)
    return b"".join(lines)


def _rightful_boundaries(git: Path, before: References, after: References, folder: Path) -> bytes | None:
    """Return the correct contents of `shallow`: former entries, and commits whose parents a fetch left out; or None."""
    old, new = _boundaries(before), _boundaries(after)
    if old == new:
        return after[SHALLOW].body if SHALLOW in after else None
    try:
        boundaries = (old & new) | _without_parents(git, old ^ new, folder)
    except (OSError, subprocess.SubprocessError, ValueError):
        boundaries = old
    return b"".join(name + b"\n" for name in sorted(boundaries)) or None


def _boundaries(files: References) -> set[bytes]:
    """Return the commits listed in `shallow`."""
    return set(files[SHALLOW].body.split()) if SHALLOW in files else set()


def _without_parents(git: Path, names: set[bytes], folder: Path) -> set[bytes]:
    """Return the commits in `names` that have a parent which the repository lacks; raise ValueError for too many."""
    if len(names) > MAX_BOUNDARIES:
        raise ValueError("too many boundaries")
    parents: dict[bytes, set[bytes]] = {}
    for line in _cat_file(git, "--batch-check", names, folder).splitlines():
        match line.split():
            case [commit, b"commit", size] if int(size) <= MAX_COMMIT:
                parents[commit] = _parents(git, commit, folder)
    wanted = set().union(*parents.values())
    answers = _cat_file(git, "--batch-check", wanted, folder).splitlines() if wanted else []
    missing = {answer.split()[0] for answer in answers if answer.endswith(b" missing")}
    return {commit for commit, each in parents.items() if each & missing}


def _parents(git: Path, commit: bytes, folder: Path) -> set[bytes]:
    _, _, body = _cat_file(git, "--batch", [commit], folder).partition(b"\n")
    header = body.partition(b"\n\n")[0]
    return {line.removeprefix(b"parent ") for line in header.splitlines() if line.startswith(b"parent ")}


def _cat_file(git: Path, option: str, names: Iterable[bytes], folder: Path) -> bytes:
    program = find_program("git", folder)
    if not program:
        raise FileNotFoundError("git")
    completed = subprocess.run(
        plumbing_command(program, git, "cat-file", option),
        env=plumbing_environment(),
        cwd="/",
        input=b"".join(name + b"\n" for name in names),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    return completed.stdout
