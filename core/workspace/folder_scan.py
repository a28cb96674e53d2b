"""Detection of the files that a command changed, by comparing inode, size and change time before and after it.

Contents are kept up to a limit, so that changes can be displayed and reverted; files that are not kept are named.
"""

import base64
import functools
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.domain.sensitive_paths import is_hidden_from_commands, is_protected, is_read_only, path_in_git
from core.workspace import forced_access
from core.workspace.broker import READ_LIMIT, FileBroker
from core.workspace.folder_listing import (
    FILES,
    RACY_NS,
    FolderListing,
    FolderSnapshot,
    GitTrees,
    inside_git,
    take_snapshot,
)
from core.workspace.linked_files import links_outside, separate
from core.workspace.paths import is_utf8_name, printable
from core.workspace.trusted_places import CONFIG_FILES, NOTEWORTHY, TrustedPlaces, git_acts_on, is_noted, trusted_place

FILE_SIZE = 1 << 20
TOTAL = 64 << 20
KEPT_FILES = 20_000
FIRST_S = 2.0  # seconds for reading contents before a command
_REPOSITORY = re.compile(rb"/(?:HEAD|commondir|config|config\.worktree|hooks/[^/]*)$")  # of a git folder of any name
# Many generated files: changes in these folders are detected, but contents are not kept.
DERIVED = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".mypy_cache", ".ruff_cache"})


@dataclass(frozen=True, slots=True)
class ScannedChange:
    """The contents of a file before and after a command; None if it did not or does not exist."""

    path: str
    before: bytes | None
    after: bytes | None
    modes: tuple[int, int] = field(default=(0, 0), compare=False)  # permission bits before and after


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """What a path was before a command: the contents of a file, or the target of a link."""

    body: bytes
    mode: int
    link: bool = False


@dataclass(frozen=True, slots=True)
class UnrecordedChanges:
    """Changed paths beyond those with known contents.

    Attributes:
        unrecorded: changed files whose contents were not kept.
        protected: changed files that are protected, with or without contents.
        created: those of `unrecorded` that did not exist before.
        originals: what those of `unrecorded` were before, as far as it is known.
        privileged: files that run with the rights of their owner or group, and did not before.
        closed: folders of this user that cannot be listed, so that changes in them are unknown.
    """

    unrecorded: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    originals: Mapping[str, OriginalFile] = field(default_factory=dict, compare=False)
    privileged: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SensitivePaths:
    """Paths in the folder that the sandbox must protect or hide, repositories, and folders that cannot be listed."""

    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()  # files that are hard links to files outside the folder, and stayed that


class ContentCache:
    """File contents by path, up to a limit of size and number; once it is reached, nothing more is kept."""

    def __init__(self, total: int = TOTAL, files: int = KEPT_FILES) -> None:
        self._left = total
        self._files = files
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
        self.lock = threading.Lock()  # held by callers while they scan and revert; shared by copies
        self.git_places: tuple[str, ...] = ()  # git folders as of the last scan, and files that lead to one
        self._contents = contents or ContentCache()
        self._trusted = ContentCache()  # on its own, so that other files cannot use up its space
        self._on_content = on_content
        self._snapshot: FolderSnapshot = frozenset()
        self._modes: dict[str, int] = {}  # the permission bits of the folders
        self._any_folder = False  # it is not known which folders there were
        self._known: dict[str, bytes] = {}  # the line of each file when its contents were kept
        self._links: dict[str, bytes] = {}  # the targets of trusted links, and of those in git folders
        self._seen: FolderSnapshot = frozenset()
        self._separate: FolderSnapshot = frozenset()  # lines of files without hard links to files outside
        self._noted: dict[bytes, str] = {}  # lines of paths that may have to be protected
        self._sockets: dict[bytes, str] = {}  # lines of sockets that no command of this run has created
        self._secrets: dict[bytes, str] = {}  # the files that commands must not see, by inode
        self._racy: set[bytes] = set()
        self._git_trees = GitTrees()
        self._places = TrustedPlaces(folder)
        self._places_of: frozenset[bytes] | None = None  # the lines for which `_places` was updated

    def fork(self) -> "FolderScan":
        """Return a copy for a background command, which runs while others follow."""
        other = FolderScan(self.folder, self._contents.copy(), broker=self._broker)
        other._trusted = self._trusted.copy()
        other._snapshot, other._seen, other._known = self._snapshot, self._seen, dict(self._known)
        other._links, other._git_trees, other.lock = dict(self._links), self._git_trees, self.lock
        other._noted, other._racy, other._modes = dict(self._noted), set(self._racy), self._modes
        other._places, other._places_of = self._places, self._places_of
        other.git_places = self.git_places
        return other

    def trusted_state(self) -> dict[str, Any]:
        """Return the trusted files as of the last scan before a command, for `from_state`, as JSON."""
        lines = list(filter(self._matters, self._snapshot))
        known = {path: line for line in lines if self._known.get(path := _path(line)) == line}
        bodies = {path: self._trusted.get(path) for path in known}
        return {
            "lines": [os.fsdecode(line) for line in lines],
            "bodies": {path: base64.b64encode(body).decode() for path, body in bodies.items() if body is not None},
            "links": {path: base64.b64encode(self._links[path]).decode() for path in known if path in self._links},
            "further": self._places.further,
        }

    @classmethod
    def from_state(cls, folder: Path, broker: FileBroker, state: Mapping[str, Any]) -> "FolderScan":
        """Return a scan that compares with a state that `trusted_state` returned."""
        scan = cls(folder, broker=broker)
        lines = {_path(line): line for line in map(os.fsencode, state["lines"])}
        scan._snapshot = scan._seen = frozenset(lines.values())
        scan._noted = {line: path for path, line in lines.items() if is_noted(path)}
        for path, body in state["bodies"].items():
            scan._trusted.keep(path, base64.b64decode(body))
        scan._links = {path: base64.b64decode(target) for path, target in state["links"].items()}
        scan._known = {path: lines[path] for path in (*state["bodies"], *state["links"])}
        scan._places.set_further(state["further"])
        scan._places_of = frozenset()
        scan._any_folder = True
        return scan

    def is_trusted(self, path: str) -> bool:
        """Return whether other programs act on this path: by its name, through a link, or as git is configured."""
        return self._places.is_trusted(path)

    def find_places(self) -> None:
        """Find the trusted places that links and the configuration of git define, unless a scan has found them."""
        if self._places_of is not None:
            return
        with self._open_broker() as broker, suppress(Problem):
            links = [name for name, kind in broker.entries() if kind == "link" and is_read_only(name)]
            configs = [path for path in (f".git/{name}" for name in CONFIG_FILES) if broker.stat(path)]
            self._places.update(broker, links, [(path, self._config(broker, path)) for path in configs])

    def had_folder(self, path: str) -> bool:
        """Return whether there was a folder at this path in the last scan before a command."""
        return self._any_folder or path in self._modes

    def scan_before(self, *, commands_run: bool = False, writes: bool = False) -> SensitivePaths:
        """Scan the folder before a command, keep new contents, and return the paths to protect or hide.

        `commands_run`: commands run in the background, and new sockets are theirs. `writes`: the command may write, so
        files with hard links to files outside the folder are separated from these.
        """
        racy_since = (time.time_ns() - RACY_NS) / 1e9
        with self._open_broker() as broker:
            listing = take_snapshot(self.folder, self._git_trees, self._is_notable)
            self._restore_modes(broker, listing, listing.opened)
            linked = links_outside(listing.lines - self._separate, listing.lines) if writes else []
            if linked:
                linked = list(separate(broker.descriptor, linked))
                listing = take_snapshot(self.folder, self._git_trees, self._is_notable)
                self._restore_modes(broker, listing, listing.opened)
            if writes and not linked:
                self._separate = listing.lines
            if listing.partial:
                cause = f"It has more than {FILES:,} files."
                raise Problem("The folder is too large to scan.", cause, "Work in one of its subfolders.")
            self._snapshot, self._modes = listing.lines, listing.modes | listing.opened
            self.git_places = listing.git
            fresh = self._snapshot - self._seen
            self._seen = self._snapshot
            self._racy = {line for line in fresh if float(line.split(b" ", 4)[3]) >= racy_since}
            self._noted = {line: path for line, path in self._noted.items() if line in self._snapshot}
            self._noted |= {line: path for line in fresh if NOTEWORTHY.search(line) and is_noted(path := _path(line))}
            self._sockets = {line: path for line, path in self._sockets.items() if line in self._snapshot}
            if not commands_run:
                self._sockets |= {line: _path(line) for line in fresh if line.startswith(b"s")}
            self._note_secrets(commands_run=commands_run)
            self._find_places(broker)
            self._keep_contents(broker, fresh)
        paths = self._noted.values()
        protected = {trusted_place(path) for path in paths if not inside_git(path) and is_read_only(path)}
        further = {path for path in self._places.further if os.path.lexists(self.folder / path)}
        hidden = {path for path in paths if is_hidden_from_commands(path)} | set(self._sockets.values())
        return SensitivePaths(
            tuple(sorted({*listing.git, *protected, *further})),
            tuple(sorted(hidden)),
            listing.git,
            listing.closed,
            tuple(linked),
        )

    def _note_secrets(self, *, commands_run: bool) -> None:
        """Note the files to hide from commands. Raise Problem if one is not found while commands run.

        A command could move its folder around during the scan, so that it is not hidden from the next command.
        """
        found = {_inode(line): path for line, path in self._noted.items() if is_hidden_from_commands(path)}
        missing = [path for inode, path in self._secrets.items() if inode not in found] if commands_run else []
        self._secrets = {**self._secrets, **found} if commands_run else found
        if missing:
            cause = f"{printable(missing[0])} was moved or deleted by a command in the background."
            raise Problem("The command was not run, because it could see secrets.", cause, "End that command first.")

    def changes_since(self) -> tuple[tuple[ScannedChange, ...], UnrecordedChanges]:
        """Return the changes since the last scan, sorted by path. Folders that became unlistable are opened."""
        with self._open_broker() as broker:
            listing = take_snapshot(self.folder, self._git_trees, self._is_notable)
            self._restore_modes(broker, listing, self._modes)
            return self._changes(broker, listing)

    def trusted_changes(self) -> tuple[tuple[ScannedChange, ...], UnrecordedChanges]:
        """Return the changes to trusted files since the last scan, which stays what the next scan compares with."""
        with self._open_broker() as broker:
            listing = take_snapshot(self.folder, self._git_trees, self._is_notable)
            self._restore_modes(broker, listing, self._modes)
            changed = (self._snapshot ^ listing.lines) | (self._racy & listing.lines)
            if not listing.closed and not any(map(self._may_matter, changed)):
                return (), UnrecordedChanges()
            return self.fork()._changes(broker, listing)

    def changes_of_state(self) -> tuple[tuple[ScannedChange, ...], UnrecordedChanges]:
        """Return the changes to trusted files since the state that this scan was made from."""
        with self._open_broker() as broker:
            listing = take_snapshot(self.folder, self._git_trees, self._is_notable)
            self._restore_modes(broker, listing, self._modes)
            listing.lines = frozenset(filter(self._matters, listing.lines))
            return self._changes(broker, listing)

    def _matters(self, line: bytes) -> bool:
        return bool(self._is_notable(line)) or self._may_matter(line)

    def _is_notable(self, line: bytes) -> bool:
        """Return whether a path matters for safety: with very many files, only such paths are compared."""
        named = NOTEWORTHY.search(line) or _REPOSITORY.search(line)
        return bool(named) or _is_privileged(line) or (bool(self._places.further) and self.is_trusted(_path(line)))

    def _may_matter(self, line: bytes) -> bool:
        path = _path(line)
        leaf = path.rpartition("/")[2]
        is_special = leaf in (*CONFIG_FILES, "HEAD", "commondir") or "hooks/" in path or _is_privileged(line)
        return is_special or _is_git_link(path, line) or self.is_trusted(path)

    def _changes(
        self, broker: FileBroker, listing: FolderListing
    ) -> tuple[tuple[ScannedChange, ...], UnrecordedChanges]:
        lines = listing.lines
        # Files changed just before the first scan may have changed again with the same line, so they are compared too.
        racy = self._racy & lines
        before = set(filter(self._is_notable, self._snapshot)) if listing.partial else self._snapshot
        now = set(filter(self._is_notable, lines)) if listing.partial else lines
        old = {_path(line): line for line in (before - now) | (racy & now)}
        new = {_path(line): line for line in (now - before) | (racy & now)}
        altered: list[ScannedChange] = []
        unrecorded: list[str] = []
        protected: list[str] = []
        originals: dict[str, OriginalFile] = {}
        is_new_repository = functools.cache(functools.partial(_is_new_repository, self._snapshot))
        for path in sorted({*old, *new}):
            if inside_git(path) and not git_acts_on(path) and not _is_git_link(path, old.get(path), new.get(path)):
                continue
            original = self._original(path, old.get(path))
            change = self._compare(broker, path, old.get(path), new.get(path))
            if change is None:
                continue
            is_sensitive = is_protected(path) or self.is_trusted(path)
            if is_sensitive and not (inside_git(path) and is_new_repository(_git_folder(path))):
                protected.append(path)
            if isinstance(change, ScannedChange):
                altered.append(change)
                continue
            unrecorded.append(change)
            if original:
                originals[path] = original
        privileged = [path for path, line in new.items() if _is_privileged(line) and not _is_privileged(old.get(path))]
        self._snapshot, self.git_places = lines, listing.git
        self._seen |= {line for line in new.values() if line.startswith(b"s")}  # sockets of commands are not hidden
        created = tuple(path for path in unrecorded if path not in old)
        missed = UnrecordedChanges(
            tuple(unrecorded),
            tuple(protected),
            created,
            originals,
            tuple(sorted(privileged)),
            listing.closed,
        )
        return tuple(altered), missed

    def _restore_modes(self, broker: FileBroker, listing: FolderListing, modes: Mapping[str, int]) -> None:
        """Give the folders that were opened for the listing the permissions that they had before."""
        for name, mode in sorted(listing.opened.items(), reverse=True):
            before = modes.get(name, mode | stat.S_IRWXU)
            with suppress(OSError):
                forced_access.set_mode(broker.descriptor, name, before)

    def _find_places(self, broker: FileBroker) -> None:
        """Find the trusted places that depend on links and on configurations of git, if these have changed."""
        links = [line for line in self._noted if line.startswith(b"l")]
        configs = [
            line for line in self._noted if line.endswith((b"/config", b"/config.worktree")) and b"/.git/" in line
        ]
        if (lines := frozenset([*links, *configs])) == self._places_of:
            return
        texts = [(path, self._config(broker, path)) for path in map(_path, configs)]
        self._places.update(broker, (self._noted[line] for line in links), texts)
        self._places_of = lines

    def _config(self, broker: FileBroker, path: str) -> str:
        try:
            return broker.read(path).decode("utf-8", "replace")
        except Problem:
            return ""

    def _original(self, path: str, line: bytes | None) -> OriginalFile | None:
        """Return what a path was before, if that is known."""
        if line is None or self._known.get(path) != line:
            return None
        if line.startswith(b"l"):
            return OriginalFile(self._links[path], 0, link=True) if path in self._links else None
        body = self._cache(trusted=self.is_trusted(path)).get(path)
        return None if body is None else OriginalFile(body, _mode(line))

    def _open_broker(self) -> AbstractContextManager[FileBroker]:
        return nullcontext(self._broker) if self._broker else FileBroker(self.folder)

    def _compare(
        self, broker: FileBroker, path: str, old: bytes | None, new: bytes | None
    ) -> ScannedChange | str | None:
        """Return the change, or only its path if contents are unknown; None if nothing changed after all."""
        trusted = self.is_trusted(path)
        cache = self._cache(trusted=trusted)
        before = cache.get(path) if old and self._known.get(path) == old else None
        after = self._read(broker, path, new, trusted=trusted) if new else None
        is_before_known = before is not None or not old
        if new and after is not None:
            self._store(path, after, new, cache)
        elif old != new:
            cache.drop(path)
            self._known.pop(path, None)
        if not is_before_known or (new and after is None):
            return None if old == new else path
        modes = (_mode(old), _mode(new))
        if before == after and modes[0] == modes[1]:
            return None
        return path if _is_private(path) else ScannedChange(path, before, after, modes)

    def _keep_contents(self, broker: FileBroker, lines: Iterable[bytes]) -> None:
        """Keep the contents of files: all trusted ones first, then the rest until the time is up."""
        untrusted: list[tuple[bytes, str]] = []
        for line in lines:
            path = _path(line)
            if self._known.get(path) == line:
                continue
            may_be_trusted = line in self._noted or self._places.further
            if _is_git_link(path, line) or (may_be_trusted and self.is_trusted(path)):
                self._keep_one(broker, path, line, trusted=True)
            elif not _left_out(path):
                untrusted.append((line, path))
        deadline = time.monotonic() + FIRST_S
        for line, path in untrusted:
            if time.monotonic() > deadline:
                return
            self._keep_one(broker, path, line, trusted=False)

    def _keep_one(self, broker: FileBroker, path: str, line: bytes, *, trusted: bool) -> None:
        if line.startswith(b"l"):
            with suppress(Problem):
                self._links[path] = broker.read_link(path)
                self._known[path] = line
        elif (body := self._read(broker, path, line, trusted=trusted)) is not None:
            self._store(path, body, line, self._cache(trusted=trusted))

    def _cache(self, *, trusted: bool) -> ContentCache:
        return self._trusted if trusted else self._contents

    def _store(self, path: str, body: bytes, line: bytes, cache: ContentCache) -> None:
        same = cache.get(path) == body
        if cache.keep(path, body):
            self._known[path] = line
            if self._on_content and not same and len(body) <= FILE_SIZE and not _is_private(path):
                self._on_content(path, body)
        else:
            self._known.pop(path, None)

    def _read(self, broker: FileBroker, path: str, line: bytes, *, trusted: bool) -> bytes | None:
        kind, _, size, _, _ = line.split(b" ", 4)
        limit = READ_LIMIT if trusted else FILE_SIZE
        if kind[:1] != b"f" or int(size) > limit or (not trusted and _left_out(path)):
            return None
        try:
            return broker.read(path, limit)
        except Problem:
            return None


def _mode(line: bytes | None) -> int:
    return int(line.split(b" ", 1)[0][1:], 8) & 0o777 if line else 0


def _inode(line: bytes) -> bytes:
    return line.split(b" ", 2)[1].partition(b".")[0]


def _is_privileged(line: bytes | None) -> bool:
    kind = line.split(b" ", 1)[0] if line else b"f0"
    return kind.startswith(b"f") and bool(int(kind[1:], 8) & forced_access.PRIVILEGES)


def _path(line: bytes) -> str:
    return os.fsdecode(line.split(b" ", 4)[4][2:])


def _is_git_link(path: str, *lines: bytes | None) -> bool:
    """Return whether a path in a git folder is or was a link, which could lead git elsewhere."""
    is_head = path.endswith("/HEAD") and "logs" not in path_in_git(path).split("/")  # git once made these as links
    return not is_head and inside_git(path) and any(line is not None and line.startswith(b"l") for line in lines)


def _git_folder(path: str) -> bytes:
    """Return the innermost git folder that a path is in, as it begins the path of a line."""
    return os.fsencode(f"./{path}".rpartition("/.git/")[0]) + b"/.git/"


def _is_new_repository(before: FolderSnapshot, git_folder: bytes) -> bool:
    """Return whether the command created the repository: `git init` and `git clone` write configuration and hooks."""
    return not any(line.split(b" ", 4)[4].startswith(git_folder) for line in before)


def _left_out(path: str) -> bool:
    return inside_git(path) or _is_private(path) or any(part in DERIVED for part in path.split("/")[:-1])


def _is_private(path: str) -> bool:
    """Return whether contents must not be recorded: of secrets, and of files whose name an event cannot store."""
    return not is_utf8_name(path) or is_hidden_from_commands(path)
