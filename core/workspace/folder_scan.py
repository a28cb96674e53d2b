"""Detects which files a command changed, by comparing inode, size and change time before and after.

File contents are kept in memory up to a limit, so that changes can be shown and reverted. For other files, only the
fact of a change is known.
"""

import base64
import functools
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.domain.sensitive_paths import is_hidden_from_commands, is_protected, is_read_only
from core.workspace import forced_access
from core.workspace.broker import READ_LIMIT, FileBroker
from core.workspace.content_cache import ContentCache
from core.workspace.file_change import FileChange, FileModes, FolderChanges, OriginalFile, UnrecordedChanges
from core.workspace.file_comparison import ChangedPath, change_since, is_private
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
from core.workspace.own_writes import OwnWrites
from core.workspace.paths import printable
from core.workspace.snapshot_lines import (
    git_folder_of,
    inode_of,
    is_git_link,
    is_new_repository,
    is_privileged,
    mode_of,
    path_of,
)
from core.workspace.trusted_places import CONFIG_FILES, NOTEWORTHY, TrustedPlaces, git_acts_on, is_noted, trusted_place

FILE_SIZE = 1 << 20
FIRST_S = 2.0  # seconds to spend on reading file contents before a command
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Files that make git act if they are in a git folder, which may have any name.
_REPOSITORY = re.compile(
    rb"/(?:HEAD|commondir|config|config\.worktree|info/attributes|(?:hooks|remotes|branches)/[^/]*)$"
)
# Folders with many generated files: their changes are detected, but their contents are not kept.
DERIVED = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".mypy_cache", ".ruff_cache"})


@dataclass(frozen=True, slots=True)
class SensitivePaths:
    """The result of a scan before a command: paths to protect or hide, `.git` paths, and unlistable folders."""

    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()  # files that remain hard links to files outside the folder, for lack of time or space


class FolderScan:
    """The state of a folder, kept from one command of a run to the next.

    `on_content` is called with the path and contents of each file whose contents are kept.
    """

    def __init__(
        self,
        folder: Path,
        contents: ContentCache | None = None,
        on_content: Callable[[str, bytes], None] | None = None,
        broker: FileBroker | None = None,
    ) -> None:
        self.folder = folder
        self._broker = broker
        self.lock = threading.Lock()  # callers hold it while they scan or revert; forks share it
        self.git_places: tuple[str, ...] = ()  # the `.git` folders and files of the last scan
        self._contents = contents or ContentCache()
        self._trusted = ContentCache()  # separate, so that untrusted files cannot exhaust its limit
        self._on_content = on_content
        self._snapshot: FolderSnapshot = frozenset()
        self._modes: dict[str, int] = {}  # permission bits of the subfolders
        self._any_folder = False  # True after `from_state`: unknown which folders existed
        self._known: dict[str, bytes] = {}  # by path, the line of a file when its contents were kept
        self._links: dict[str, bytes] = {}  # by path, the targets of trusted links and of links in git folders
        self._seen: FolderSnapshot = frozenset()
        self._separate: FolderSnapshot = frozenset()  # lines of files known to have no hard links outside the folder
        self._noted: dict[bytes, str] = {}  # by line, the paths that may need protection
        self._sockets: dict[bytes, str] = {}  # by line, the sockets that no command of this run created
        self._secrets: dict[bytes, str] = {}  # by inode, the files that commands must not see
        self._racy: set[bytes] = set()
        self._git_trees = GitTrees()
        self._places = TrustedPlaces(folder)
        self._places_of: frozenset[bytes] | None = None  # the lines for which `_places` was updated
        self._own_writes: OwnWrites | None = None  # since the last scan before a command

    def fork(self) -> "FolderScan":
        """Return a copy for a background command, so that later commands can scan independently."""
        other = FolderScan(self.folder, self._contents.copy(), broker=self._broker)
        other.lock = self.lock
        other.git_places = self.git_places
        other._trusted = self._trusted.copy()
        other._snapshot = self._snapshot
        other._modes = self._modes
        other._known = dict(self._known)
        other._links = dict(self._links)
        other._seen = self._seen
        other._noted = dict(self._noted)
        other._racy = set(self._racy)
        other._git_trees = self._git_trees
        other._places = self._places
        other._places_of = self._places_of
        other._own_writes = self._own_writes and self._own_writes.copy()
        return other

    def trusted_state(self) -> dict[str, Any]:
        """Return the state of trusted files before the command as JSON values, which `from_state` accepts."""
        lines = list(filter(self._matters, self._snapshot))
        known = {path: line for line in lines if self._known.get(path := path_of(line)) == line}
        bodies = {path: self._trusted.get(path) for path in known}
        return {
            "lines": [os.fsdecode(line) for line in lines],
            "bodies": {path: base64.b64encode(body).decode() for path, body in bodies.items() if body is not None},
            "links": {path: base64.b64encode(self._links[path]).decode() for path in known if path in self._links},
            "further": self._places.further,
            "modes": {path: mode for path, mode in self._modes.items() if self._is_trusted_folder(path)},
        }

    @classmethod
    def from_state(cls, folder: Path, broker: FileBroker, state: Mapping[str, Any]) -> "FolderScan":
        """Return a scan whose "before" is a state from `trusted_state`, possibly of another process."""
        scan = cls(folder, broker=broker)
        lines = {path_of(line): line for line in map(os.fsencode, state["lines"])}
        scan._snapshot = scan._seen = frozenset(lines.values())
        scan._noted = {line: path for path, line in lines.items() if is_noted(path)}
        for path, body in state["bodies"].items():
            scan._trusted.keep(path, base64.b64decode(body))
        scan._links = {path: base64.b64decode(target) for path, target in state["links"].items()}
        scan._known = {path: lines[path] for path in (*state["bodies"], *state["links"])}
        scan._places.set_further(state["further"])
        scan._places_of = frozenset()
        scan._modes = dict(state.get("modes", {}))
        scan._any_folder = True
        own = {path: body and base64.b64decode(body) for path, body in state.get("own_writes", {}).items()}
        files = {path: None if body is None else OriginalFile(body, 0o644) for path, body in own.items()}
        scan._own_writes = OwnWrites(folder, scan.lock, files)
        return scan

    def follow_own_writes(self, before_write: Callable[[str, bytes | None], None]) -> None:
        """From now on, call a function before Journeyman itself writes or removes a trusted file of the folder."""

        def announce(path: str, body: bytes | None) -> None:
            if self.is_trusted(path):
                before_write(path, body)

        if self._own_writes:
            self._own_writes.before_write = announce

    def is_trusted(self, path: str) -> bool:
        """Return whether other programs act on this path: by its name, through a link, or as git is configured."""
        return self._places.is_trusted(path)

    def find_places(self) -> None:
        """Find the trusted paths that links and git configurations define, unless a scan has already done so."""
        if self._places_of is not None:
            return
        with self._open_broker() as broker, suppress(Problem):
            links = [name for name, kind in broker.entries() if kind == "link" and is_read_only(name)]
            configs = [path for path in (f".git/{name}" for name in CONFIG_FILES) if broker.stat(path)]
            self._places.update(broker, links, {path: self._config(broker, path) for path in configs})

    def had_folder(self, path: str) -> bool:
        """Return whether this folder existed at the last scan before a command; True if that is unknown."""
        return self._any_folder or path in self._modes

    def scan_before(self, *, commands_run: bool = False, writes: bool = False) -> SensitivePaths:
        """Scan the folder before a command, keep new contents, and return the paths to protect or hide.

        `commands_run`: background commands are running, so new sockets are theirs and are not hidden. `writes`: the
        command may write, so files with hard links outside the folder are replaced by copies. Raise Problem if the
        folder is too large, or if a secret has vanished.
        """
        racy_since = (time.time_ns() - RACY_NS) / 1e9
        self._own_writes = OwnWrites(self.folder, self.lock)
        with self._open_broker() as broker:
            listing = self._list(broker)
            linked = links_outside(listing.lines - self._separate, listing.lines) if writes else []
            if linked:
                linked = list(separate(broker.descriptor, linked))
                listing = self._list(broker)
            if writes and not linked:
                self._separate = listing.lines
            if listing.partial:
                cause = f"It has more than {FILES:,} files."
                raise Problem("The folder is too large to scan.", cause, "Work in one of its subfolders.")
            self._snapshot = listing.lines
            self._modes = listing.modes | listing.opened
            self.git_places = listing.git
            fresh = self._snapshot - self._seen
            self._seen = self._snapshot
            self._racy = {line for line in fresh if float(line.split(b" ", 4)[3]) >= racy_since}
            self._note_lines(fresh, commands_run=commands_run)
            self._note_secrets(commands_run=commands_run)
            self._find_places(broker)
            self._keep_contents(broker, fresh)
        return self._sensitive_paths(listing, linked)

    def _list(self, broker: FileBroker, modes: Mapping[str, int] | None = None) -> FolderListing:
        """List the folder, and restore the permissions of folders that this made listable.

        They are restored as they were before the listing, or as in `modes`, or listable if unknown there.
        """
        listing = take_snapshot(self.folder, self._git_trees, self._is_notable)
        for name, mode in sorted(listing.opened.items(), reverse=True):
            restored = mode if modes is None else modes.get(name, mode | stat.S_IRWXU)
            with suppress(OSError):
                forced_access.set_mode(broker.descriptor, name, restored)
        return listing

    def _note_lines(self, fresh: Iterable[bytes], *, commands_run: bool) -> None:
        """Note which `fresh` lines may need protection, or are sockets to hide; forget those of removed files."""
        self._noted = {line: path for line, path in self._noted.items() if line in self._snapshot}
        self._noted |= {line: path for line in fresh if NOTEWORTHY.search(line) and is_noted(path := path_of(line))}
        self._sockets = {line: path for line, path in self._sockets.items() if line in self._snapshot}
        if not commands_run:
            self._sockets |= {line: path_of(line) for line in fresh if line.startswith(b"s")}

    def _sensitive_paths(self, listing: FolderListing, linked: Iterable[str]) -> SensitivePaths:
        paths = self._noted.values()
        protected = {trusted_place(path) for path in paths if not inside_git(path) and is_read_only(path)}
        further = {path for path in self._places.further if os.path.lexists(self.folder / path)}
        hidden = {path for path in paths if is_hidden_from_commands(path)}
        return SensitivePaths(
            protected=tuple(sorted({*listing.git, *protected, *further})),
            hidden=tuple(sorted({*hidden, *self._sockets.values()})),
            git=listing.git,
            closed=listing.closed,
            linked=tuple(linked),
        )

    def _note_secrets(self, *, commands_run: bool) -> None:
        """Note the files to hide from commands; raise Problem if a known one is missing while background commands run.

        A command could move a folder around during the scan, so that a secret in it is not hidden from the next
        command.
        """
        found = {inode_of(line): path for line, path in self._noted.items() if is_hidden_from_commands(path)}
        missing = [path for inode, path in self._secrets.items() if inode not in found] if commands_run else []
        self._secrets = {**self._secrets, **found} if commands_run else found
        if missing:
            cause = f"{printable(missing[0])} was moved or deleted by a command in the background."
            raise Problem("The command was not run, because it could see secrets.", cause, "End that command first.")

    def changes_since(self) -> FolderChanges:
        """Return the changes since the last scan that Journeyman did not make itself.

        The permissions of folders that became unlistable are restored.
        """
        with self._open_broker() as broker:
            changes = self._changes(broker, self._list(broker, self._modes))
            self._own_writes = None
            return changes

    def trusted_changes(self) -> FolderChanges:
        """Return the changes since the last scan if a trusted file may be among them, else none.

        The state of the last scan stays, so that the next call compares with it again.
        """
        with self._open_broker() as broker:
            listing = self._list(broker, self._modes)
            changed = (self._snapshot ^ listing.lines) | (self._racy & listing.lines)
            if not (listing.closed or self._new_marks(listing) or any(map(self._may_matter, changed))):
                return FolderChanges()
            return self.fork()._changes(broker, listing)

    def changes_of(self, path: str) -> FolderChanges | None:
        """Return the change of one trusted file since the last scan; None if it was a link or is unknown."""
        line = next((line for line in self._snapshot if line.endswith(b" ./" + os.fsencode(path))), None)
        own = self._own_writes.files if self._own_writes else {}
        original = own[path] if path in own else self._original(path, line)
        was_link = original is not None and original.link
        is_unknown = original is None and line is not None and path not in own
        if was_link or is_unknown:
            return None
        with self._open_broker() as broker:
            change = change_since(broker, path, original)
        if not isinstance(change, ChangedPath):
            return FolderChanges((change,) if change else ())
        missed = UnrecordedChanges(
            unrecorded=(path,), created=() if original else (path,), originals={path: original} if original else {}
        )
        return FolderChanges(missed=missed)

    def changes_of_state(self) -> FolderChanges:
        """Return the changes to trusted files since the state that `from_state` restored."""
        with self._open_broker() as broker:
            listing = self._list(broker, self._modes)
            listing.lines = frozenset(filter(self._matters, listing.lines))
            if self._own_writes:  # Leave out those that did not happen, because Journeyman was killed just before.
                changed = {path_of(line) for line in self._snapshot ^ listing.lines}
                own = self._own_writes.files
                self._own_writes.files = {path: file for path, file in own.items() if path in changed}
            return self._changes(broker, listing)

    def _matters(self, line: bytes) -> bool:
        return self._is_notable(line) or self._may_matter(line)

    def _is_notable(self, line: bytes) -> bool:
        """Return whether a path matters for security: in very large folders, only these paths are compared."""
        if NOTEWORTHY.search(line) or _REPOSITORY.search(line) or is_privileged(line):
            return True
        return bool(self._places.further) and self.is_trusted(path_of(line))

    def _may_matter(self, line: bytes) -> bool:
        path = path_of(line)
        if _REPOSITORY.search(line) or "hooks/" in path or is_privileged(line):
            return True
        return is_git_link(path, line) or self.is_trusted(path)

    def _changes(self, broker: FileBroker, listing: FolderListing) -> FolderChanges:
        """Return the changes between the snapshot and a new listing, which then becomes the snapshot."""
        # A file changed just before the first scan may have changed again within the time stamp's resolution: compare
        # contents.
        racy = self._racy & listing.lines
        before = set(filter(self._is_notable, self._snapshot)) if listing.partial else self._snapshot
        now = set(filter(self._is_notable, listing.lines)) if listing.partial else listing.lines
        old = {path_of(line): line for line in (before - now) | (racy & now)}
        new = {path_of(line): line for line in (now - before) | (racy & now)}
        own = self._own_writes.files if self._own_writes else {}
        changes: dict[str, FileChange | ChangedPath] = {}
        originals: dict[str, OriginalFile | None] = {}
        for path in sorted({*old, *new, *own}):
            old_line, new_line = old.get(path), new.get(path)
            if inside_git(path) and not git_acts_on(path) and not is_git_link(path, old_line, new_line):
                continue
            # `_compare` replaces the kept contents, so the original is found first.
            originals[path] = own[path] if path in own else self._original(path, old_line)
            change = self._compare(broker, path, old_line, new_line)
            if path in own:
                change = change_since(broker, path, own[path])
            if change is not None:
                changes[path] = change
        marks = self._new_marks(listing)
        unrecorded = [path for path, change in changes.items() if isinstance(change, ChangedPath)]
        created = [path for path in unrecorded if not originals[path] and (path in own or path not in old)]
        privileged = [path for path, line in new.items() if is_privileged(line) and not is_privileged(old.get(path))]
        missed = UnrecordedChanges(
            unrecorded=(*unrecorded, *marks),
            protected=(*self._protected_among(changes), *marks),
            created=(*created, *marks),
            originals={path: original for path in unrecorded if (original := originals[path])},
            privileged=tuple(sorted(privileged)),
            closed=listing.closed,
            loosened=self._loosened(listing, old, new),
        )
        self._snapshot = listing.lines
        self.git_places = listing.git
        self._seen |= {line for line in new.values() if line.startswith(b"s")}  # sockets of commands are not hidden
        return FolderChanges(tuple(change for change in changes.values() if isinstance(change, FileChange)), missed)

    def _new_marks(self, listing: FolderListing) -> list[str]:
        """Return the new folders in a listing whose mere existence makes shells run programs of the repository."""
        return TrustedPlaces.marks(listing.modes.keys() - self._modes.keys())

    def _protected_among(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield the protected and trusted paths, except those in git folders that are not in the snapshot."""
        is_new = functools.cache(functools.partial(is_new_repository, self._snapshot))
        for path in paths:
            is_sensitive = is_protected(path) or self.is_trusted(path)
            if is_sensitive and not (inside_git(path) and is_new(git_folder_of(path))):
                yield path

    def _loosened(self, listing: FolderListing, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, int]:
        """Return the former permission bits of trusted folders and git files that others may now write to, by path."""
        folders = (path for path in listing.modes.keys() & self._modes.keys() if self._is_trusted_folder(path))
        modes = {path: (self._modes[path], listing.modes[path]) for path in folders}
        git_files = filter(inside_git, old.keys() & new.keys())
        modes |= {path: (mode_of(old[path]), mode_of(new[path])) for path in git_files}
        return {path: before for path, (before, after) in modes.items() if after & ~before & OTHERS_WRITE}

    def _is_trusted_folder(self, path: str) -> bool:
        return inside_git(f"{path}/x") or self.is_trusted(path)

    def _find_places(self, broker: FileBroker) -> None:
        """Find the trusted paths that links and git configurations define, if these changed since the last scan."""
        links = [line for line in self._noted if line.startswith(b"l")]
        configs = [
            line for line in self._noted if line.endswith((b"/config", b"/config.worktree")) and b"/.git/" in line
        ]
        lines = frozenset([*links, *configs])
        if lines == self._places_of:
            return
        texts = {path: self._config(broker, path) for path in map(path_of, configs)}
        self._places.update(broker, (self._noted[line] for line in links), texts)
        self._places_of = lines

    def _config(self, broker: FileBroker, path: str) -> str:
        try:
            return broker.read(path).decode("utf-8", "replace")
        except Problem:
            return ""

    def _original(self, path: str, line: bytes | None) -> OriginalFile | None:
        """Return the state of a path before the command, given its line from then; None if it is unknown."""
        if line is None or self._known.get(path) != line:
            return None
        if line.startswith(b"l"):
            return OriginalFile(self._links[path], 0, link=True) if path in self._links else None
        body = self._cache(trusted=self.is_trusted(path)).get(path)
        return None if body is None else OriginalFile(body, mode_of(line))

    def _open_broker(self) -> AbstractContextManager[FileBroker]:
        return nullcontext(self._broker) if self._broker else FileBroker(self.folder)

    def _compare(
        self, broker: FileBroker, path: str, old: bytes | None, new: bytes | None
    ) -> FileChange | ChangedPath | None:
        """Return the change of a path between two of its lines, None if nothing changed; keep the new contents."""
        trusted = self.is_trusted(path)
        cache = self._cache(trusted=trusted)
        before = cache.get(path) if old and self._known.get(path) == old else None
        after = self._read(broker, path, new, trusted=trusted) if new else None
        if new and after is not None:
            self._store(path, after, new, cache)
        elif old != new:
            cache.drop(path)
            self._known.pop(path, None)
        is_before_known = before is not None or not old
        is_after_known = after is not None or not new
        if not (is_before_known and is_after_known):
            return None if old == new else ChangedPath(path)
        modes = FileModes(before=mode_of(old), after=mode_of(new))
        if before == after and modes.before == modes.after:
            return None
        return ChangedPath(path) if is_private(path) else FileChange(path, before, after, modes)

    def _keep_contents(self, broker: FileBroker, lines: Iterable[bytes]) -> None:
        """Keep the contents of the files of these lines: all trusted ones, then untrusted ones until the time limit."""
        untrusted: dict[str, bytes] = {}  # path → line
        for line in lines:
            path = path_of(line)
            if self._known.get(path) == line:
                continue
            may_be_trusted = line in self._noted or self._places.further
            if is_git_link(path, line) or (may_be_trusted and self.is_trusted(path)):
                self._keep_one(broker, path, line, trusted=True)
            elif not _left_out(path):
                untrusted[path] = line
        deadline = time.monotonic() + FIRST_S
        for path, line in untrusted.items():
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
        is_new = cache.get(path) != body
        if not cache.keep(path, body):
            self._known.pop(path, None)
            return
        self._known[path] = line
        if self._on_content and is_new and len(body) <= FILE_SIZE and not is_private(path):
            self._on_content(path, body)

    def _read(self, broker: FileBroker, path: str, line: bytes, *, trusted: bool) -> bytes | None:
        kind, _, size, _, _ = line.split(b" ", 4)
        limit = READ_LIMIT if trusted else FILE_SIZE
        if kind[:1] != b"f" or int(size) > limit or (not trusted and _left_out(path)):
            return None
        try:
            return broker.read(path, limit)
        except Problem:
            return None


def _left_out(path: str) -> bool:
    """Return whether the contents of an untrusted file are not kept."""
    return inside_git(path) or is_private(path) or any(part in DERIVED for part in path.split("/")[:-1])
