"""Detection of the files that a command changed, by comparing inode, size and change time before and after it.

Contents are kept up to a limit, so that changes can be displayed and reverted; files that are not kept are named.
"""

import concurrent.futures
import functools
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from core.domain.problems import Problem
from core.domain.sensitive_paths import (
    LARGE_IN_GIT,
    is_git,
    is_hidden_from_commands,
    is_protected,
    is_read_only,
    may_need_protection,
)
from core.workspace.broker import FileBroker
from core.workspace.paths import is_utf8_name

SCAN_LIMIT = 2_000  # entries scanned in this process; beyond that, GNU find scans the rest on several cores
FIND_PROCESSES = max(2, min(4, os.cpu_count() or 1))
FILES = 500_000
FILE_SIZE = 1 << 20
TOTAL = 64 << 20
KEPT_FILES = 20_000
FIRST_S = 2.0  # seconds for reading contents before a command
RACY_NS = 20_000_000  # a file changed this recently may change again without a new change time
# Many generated files: changes in these folders are detected, but contents are not kept.
DERIVED = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".mypy_cache", ".ruff_cache"})
PRINTED = r"%y%m %i %s %C@ %p\0"
_NAMES = [word for name in sorted(LARGE_IN_GIT) for word in ("-o", "-name", name)]
_PRUNED = ("(", "-type", "d", "-path", "*/.git/*", "(", *_NAMES[1:], ")", "-prune", ")")
_ENV = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}

FolderSnapshot = frozenset[bytes]  # lines "kind+mode inode size ctime ./path" of everything but folders


@dataclass(frozen=True, slots=True)
class ScannedChange:
    """The contents of a file before and after a command; None if it did not or does not exist."""

    path: str
    before: bytes | None
    after: bytes | None
    modes: tuple[int, int] = field(default=(0, 0), compare=False)  # permission bits before and after


@dataclass(frozen=True, slots=True)
class UnrecordedChanges:
    """Changed paths beyond those with known contents.

    Attributes:
        unrecorded: changed files whose contents were not kept.
        protected: changed files that are protected, with or without contents.
        created: those of `unrecorded` that did not exist before.
    """

    unrecorded: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    created: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SensitivePaths:
    """Paths in the folder that the sandbox must protect or hide."""

    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class ContentCache:
    """File contents by path, up to a limit of size and number; once it is reached, nothing more is kept."""

    def __init__(self, total: int = TOTAL, files: int = KEPT_FILES) -> None:
        self._left, self._files = total, files
        self._bodies: dict[str, bytes] = {}

    def keep(self, path: str, body: bytes) -> bool:
        self.drop(path)
        if len(body) > self._left or len(self._bodies) >= self._files:
            return False
        self._left -= len(body)
        self._bodies[path] = body
        return True

    def get(self, path: str) -> bytes | None:
        return self._bodies.get(path)

    def copy(self) -> "ContentCache":
        """Return a copy that shares the contents themselves."""
        other = ContentCache()
        other._left, other._files, other._bodies = self._left, self._files, dict(self._bodies)
        return other

    def drop(self, path: str) -> None:
        self._left += len(self._bodies.pop(path, b""))


class FolderScan:
    """The state of a folder from one command of a run to the next. `on_content` receives all contents that are kept."""

    def __init__(
        self,
        folder: Path,
        contents: ContentCache | None = None,
        on_content: Callable[[str, bytes], None] | None = None,
        broker: FileBroker | None = None,
    ) -> None:
        self.folder = folder
        self._broker = broker
        self._contents = contents or ContentCache()
        self._keep = on_content
        self._look: FolderSnapshot = frozenset()
        self._known: dict[str, bytes] = {}  # the line of each file when its contents were kept
        self._met: FolderSnapshot = frozenset()
        self._noted: dict[bytes, str] = {}  # lines of paths that may have to be protected
        self._racy: set[bytes] = set()

    def fork(self) -> "FolderScan":
        """Return a copy for a background command, which runs while others follow."""
        other = FolderScan(self.folder, self._contents.copy(), broker=self._broker)
        other._look, other._met, other._known = self._look, self._met, dict(self._known)
        other._noted, other._racy = dict(self._noted), set(self._racy)
        return other

    def scan_before(self) -> SensitivePaths:
        """Scan the folder before a command, keep new contents, and return the paths to protect or hide."""
        edge = (time.time_ns() - RACY_NS) / 1e9
        self._look, git = take_snapshot(self.folder)
        fresh = self._look - self._met
        self._met = self._look
        self._racy = {line for line in fresh if float(line.split(b" ", 4)[3]) >= edge}
        self._noted = {line: path for line, path in self._noted.items() if line in self._look}
        self._noted |= {line: _path(line) for line in fresh if _noteworthy(line)}
        with self._reach() as broker:
            self._take(broker, fresh)
        paths = self._noted.values()
        top = [path for path in paths if "/" in path and is_read_only(path) and not _inside_git(path)]
        return SensitivePaths(
            tuple(sorted({*git, *top})), tuple(sorted(path for path in paths if is_hidden_from_commands(path)))
        )

    def changes_since(self) -> tuple[tuple[ScannedChange, ...], UnrecordedChanges]:
        """Return the changes since the last scan, sorted by path."""
        now, _ = take_snapshot(self.folder)
        # Files changed just before the first scan may have changed again with the same line, so they are compared too.
        same = self._racy & now
        old = {_path(line): line for line in (self._look - now) | same}
        new = {_path(line): line for line in (now - self._look) | same}
        altered: list[ScannedChange] = []
        lost: list[str] = []
        guarded: list[str] = []
        with self._reach() as broker:
            for path in sorted({*old, *new}):
                if _inside_git(path) and not _git_matters(path):
                    continue
                found = self._compare(broker, path, old.get(path), new.get(path))
                if found is None:
                    continue
                if is_protected(path) and not _fresh_repository(path, self._look):
                    guarded.append(path)
                if isinstance(found, ScannedChange):
                    altered.append(found)
                else:
                    lost.append(found)
        self._look = now
        made = tuple(path for path in lost if path not in old)
        return tuple(altered), UnrecordedChanges(tuple(lost), tuple(guarded), made)

    def _reach(self) -> AbstractContextManager[FileBroker]:
        return nullcontext(self._broker) if self._broker else FileBroker(self.folder)

    def _compare(
        self, broker: FileBroker, path: str, old: bytes | None, new: bytes | None
    ) -> ScannedChange | str | None:
        """Return the change, or only its path if contents are unknown; None if nothing changed after all."""
        before = self._contents.get(path) if old and self._known.get(path) == old else None
        after = self._read(broker, path, new) if new else None
        known = before is not None or not old
        if new and after is not None:
            self._store(path, after, new)
        else:
            self._contents.drop(path)
            self._known.pop(path, None)
        if not known or (new and after is None):
            return None if old == new else path
        modes = (_mode(old), _mode(new))
        return None if before == after and modes[0] == modes[1] else ScannedChange(path, before, after, modes)

    def _take(self, broker: FileBroker, lines: Iterable[bytes]) -> None:
        until = time.monotonic() + FIRST_S
        for line in lines:
            path = _path(line)
            if self._known.get(path) == line or _left_out(path):
                continue
            if time.monotonic() > until:
                return
            if (body := self._read(broker, path, line)) is not None:
                self._store(path, body, line)

    def _store(self, path: str, body: bytes, line: bytes) -> None:
        same = self._contents.get(path) == body
        if self._contents.keep(path, body):
            self._known[path] = line
            if self._keep and not same:
                self._keep(path, body)
        else:
            self._known.pop(path, None)

    def _read(self, broker: FileBroker, path: str, line: bytes) -> bytes | None:
        kind, _, size, _, _ = line.split(b" ", 4)
        if kind[:1] != b"f" or int(size) > FILE_SIZE or _left_out(path):
            return None
        try:
            return broker.read(path, FILE_SIZE)
        except Problem:
            return None


def take_snapshot(folder: Path) -> tuple[FolderSnapshot, tuple[str, ...]]:
    """Return a line for everything but folders, and the git folders. Large trees are scanned with GNU find."""
    lines: list[bytes] = []
    git: list[str] = []
    waiting = ["."]
    seen = 0
    while waiting and (seen < SCAN_LIMIT or not _find()):
        here = waiting.pop(0)
        try:
            with os.scandir(folder / here) as found:
                entries = list(found)
        except OSError:
            continue  # unreadable or deleted; such files cannot have been kept either
        seen += len(entries)
        for entry in entries:
            path = f"{here}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                git += [path[2:]] if is_git(entry.name) else []
                waiting += [] if _skipped(path) else [path]
                continue
            if entry.name == ".git":
                git.append(path[2:])
            if (line := _line(entry, path)) is not None:
                lines.append(line)
        if seen > FILES:
            raise Problem(
                "The folder is too large to scan.",
                f"It has more than {FILES:,} files.",
                "Work in one of its subfolders.",
            )
    for found_lines, found_git in _look_by_find(folder, waiting):
        lines += found_lines
        git += found_git
    return frozenset(lines), tuple(sorted(git))


def _mode(line: bytes | None) -> int:
    return int(line.split(b" ", 1)[0][1:], 8) & 0o777 if line else 0


def _path(line: bytes) -> str:
    return os.fsdecode(line.split(b" ", 4)[4][2:])


def _line(entry: os.DirEntry[str], path: str) -> bytes | None:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    kind = "l" if entry.is_symlink() else "f" if entry.is_file(follow_symlinks=False) else "o"
    seconds, rest = divmod(found.st_ctime_ns, 1_000_000_000)
    return (
        f"{kind}{stat.S_IMODE(found.st_mode):o} {found.st_ino} {found.st_size} {seconds}.{rest:09d}0 ".encode()
        + os.fsencode(path)
    )


def _look_by_find(folder: Path, places: list[str]) -> "Iterable[tuple[list[bytes], list[str]]]":
    if not places:
        return []
    groups = [places[number::FIND_PROCESSES] for number in range(min(FIND_PROCESSES, len(places)))]
    with concurrent.futures.ThreadPoolExecutor(len(groups)) as threads:
        return list(threads.map(lambda group: _one_find(folder, group), groups))


def _one_find(folder: Path, places: list[str]) -> tuple[list[bytes], list[str]]:
    lines: list[bytes] = []
    git: list[str] = []
    for start in range(0, len(places), 500):  # the length of a command line is limited
        words = [_find(), *places[start : start + 500], *_PRUNED, "-o", "-printf", PRINTED]
        printed = subprocess.run(words, cwd=folder, env=_ENV, capture_output=True, check=False).stdout
        lines += printed.split(b"\0")[:-1]
    folders = [line for line in lines if line.startswith(b"d")]
    git += [os.fsdecode(path[2:]) for line in folders if (path := line.split(b" ", 4)[4]).endswith(b"/.git")]
    if folders:
        lines = [line for line in lines if not line.startswith(b"d")]
    return [line if line[:1] in b"fl" else b"o" + line[1:] for line in lines], git


@functools.cache
def _find() -> str:
    """Return the path of GNU find, the only one with `-printf`; "" on other systems."""
    return (shutil.which("find") or "") if sys.platform == "linux" else ""


def _skipped(path: str) -> bool:
    """Return whether this is a large folder inside a git folder without configuration or hooks."""
    return path.rpartition("/")[2] in LARGE_IN_GIT and _inside_git(path[2:])


def _inside_git(path: str) -> bool:
    return "/.git/" in f"/{path}"


def _git_matters(path: str) -> bool:
    """Return whether a file in a git folder, also of a submodule or worktree, is configuration or a hook."""
    rest = f"/{path}".rpartition("/.git/")[2]
    return rest.rpartition("/")[2] in ("config", "config.worktree", "commondir") or "hooks/" in rest


def _fresh_repository(path: str, before: FolderSnapshot) -> bool:
    """Return whether the command created the repository: `git init` and `git clone` write configuration and hooks."""
    if not _inside_git(path):
        return False
    inside = os.fsencode(f"./{path}".rpartition("/.git/")[0]) + b"/.git/"
    return not any(line.split(b" ", 4)[4].startswith(inside) for line in before)


def _left_out(path: str) -> bool:
    if _inside_git(path):
        return not _git_matters(path) or not is_utf8_name(path)
    return (
        not is_utf8_name(path) or is_hidden_from_commands(path) or any(part in DERIVED for part in path.split("/")[:-1])
    )


def _noteworthy(line: bytes) -> bool:
    """Return whether a path may have to be protected or hidden."""
    return may_need_protection(line.split(b" ", 4)[4][2:])
