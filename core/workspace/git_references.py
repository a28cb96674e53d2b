"""Finds what a command removed from the references of a repository: branches, tags, stashes, reflogs and the index."""

import contextlib
import itertools
import os
import re
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.workspace.beneath import open_by_walking
from core.workspace.git_plumbing import plumbing_command, plumbing_environment
from core.workspace.program_search import find_program
from core.workspace.regular_files import open_regular

HEAD = "HEAD"
PACKED = "packed-refs"
STASH = "refs/stash"
LOGS = "logs/"
ASIDE = "refs/restored/"
ALTERNATES = "objects/info/alternates"
TABLES = "reftable/tables.list"
# Files that make git ignore or replace the parents of commits.
SHALLOW = "shallow"
GRAFTS = "info/grafts"
INDEX = "index"  # the staging area
SINGLE_FILES = (HEAD, PACKED, SHALLOW, GRAFTS, ALTERNATES, INDEX)
INDEX_BEGINNING = b"DIRC"
TREES = ("refs", "logs", "reftable")
MAX_FILES = 50_000
MAX_SIZE = 64 << 20  # most bytes to read of one file
MAX_REFERENCE = 4096  # most bytes to read of one file in `refs`
MAX_TOTAL = 256 << 20  # most bytes to read of all files together
MAX_DEPTH = 64  # most nested folders to descend into
SECONDS = 5.0  # time limit for git to list reachable commits
# Prefixes of references that git commands routinely create and remove; their removal is not reverted.
TEMPORARY = ("refs/remotes/", "refs/bisect/", "refs/rewritten/", "refs/prefetch/")
_NAME = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TARGET = re.compile(rb"ref: (refs/\S+)\s*")


class FileState(NamedTuple):
    """Values that change with every modification or replacement of a file, even if its times are set back."""

    inode: int
    size: int  # bytes
    changed_ns: int  # change time in nanoseconds since the epoch


@dataclass(frozen=True, slots=True)
class ReferenceFile:
    """The contents of a file of references, and its state when it was read."""

    state: FileState
    body: bytes


References = dict[str, ReferenceFile]  # by path in the git folder


class _OpenFile(NamedTuple):
    """A file in an open folder."""

    path: str  # in the git folder
    folder: int  # the descriptor of the folder
    name: str  # in that folder


class _LostTips(NamedTuple):
    """The former tips of references, by the full name of the reference.

    Attributes:
        gone: of references that no longer exist.
        moved: of references that point elsewhere now, without an entry in a reflog.
    """

    gone: dict[str, bytes]
    moved: dict[str, bytes]


def read_references(git: int, known: Mapping[str, ReferenceFile]) -> References:
    """Read the references and reflogs in the open git folder `git`, without following links.

    A file whose state is the same as in `known` is not read again.
    """
    found: References = {}
    remaining = MAX_TOTAL
    for path, folder, name in _files(git):
        limit = MAX_REFERENCE if path.startswith("refs/") else MAX_SIZE
        if file := _read(folder, name, known.get(path), min(limit, remaining)):
            found[path] = file
            remaining -= len(file.body)
        if len(found) > MAX_FILES:
            break
    return found


def open_file(folder: int, name: str) -> int:
    """Open a regular file in an open folder for reading; raise OSError for links and special files."""
    return open_regular(name, follow=False, folder=folder)


def reference_states(git: int) -> frozenset[tuple[str, FileState]]:
    """Return the path and the state of each file of references in the open git folder `git`.

    The index is left out, because git writes it even when it only compares files.
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
            return ReferenceFile(state, file.read(limit)) if state.size <= limit else None
    return None


def state_of(status: os.stat_result) -> FileState:
    return FileState(inode=status.st_ino, size=status.st_size, changed_ns=status.st_ctime_ns)


def restoring_writes(
    git: Path, before: References, after: References, folder: Path, *, damaged: bool = False
) -> dict[str, bytes]:
    """Return the contents to write to files in a git folder, to restore what a command removed after `before`.

    A branch stays deleted if another reference reaches its commits. The git program is not searched for in `folder`.
    `damaged`: folders of references are missing, so everything is restored.
    """
    change = _Change(before, after, damaged=damaged)
    gone, moved = change.lost_tips()
    checked = {tip for name, tip in {**gone, **moved}.items() if not change.is_always_restored(name)}
    reachable = _reachable(git, checked, folder) if checked else set()
    restored = {name: tip for name, tip in gone.items() if change.is_always_restored(name) or tip not in reachable}
    writes = change.unusable_files()
    for name, tip in restored.items():
        writes[_free_name(name, change.new_tips.keys() - {name})] = tip + b"\n"
    for name, tip in moved.items():
        if tip not in reachable:
            writes[LOGS + name] = _body(after, LOGS + name) + _log_line(tip, change.new_tips[name])
    return change.with_restored_logs(writes, restored.keys())


class _Change:
    """What a command changed in the references of a git folder.

    `damaged` means that git no longer recognizes the folder, or that files with many references are missing.
    """

    def __init__(self, before: References, after: References, *, damaged: bool) -> None:
        self._current_branch = _current_branch(before)
        if not _is_packed(_body(after, PACKED)):  # an invalid file of packed references is restored or emptied
            empty = ReferenceFile(state=FileState(inode=0, size=0, changed_ns=0), body=b"")
            before = {PACKED: empty} | before
        self._before, self._after = before, after
        is_any_missing = any(path in before and path not in after for path in (PACKED, TABLES))
        self._damaged = damaged or is_any_missing or not _is_head(after.get(HEAD))
        self._old_tips = reference_tips(before)
        self.new_tips = reference_tips(after)

    def unusable_files(self) -> dict[str, bytes]:
        """Return the earlier contents of files that git can no longer read, or that a damaged folder lacks."""
        return {path: file.body for path, file in self._before.items() if self._is_unusable(path)}

    def lost_tips(self) -> _LostTips:
        """Return the references that are gone, and those that were moved.

        A reference whose file was deleted is gone, even if git falls back to an older value in the packed references.
        """
        lost = _LostTips(gone={}, moved={})
        for name, tip in self._old_tips.items():
            if self.new_tips.get(name) == tip or name.startswith(TEMPORARY):
                continue
            is_file_deleted = name in self._before and name not in self._after
            if self._damaged or name not in self.new_tips or is_file_deleted:
                lost.gone[name] = tip
            elif not _is_logged(tip, self._after):
                lost.moved[name] = tip
        return lost

    def is_always_restored(self, name: str) -> bool:
        """Return whether to restore a reference even if others reach its commits: tags and the current branch."""
        return self._damaged or name == self._current_branch or name.startswith("refs/tags/")

    def with_restored_logs(self, writes: Mapping[str, bytes], restored: Collection[str]) -> dict[str, bytes]:
        """Return `writes` with the lines that the command removed from the reflogs of references that exist now.

        The last line of the reflog of the stash names the newest entry of the stash.
        """
        complete = dict(writes)
        for path, file in self._before.items():
            name = path.removeprefix(LOGS)
            if not path.startswith(LOGS) or _body(self._after, path).startswith(file.body):
                continue
            if name == HEAD or name in restored or name in self.new_tips:
                complete[path] = _merged_log(file.body, complete.get(path) or _body(self._after, path))
                if name == STASH and (last_line := complete[path].splitlines()[-1:]):
                    complete[STASH] = last_line[0].split(b" ", 2)[1] + b"\n"
        return complete

    def _is_unusable(self, path: str) -> bool:
        body = _body(self._after, path)
        if path == HEAD and not _is_head(self._after.get(HEAD)):
            return True
        if path == PACKED and not _is_packed(body):
            return True
        if path == INDEX and not body.startswith(INDEX_BEGINNING):
            return True
        has_references = path in SINGLE_FILES or path.startswith(("reftable/", "refs/"))
        return self._damaged and path not in self._after and has_references


def set_aside(writes: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the same writes, but with references renamed into `ASIDE`, for when the user may have deleted them."""
    return {
        ASIDE + path.removeprefix("refs/") if path.startswith("refs/") else path: body
        for path, body in writes.items()
        if path != LOGS + STASH
    }


def last_change(git: int) -> float:
    """Return when a file or folder of references in an open git folder was last changed, in seconds since the epoch."""
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
    """Return whether a path in an open folder is a folder that is reached without links."""
    with contextlib.suppress(OSError):
        os.close(open_by_walking(git, path, os.O_RDONLY | os.O_DIRECTORY))
        return True
    return False


def _files(git: int) -> Iterator[_OpenFile]:
    """Yield each file of references; its folder stays open until the next one is requested."""
    for path in SINGLE_FILES:
        parent, _, name = path.rpartition("/")
        with contextlib.suppress(OSError):
            folder = open_by_walking(git, parent or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                yield _OpenFile(path, folder, name)
            finally:
                os.close(folder)
    for tree in filter(lambda tree: is_folder(git, tree), TREES):
        yield from _files_below(git, tree)


def _files_below(git: int, tree: str) -> Iterator[_OpenFile]:
    """Yield the files in a folder and its subfolders, as `_files` does. Locks are left out."""
    waiting = [tree]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            folder = open_by_walking(git, parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with os.scandir(folder) as entries:
                    kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
                names = [name for name, is_dir in kinds.items() if not is_dir and not name.endswith(".lock")]
                yield from (_OpenFile(f"{parent}/{name}", folder, name) for name in names)
            finally:
                os.close(folder)
            if parent.count("/") < MAX_DEPTH:
                waiting += [f"{parent}/{name}" for name, is_dir in kinds.items() if is_dir]


def reference_tips(files: References) -> dict[str, bytes]:
    """Return the object hash that each reference points to, by the full name of the reference."""
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
                tips.pop(path, None)  # an invalid file still hides the packed reference
    return tips


def _current_branch(files: References) -> str:
    """Return the full name of the checked-out branch; "" if HEAD is detached."""
    match = _TARGET.fullmatch(_body(files, HEAD))
    return os.fsdecode(match[1]) if match else ""


def _is_head(file: ReferenceFile | None) -> bool:
    return bool(file and (_TARGET.fullmatch(file.body) or _NAME.fullmatch(file.body.strip())))


def _is_packed(body: bytes) -> bool:
    """Return whether these are contents of a file `packed-refs` that git accepts."""
    lines = [line for line in body.splitlines() if line[:1] not in (b"#", b"^")]
    return all(_NAME.fullmatch(line.partition(b" ")[0]) for line in lines)


def _is_logged(tip: bytes, files: References) -> bool:
    return any(tip in file.body for path, file in files.items() if path.startswith(LOGS))


def _free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a suffix if it would be a folder of an existing reference, or inside one."""
    conflicts = any(each.startswith(f"{name}/") or name.startswith(f"{each}/") for each in taken)
    return f"{name}-restored" if conflicts else name


def _merged_log(before: bytes, after: bytes) -> bytes:
    """Return the lines of a reflog before a command, followed by those that the command added."""
    known = set(before.splitlines())
    return before + b"".join(line + b"\n" for line in after.splitlines() if line not in known)


def _log_line(old: bytes, new: bytes) -> bytes:
    """Return a line of a reflog that keeps the commit `old`, from which a reference was moved to `new`."""
    text = f" Journeyman <journeyman@localhost> {int(time.time())} +0000\tkeep the former commit\n"
    return old + b" " + new + text.encode()


def _body(files: References, path: str) -> bytes:
    return files[path].body if path in files else b""


def _reachable(git: Path, tips: set[bytes], folder: Path) -> set[bytes]:
    """Return the commits in `tips` that the references of the repository reach; an empty set if git fails."""
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
