"""Lists all files of a folder with the attributes that reveal changes. Large trees are listed by GNU find."""

import concurrent.futures
import contextlib
import errno
import functools
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from core.domain.sensitive_paths import LARGE_IN_GIT, is_git, path_in_git
from core.workspace import forced_access
from core.workspace.program_search import find_system_program

SCAN_LIMIT = 2_000  # after this many entries, GNU find lists the rest on several cores
FIND_PROCESSES = max(2, min(4, os.cpu_count() or 1))
FILES = 500_000
READ_BYTES = 1 << 20  # bytes read from find at a time
MAX_OPENED = 1_000  # most folders without permission to list that one listing makes listable
PRINTED = r"%y%m %i.%n %s %C@ %p\0"
_NAMES = [word for name in sorted(LARGE_IN_GIT) for word in ("-o", "-name", name)]
_PRUNED = ("-type", "d", "-path", "*/.git/*", "(", *_NAMES[1:], ")", "-prune")
_ENV = {"LC_ALL": "C"}
# Errors for paths that were removed or replaced after they were listed.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
RACY_NS = 20_000_000  # time stamp resolution: a file changed more recently could change again without a new change time
_LISTABLE = 0o500
MAX_STARTS = 500  # folders given to one find, because the length of a command line is limited

# A line "kind+mode inode.links size ctime ./path" for each entry but folders. The kind is f (file), l (link), s
# (socket) or o (other).
FolderSnapshot = frozenset[bytes]


class _FoundLines(NamedTuple):
    """The lines that GNU find printed, and whether it could list every folder."""

    lines: list[bytes]
    is_complete: bool


class _GitTreeFolder(NamedTuple):
    """A folder inside a large folder of a git repository.

    Attributes:
        inode, changed_ns: the inode and change time when it was read.
        subfolders: the names of its subfolders.
        is_foreign: whether git could take it for a repository, or it contains a `.git` or a link.
    """

    inode: int
    changed_ns: int
    subfolders: tuple[str, ...]
    is_foreign: bool


@dataclass(slots=True)
class FolderListing:
    """The contents of a folder.

    Attributes:
        lines: one line for each entry except folders, see `FolderSnapshot`.
        git: the paths of `.git` folders, and of `.git` files that point to one.
        modes: the permission bits of the subfolders, as far as they are known.
        opened: the subfolders that were made listable for this listing, with their former permission bits.
        closed: the subfolders of this user that could not be listed.
        partial: whether there were too many files, so that only notable ones are listed.
    """

    lines: FolderSnapshot = frozenset()
    git: tuple[str, ...] = ()
    modes: dict[str, int] = field(default_factory=dict)
    opened: dict[str, int] = field(default_factory=dict)
    closed: tuple[str, ...] = ()
    partial: bool = False


def take_snapshot(
    folder: Path, git_trees: "GitTrees | None" = None, is_notable: Callable[[bytes], object] = lambda line: True
) -> FolderListing:
    """List a folder. Subfolders of this user that cannot be listed are made listable, and the caller restores them.

    After `FILES` files, only those whose lines satisfy `is_notable` are listed.
    """
    return _Lister(folder, git_trees or GitTrees(), is_notable).run()


class GitTrees:
    """Finds foreign files in the large folders of git repositories, such as `objects`, whose own files are not listed.

    A folder is read again only if it has changed.
    """

    def __init__(self) -> None:
        self._known: dict[str, _GitTreeFolder] = {}

    def foreign_folders(self, folder: Path, tree: str, reopen: Callable[[str], bool]) -> list[str]:
        """Return the folders in `tree` that git could take for a repository, or that contain a `.git` or a link.

        Git creates no links there but writes through them: a log that is a link can lead to any file of the user.
        `reopen` makes a folder listable and returns whether to try it again.
        """
        foreign_paths: list[str] = []
        waiting = [tree]
        while waiting:
            path = waiting.pop()
            try:
                inner = self._read(folder / path, path)
            except OSError as error:
                if error.errno not in _GONE and reopen(path):
                    waiting.append(path)
                continue
            if inner.is_foreign:
                foreign_paths.append(path)
            else:
                waiting += [f"{path}/{name}" for name in inner.subfolders]
        return foreign_paths

    def _read(self, folder: Path, path: str) -> _GitTreeFolder:
        """Read a folder, or return what is known about it if it has not changed."""
        status = os.stat(folder, follow_symlinks=False)  # noqa: PTH116 - half the time of a Path, for each folder of objects
        known = self._known.get(path)
        if known and (known.inode, known.changed_ns) == (status.st_ino, status.st_ctime_ns):
            return known
        names: set[str] = set()
        subfolders: list[str] = []
        has_link = False
        with os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                has_link = has_link or entry.is_symlink()
                if entry.is_dir(follow_symlinks=False):
                    subfolders.append(entry.name)
        # Git accepts links in place of `objects` and `refs`, so only the names count.
        is_repository = "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)
        has_git = ".git" in names or any(map(is_git, subfolders))
        read = _GitTreeFolder(
            inode=status.st_ino,
            changed_ns=status.st_ctime_ns,
            subfolders=tuple(subfolders),
            is_foreign=has_link or is_repository or has_git,
        )
        if time.time_ns() - status.st_ctime_ns > RACY_NS:
            self._known[path] = read
        return read


class _Lister:
    def __init__(self, folder: Path, git_trees: GitTrees, is_notable: Callable[[bytes], object]) -> None:
        self._folder = folder
        self._git_trees = git_trees
        self._is_notable = is_notable
        self._root = -1
        self._lines: list[bytes] = []
        self._listing = FolderListing()
        self._git: list[str] = []
        self._closed: list[str] = []
        self._waiting = ["."]
        self._seen = 0

    def run(self) -> FolderListing:
        try:
            while self._waiting:
                while self._waiting and (self._seen < SCAN_LIMIT or not _find()):
                    self._list(self._waiting.pop(0))
                waiting, self._waiting = self._waiting, []
                self._list_by_find(waiting)
        finally:
            if self._root >= 0:
                os.close(self._root)
        listing = self._listing
        listing.lines, listing.git = frozenset(self._lines), tuple(sorted(self._git))
        listing.closed = tuple(sorted(set(self._closed)))
        return listing

    def _list(self, folder: str) -> None:
        try:
            scan = os.scandir(self._folder / folder)
        except OSError as error:
            if error.errno not in _GONE and self._reopen(folder):
                self._list(folder)
            return
        with scan:
            self._list_entries(folder, scan)

    def _list_entries(self, folder: str, entries: Iterable[os.DirEntry[str]]) -> None:
        for entry in entries:
            self._seen += 1
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                self._enter(path, entry)
                continue
            if entry.name == ".git":
                self._git.append(path[2:])
            try:
                self._keep([_line(entry, path)])
            except OSError as error:
                if error.errno not in _GONE:
                    self._closed.append(folder.removeprefix("./"))

    def _keep(self, lines: list[bytes]) -> None:
        if len(self._lines) + len(lines) > FILES:
            self._listing.partial = True
            lines = [line for line in lines if self._is_notable(line)]
        self._lines += lines

    def _enter(self, path: str, entry: os.DirEntry[str]) -> None:
        if is_git(entry.name):
            self._git.append(path[2:])
        with contextlib.suppress(OSError):
            self._listing.modes[path[2:]] = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        if _is_large_in_git(path):
            self._list_git_tree(path)
        else:
            self._waiting.append(path)

    def _list_git_tree(self, path: str) -> None:
        for foreign in self._git_trees.foreign_folders(self._folder, path, self._reopen):
            self._list(foreign)

    def _reopen(self, folder: str) -> bool:
        """Make a folder listable that cannot be listed; return whether listing it again can succeed."""
        name = folder.removeprefix("./")
        if name in self._listing.opened or len(self._listing.opened) >= MAX_OPENED:
            self._closed.append(name)
            return False
        try:
            if self._root < 0:
                self._root = os.open(os.path.realpath(self._folder), forced_access.ENTER)
            mode = forced_access.reopen_folder(self._root, name)
        except OSError as error:
            if error.errno not in _GONE:
                self._closed.append(name)
            return False
        if mode is None:  # it belongs to another user, so no command created it
            return False
        self._listing.opened[name] = mode
        return True

    def _list_by_find(self, places: list[str]) -> None:
        if not places:
            return
        groups = [places[number::FIND_PROCESSES] for number in range(min(FIND_PROCESSES, len(places)))]
        run_find = functools.partial(_run_find, self._folder, self._is_notable)
        with concurrent.futures.ThreadPoolExecutor(len(groups)) as threads:
            for found in threads.map(run_find, groups):
                self._add_folders([line for line in found.lines if line.startswith(b"d")], found.is_complete)
                self._add_files([line for line in found.lines if not line.startswith(b"d")])

    def _add_folders(self, lines: list[bytes], is_complete: bool) -> None:
        """Note folders that find listed. If the listing is incomplete, make those listable that find could not list."""
        for line in lines:
            kind, _, _, _, path = line.split(b" ", 4)
            name, mode = os.fsdecode(path), int(kind[1:], 8)
            if path.endswith(b"/.git"):
                self._git.append(name[2:])
            self._listing.modes[name[2:]] = mode
            if _is_large_in_git(name):
                self._list_git_tree(name)
            elif not is_complete and mode & _LISTABLE != _LISTABLE and self._reopen(name):
                self._waiting.append(name)

    def _add_files(self, lines: list[bytes]) -> None:
        self._keep([line if line[:1] in b"fls" else b"o" + line[1:] for line in lines])
        self._git += [os.fsdecode(line.split(b" ", 4)[4][2:]) for line in lines if line.endswith(b"/.git")]


def _line(entry: os.DirEntry[str], path: str) -> bytes:
    """Return the line of an entry, see `FolderSnapshot`."""
    status = entry.stat(follow_symlinks=False)
    if entry.is_symlink():
        kind = "l"
    elif entry.is_file(follow_symlinks=False):
        kind = "f"
    else:
        kind = "s" if stat.S_ISSOCK(status.st_mode) else "o"
    seconds, nanoseconds = divmod(status.st_ctime_ns, 1_000_000_000)
    mode, changed = f"{stat.S_IMODE(status.st_mode):o}", f"{seconds}.{nanoseconds:09d}0"
    return f"{kind}{mode} {status.st_ino}.{status.st_nlink} {status.st_size} {changed} ".encode() + os.fsencode(path)


def _run_find(folder: Path, is_notable: Callable[[bytes], object], places: Sequence[str]) -> _FoundLines:
    """Return a line for each entry below the given folders.

    After `FILES` lines, only folders and notable entries are returned.
    """
    lines: list[bytes] = []
    is_complete = True
    tests = ("(", *_PRUNED, "-printf", PRINTED, ")", "-o", "-printf", PRINTED)
    for first in range(0, len(places), MAX_STARTS):
        command = [_find(), *places[first : first + MAX_STARTS], *tests]
        null = subprocess.DEVNULL
        with subprocess.Popen(command, cwd=folder, env=_ENV, stdout=subprocess.PIPE, stderr=null) as process:
            assert process.stdout
            rest = b""
            while chunk := process.stdout.read(READ_BYTES):
                *found, rest = (rest + chunk).split(b"\0")
                if len(lines) > FILES:
                    found = [line for line in found if line.startswith(b"d") or is_notable(line)]
                lines += found
        is_complete = is_complete and process.returncode == 0
    return _FoundLines(lines, is_complete)


@functools.cache
def _find() -> str:
    """Return the path of GNU find on Linux, which alone has the option `-printf`; "" elsewhere."""
    return find_system_program("find") if sys.platform == "linux" else ""


def _is_large_in_git(path: str) -> bool:
    return path.rpartition("/")[2] in LARGE_IN_GIT and inside_git(path[2:])


def inside_git(path: str) -> bool:
    """Return whether a path is inside a `.git` folder."""
    return bool(path_in_git(path))
