"""Finds what a command removed from the references of a repository: branches, tags, stashes, reflogs and the index."""

import contextlib
import itertools
import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.workspace.beneath import open_by_walking
from core.workspace.git_plumbing import plumbing_command, plumbing_environment
from core.workspace.program_search import find_program
from core.workspace.regular_files import open_regular

HEAD, PACKED, STASH, LOGS = "HEAD", "packed-refs", "refs/stash", "logs/"
ASIDE = "refs/restored/"
ALTERNATES, TABLES = "objects/info/alternates", "reftable/tables.list"
INDEX = "index"  # the list of staged files, which a new commit consists of
SINGLE_FILES = (HEAD, PACKED, "shallow", ALTERNATES, INDEX)
INDEX_BEGINNING = b"DIRC"
TREES = ("refs", "logs", "reftable")
MAX_FILES = 50_000
MAX_SIZE = 64 << 20  # bytes of one file
MAX_REFERENCE = 4096  # bytes of one in `refs`
MAX_TOTAL = 256 << 20  # bytes of all files
MAX_DEPTH = 64  # of folders in each other
SECONDS = 5.0  # for git to find out what the branches contain
# References that git and its commands create and remove as a matter of course.
TEMPORARY = ("refs/remotes/", "refs/bisect/", "refs/rewritten/", "refs/prefetch/")
_NAME = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TARGET = re.compile(rb"ref: (refs/\S+)\s*")

FileState = tuple[int, int, int]  # inode, size and time of the last change


@dataclass(frozen=True, slots=True)
class ReferenceFile:
    """A file of references, and its state when it was read."""

    state: FileState
    body: bytes


References = dict[str, ReferenceFile]  # by path in the git folder


def read_references(git: int, known: Mapping[str, ReferenceFile]) -> References:
    """Read the references and reflogs of a git folder, an open one, without following links.

    Files in the state of `known` are not read again.
    """
    found: References = {}
    left = MAX_TOTAL
    for path, folder, name in _files(git):
        limit = MAX_REFERENCE if path.startswith("refs/") else MAX_SIZE
        if file := _read(folder, name, known.get(path), min(limit, left)):
            found[path] = file
            left -= len(file.body)
        if len(found) > MAX_FILES:
            break
    return found


def open_file(folder: int, name: str) -> int:
    """Open a regular file in an open folder for reading; raise OSError for anything else."""
    return open_regular(name, follow=False, folder=folder)


def reference_states(git: int) -> frozenset[tuple[str, FileState]]:
    """Return the path and the state of each file of references in an open git folder.

    The index is left out: git writes it also when it only looks at files.
    """
    found = set()
    for path, folder, name in itertools.islice(_files(git), MAX_FILES):
        if path == INDEX:
            continue
        with contextlib.suppress(OSError):
            found.add((path, state_of(os.lstat(name, dir_fd=folder))))
    return frozenset(found)


def _read(folder: int, name: str, known: ReferenceFile | None, limit: int) -> ReferenceFile | None:
    with contextlib.suppress(OSError):
        state = state_of(os.lstat(name, dir_fd=folder))
        if known and known.state == state:
            return known
        with open(open_file(folder, name), "rb") as file:
            state = state_of(os.fstat(file.fileno()))
            return ReferenceFile(state, file.read(limit)) if state[1] <= limit else None
    return None


def state_of(status: os.stat_result) -> FileState:
    """Return what changes whenever a file is changed or replaced, whatever its time stamps are set to."""
    return status.st_ino, status.st_size, status.st_ctime_ns


def removed_from(
    git: Path, before: References, after: References, folder: Path, *, damaged: bool = False
) -> dict[str, bytes]:
    """Return the contents of the files to write, so that `after` contains what a command removed from `before`.

    A branch stays deleted if another one contains its commits. `folder` is the one in which no git is looked for;
    `damaged` is whether folders of references are missing.
    """
    target = _target(before)
    if not _is_packed(_body(after, PACKED)):
        before = {PACKED: ReferenceFile((0, 0, 0), b"")} | before
    damaged = damaged or not _is_head(after.get(HEAD))
    damaged = damaged or any(path in before and path not in after for path in (PACKED, TABLES))
    writes = {
        path: file.body
        for path, file in before.items()
        if (damaged and path not in after and (path in SINGLE_FILES or path.startswith(("reftable/", "refs/"))))
        or (path == HEAD and not _is_head(after.get(HEAD)))
        or (path == PACKED and not _is_packed(_body(after, PACKED)))
        or (path == INDEX and not _body(after, INDEX).startswith(INDEX_BEGINNING))
        or (path == ALTERNATES and not set(file.body.splitlines()) <= set(_body(after, ALTERNATES).splitlines()))
    }
    old, new = _tips(before), _tips(after)
    changed = {name: tip for name, tip in old.items() if new.get(name) != tip and not name.startswith(TEMPORARY)}
    # Without the file of a reference, git takes an older value from the packed references.
    gone = {
        name: tip
        for name, tip in changed.items()
        if damaged or name not in new or (name in before and name not in after)
    }
    moved = {name: tip for name, tip in changed.items() if name not in gone and not _is_logged(tip, after)}
    checked = {tip for name, tip in {**gone, **moved}.items() if not _is_always_restored(name, target, damaged)}
    contained = _contained(git, checked, folder) if checked else set()
    restored = {
        name: tip for name, tip in gone.items() if _is_always_restored(name, target, damaged) or tip not in contained
    }
    for name, tip in restored.items():
        writes[_free_name(name, new.keys() - {name})] = tip + b"\n"
    for name, tip in moved.items():
        if tip not in contained:
            writes[LOGS + name] = _body(after, LOGS + name) + _log_line(tip, new[name])
    for path, file in before.items():
        name = path.removeprefix(LOGS)
        if not path.startswith(LOGS) or _body(after, path).startswith(file.body):
            continue
        if name == HEAD or name in restored or name in new:
            writes[path] = _merged(file.body, writes.get(path) or _body(after, path))
            if name == STASH and (last := writes[path].splitlines()[-1:]):
                writes[STASH] = last[0].split(b" ", 2)[1] + b"\n"
    return writes


def set_aside(writes: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what to write if the user may have deleted the references: their contents, with names in `ASIDE`."""
    return {
        ASIDE + path.removeprefix("refs/") if path.startswith("refs/") else path: body
        for path, body in writes.items()
        if path != LOGS + STASH
    }


def last_change(git: int) -> float:
    """Return when a file or folder of references in an open git folder was last changed, in seconds."""
    times = [0.0]
    with contextlib.suppress(OSError):
        for _, _, files, folder in os.fwalk("refs", dir_fd=git):
            times.append(os.fstat(folder).st_ctime)
            times += [os.lstat(name, dir_fd=folder).st_ctime for name in files]
    for name in (HEAD, PACKED):
        with contextlib.suppress(OSError):
            times.append(os.lstat(name, dir_fd=git).st_ctime)
    return max(times)


def is_folder(git: int, path: str) -> bool:
    """Return whether a path in an open folder is a folder, and is reached without links."""
    with contextlib.suppress(OSError):
        os.close(open_by_walking(git, path, os.O_RDONLY | os.O_DIRECTORY))
        return True
    return False


def _files(git: int) -> Iterator[tuple[str, int, str]]:
    """Yield the path of each file, and the open folder and the name by which to open it."""
    for path in SINGLE_FILES:
        parent, _, name = path.rpartition("/")
        with contextlib.suppress(OSError):
            folder = open_by_walking(git, parent or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                yield path, folder, name
            finally:
                os.close(folder)
    for tree in filter(lambda tree: is_folder(git, tree), TREES):
        yield from _files_below(git, tree)


def _files_below(git: int, tree: str) -> Iterator[tuple[str, int, str]]:
    waiting = [tree]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            folder = open_by_walking(git, parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with os.scandir(folder) as entries:
                    kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
                yield from ((f"{parent}/{n}", folder, n) for n, k in kinds.items() if not k and not n.endswith(".lock"))
            finally:
                os.close(folder)
            if parent.count("/") < MAX_DEPTH:
                waiting += [f"{parent}/{name}" for name, is_dir in kinds.items() if is_dir]


def _tips(files: References) -> dict[str, bytes]:
    """Return the object that each reference names, by the name of the reference."""
    tips: dict[str, bytes] = {}
    for line in _body(files, PACKED).splitlines():
        tip, _, name = line.partition(b" ")
        if _NAME.fullmatch(tip) and name:
            tips[os.fsdecode(name)] = tip
    for path, file in files.items():
        if path.startswith("refs/"):
            if _NAME.fullmatch(tip := file.body.strip()):
                tips[path] = tip
            elif not _TARGET.fullmatch(file.body):
                tips.pop(path, None)  # git reads this file, not the packed reference
    return tips


def _target(files: References) -> str:
    """Return the branch that is checked out; empty if a commit is."""
    match = _TARGET.fullmatch(_body(files, HEAD))
    return os.fsdecode(match[1]) if match else ""


def _is_head(file: ReferenceFile | None) -> bool:
    return bool(file and (_TARGET.fullmatch(file.body) or _NAME.fullmatch(file.body.strip())))


def _is_always_restored(name: str, target: str, damaged: bool) -> bool:
    """Return whether a removed reference matters by itself, not only by its commits."""
    return damaged or name == target or name.startswith("refs/tags/")


def _is_packed(body: bytes) -> bool:
    """Return whether this is a list of packed references that git accepts."""
    lines = [line for line in body.splitlines() if line[:1] not in (b"#", b"^")]
    return all(_NAME.fullmatch(line.partition(b" ")[0]) for line in lines)


def _is_logged(tip: bytes, files: References) -> bool:
    return any(tip in file.body for path, file in files.items() if path.startswith(LOGS))


def _free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, or a similar one if there is now a reference for which it would have to be a folder."""
    return (
        f"{name}-restored"
        if any(each.startswith(f"{name}/") or name.startswith(f"{each}/") for each in taken)
        else name
    )


def _merged(before: bytes, after: bytes) -> bytes:
    known = set(before.splitlines())
    return before + b"".join(line + b"\n" for line in after.splitlines() if line not in known)


def _log_line(old: bytes, new: bytes) -> bytes:
    text = f" Journeyman <journeyman@localhost> {int(time.time())} +0000\tkeep the former commit\n"
    return old + b" " + new + text.encode()


def _body(files: References, path: str) -> bytes:
    return files[path].body if path in files else b""


def _contained(git: Path, tips: set[bytes], folder: Path) -> set[bytes]:
    """Return those commits that the references still reach; none if git cannot tell."""
    program = find_program("git", folder)
    if not program:
        return set()
    command = plumbing_command(program, git, "rev-list", "--stdin", "--not", "--all")
    wanted = b"".join(tip + b"\n" for tip in sorted(tips))
    try:
        completed = subprocess.run(
            command,
            env=plumbing_environment(),
            cwd="/",
            input=wanted,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    return tips - set(completed.stdout.split()) if completed.returncode == 0 else set()
