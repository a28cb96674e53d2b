"""Preserves git history while a command runs, so that a command that deletes or overwrites it loses nothing.

Loose objects and references are copied before a command. Packs can be large and are kept open instead: an open file
survives its deletion, and the sandbox does not let a command change packs. Each time, only changes since the previous
command are read. If Journeyman is killed during a command, `recover_history` restores the history from the files of
`history_store`.
"""

import contextlib
import itertools
import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, NamedTuple

from core.workspace import forced_access
from core.workspace.beneath import open_by_walking, open_folder
from core.workspace.git_folders import OBJECTS, kept_git_folders
from core.workspace.git_packs import check_packs, name_length, objects_of_index
from core.workspace.git_references import (
    FileState,
    References,
    is_folder,
    last_change,
    open_file,
    read_references,
    restoring_writes,
    set_aside,
    state_of,
)
from core.workspace.hidden_history import (
    REPLACEMENTS,
    is_cache,
    is_pack,
    is_replacement,
    revealing_writes,
    watched_states,
)
from core.workspace.history_store import (
    CopiedObject,
    HistoryFolder,
    RepositoryStore,
    StoredHistory,
    abandoned_repositories,
    open_copies,
    read_history,
)

PACKS = "objects/pack"
OBJECT_MODE = 0o444
MAX_COPIED = 256 << 20  # bytes of loose objects to copy per repository
MAX_PACKS = 200  # pack files to keep open per repository, the largest first
OPEN_SHARE = 2  # history may use one in OPEN_SHARE of the files that this process may open
_OBJECT_FOLDER = re.compile(r"[0-9a-f]{2}")
_OBJECT_PATH = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]+")
# File name lengths of loose objects: SHA-1 and SHA-256 in hexadecimal, without the two digits of the folder.
_OBJECT_LENGTHS = (38, 62)
_PACK = re.compile(r"pack-(?:[0-9a-f]{40}|[0-9a-f]{64})\.(?:pack|idx|rev|promisor|keep)")


class MissingHistory(NamedTuple):
    """The paths of the repositories whose history could not be kept.

    Attributes:
        incomplete: those that are kept only partly.
        left_out: those that are not kept, because this process may not open more files.
    """

    incomplete: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class _ObjectFile(NamedTuple):
    """The state of an object file and its contents."""

    state: FileState
    body: bytes


class _Forgeries(NamedTuple):
    """What `_Repository._remove_forgeries` found.

    Attributes:
        removed: descriptions of the removed files.
        packed: the hashes of the objects in valid new packs.
    """

    removed: list[str]
    packed: set[bytes]


class GitHistory:
    """The history of all repositories in a folder and, for a linked worktree, of its repository outside the folder."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._data = data
        self._repositories: dict[Path, _Repository] = {}
        self._files: HistoryFolder | None = None

    @property
    def stored_as(self) -> str:
        """The name of the stored history, to pass to `recover_history`; "" if nothing is stored."""
        return self._files.name if self._files else ""

    def keep(self, git_places: Iterable[str]) -> MissingHistory:
        """Record the history as it is before a command, and return what could not be recorded.

        `git_places` are the paths of `.git` folders, and of `.git` files that point to one.
        """
        if sys.platform == "win32":
            return MissingHistory()
        left_out: list[str] = []
        for base, path in kept_git_folders(self._folder, git_places):
            if base / path in self._repositories:
                continue
            if sum(repository.open_files for repository in self._repositories.values()) >= max_open_files():
                left_out.append(path)
            else:
                self._files = self._files or HistoryFolder(self._data, self._folder)
                store = self._files.add(base, path, self._folder)
                stored = StoredHistory(base, path, self._folder)
                self._repositories[base / path] = repository = _Repository(stored, store.copies, store)
                repository.keep()  # opens its packs, so that `open_files` counts them for the next repository
        incomplete = [repository.path for repository in self._repositories.values() if not repository.keep()]
        return MissingHistory(incomplete=tuple(incomplete), left_out=tuple(left_out))

    def restore(self) -> tuple[str, ...]:
        """Restore what a command deleted or overwrote; return a description for each repository that needed it."""
        restored = {repository.path: repository.restore() for repository in self._repositories.values()}
        return tuple([f"{path} ({', '.join(parts)})" for path, parts in restored.items() if parts])

    def drop(self) -> None:
        """Discard the kept history; the next `keep` starts from scratch."""
        for repository in self._repositories.values():
            repository.close()
        self._repositories = {}
        if self._files:
            self._files.close()
            self._files = None


def max_open_files() -> int:
    """Return how many files the history may keep open, a share of the limit for this process."""
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // OPEN_SHARE


def recover_history(data: Path, name: str, last_seen: float) -> tuple[str, ...]:
    """Restore what interrupted commands deleted or overwrote; return a description for each repository that needed it.

    `name` is a `stored_as`. `last_seen` is when the commands were last seen running, in seconds since the epoch: if
    references were changed later, the user may have deleted the missing ones, so they are restored under other names.
    """
    restored: list[str] = []
    for files in abandoned_repositories(data, name):
        if stored := read_history(files):
            with open_copies(files) as copies, contextlib.closing(_Repository(stored, copies)) as repository:
                parts = repository.restore(last_seen)
                if parts:
                    restored.append(f"{stored.path} ({', '.join(parts)})")
    return tuple(restored)


class _Repository:
    """The kept history of one git folder.

    Files are opened by descriptor, because a command could replace a folder by a link.
    """

    def __init__(self, stored: StoredHistory, copies: IO[bytes], store: RepositoryStore | None = None) -> None:
        """Continue from a `stored` history, whose objects are in `copies`; without a `store`, nothing can be added."""
        self.path = stored.path
        self._git = stored.base / stored.path
        self._folder = stored.folder
        self._base = open_folder(str(stored.base))
        self._copies = copies
        self._store = store
        self._size = 0
        self._objects = stored.objects
        # Descriptors of the packs, by path in the git folder.
        self._packs = {path: os.open(file, os.O_RDONLY | os.O_CLOEXEC) for path, file in stored.packs.items()}
        self._references = stored.references
        with self._open("") as git:  # after an interruption, only states from before `kept_at` count
            states = watched_states(git) if git >= 0 else {}
        self._watched = {
            path: state for path, state in states.items() if path in stored.packs or state.changed_ns <= stored.kept_at
        }
        self._complete = True
        self._folders: dict[str, int] = {}  # modification times of the object folders, by name

    @property
    def open_files(self) -> int:
        """The number of files that stay open: the folder, the copies, the log of changes, its lock, and each pack."""
        return 4 + len(self._packs)

    def keep(self) -> bool:
        """Keep new objects and references and forget deleted ones; return whether everything could be kept."""
        complete = self._keep()
        if self._store:
            with self._open(PACKS) as folder:
                self._store.record(self._references, self._objects, self._packs, folder)
        return complete

    def _keep(self) -> bool:
        with self._open("") as git:
            if git < 0 or not is_folder(git, OBJECTS) or not is_folder(git, "refs"):
                return True
            self._references = read_references(git, self._references)
            self._watched = watched_states(git)
        if (folders := self._folder_times()) == self._folders:
            return self._complete
        self._folders = folders
        states = self._object_states()
        self._objects = {path: copied for path, copied in self._objects.items() if path in states}
        new = [path for path, state in states.items() if (old := self._objects.get(path)) is None or old.state != state]
        changed = [path for path in new if _OBJECT_PATH.fullmatch(path)]
        self._complete = self._copy(changed) & self._open_packs()
        with self._open("") as git:  # opening packs may have changed their permissions, and so their change times
            self._watched |= {path: state for path, state in watched_states(git).items() if path in self._packs}
        return self._complete

    def restore(self, last_seen: float | None = None) -> list[str]:
        """Restore what is missing or was overwritten, and describe it.

        `last_seen` is when an interrupted command was last seen running, in seconds since the epoch; None if it has
        just ended.
        """
        if not self._references:
            return []
        removed, packed = self._remove_forgeries(last_seen)
        states = self._object_states()
        if packed:
            self._forget_repacked_objects(states, packed)
            self._forget_repacked_packs(packed)
        count = self._restore_objects(states) + self._restore_packs()
        restored = [f"{count:,} object file{'' if count == 1 else 's'}"] if count else []
        after = self._read_references(self._references)
        if revealed := self._reveal(after, last_seen):
            after = self._read_references(after)
        return [*restored, *removed, *revealed, *self._restore_references(after, last_seen)]

    def close(self) -> None:
        if self._store:
            self._store.close()
        for descriptor in (*self._packs.values(), self._base):
            os.close(descriptor)
        self._packs = {}

    @contextlib.contextmanager
    def _open(self, path: str) -> Iterator[int]:
        """Open a folder in the git folder; yield its descriptor, or -1 if it is missing or reached through a link."""
        try:
            descriptor = open_by_walking(self._base, f"{self.path}/{path}", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            yield -1
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _copy(self, paths: Iterable[str]) -> bool:
        """Copy loose objects to the file of copies; return whether all of them fit within `MAX_COPIED`."""
        complete = True
        for folder, group in itertools.groupby(paths, lambda path: path.rpartition("/")[0]):
            with self._open(folder) as parent:
                for path in group:
                    if self._size > MAX_COPIED:
                        complete = False
                    elif file := _read(parent, path.rpartition("/")[2]):
                        self._copies.seek(self._size)
                        self._copies.write(file.body)
                        self._objects[path] = CopiedObject(file.state, offset=self._size, size=len(file.body))
                        self._size += len(file.body)
        return complete

    def _open_packs(self) -> bool:
        """Open the packs and make them read-only, as git does; return whether all of them are open."""
        sizes = {path: state.size for path, state in self._pack_states().items()}
        for path in [path for path in self._packs if path not in sizes]:
            os.close(self._packs.pop(path))
        with self._open(PACKS) as folder:
            for path in sorted(sizes, key=sizes.__getitem__, reverse=True):
                if path in self._packs or len(self._packs) >= MAX_PACKS:
                    continue
                with contextlib.suppress(OSError):
                    self._packs[path] = descriptor = open_file(folder, path.rpartition("/")[2])
                    if (mode := stat.S_IMODE(os.fstat(descriptor).st_mode)) & 0o222:
                        os.fchmod(descriptor, mode & ~0o222)
        return len(self._packs) == len(sizes)

    def _restore_references(self, after: References, last_seen: float | None) -> list[str]:
        """Restore removed references and return their paths. `after` are the references as the command left them."""
        with self._open("") as git:
            damaged = git < 0 or not is_folder(git, "refs")
        writes: dict[str, bytes] = {}
        if after != self._references or damaged:
            writes = restoring_writes(self._git, self._references, after, self._folder, damaged=damaged)
            if last_seen is not None and not damaged and self._last_change() > last_seen:
                writes = set_aside(writes)
            if damaged:
                self._create_references_folder()
            for path, body in writes.items():
                self._write(path, body, 0o644)
            after = self._read_references(after)
        self._references = after or self._references
        return sorted(path for path in writes if not path.startswith("logs/") or len(writes) == 1)

    def _create_references_folder(self) -> None:
        """Create the folder `refs/heads`, which git requires even if it is empty."""
        path = "refs/heads/.journeyman"
        self._write(path, b"", 0o644)
        with contextlib.suppress(OSError):
            forced_access.remove(self._base, f"{self.path}/{path}")

    def _restore_objects(self, states: Mapping[str, FileState]) -> int:
        """Restore the loose objects that are missing or were changed; return how many were written."""
        count = 0
        changed = [path for path, copied in self._objects.items() if states.get(path) != copied.state]
        for path in changed:
            copied = self._objects[path]
            self._copies.seek(copied.offset)
            body = self._copies.read(copied.size)
            file = self._read_object(path)
            if file is None or file.body != body:
                count += self._write(path, body, OBJECT_MODE)
                file = self._read_object(path)
            if file:
                self._objects[path] = replace(copied, state=file.state)
        return count

    def _read_object(self, path: str) -> _ObjectFile | None:
        folder, _, name = path.rpartition("/")
        with self._open(folder) as parent:
            return _read(parent, name)

    def _restore_packs(self) -> int:
        """Restore the packs that are missing or were replaced; return how many were written."""
        states, count = self._pack_states(), 0
        for path, descriptor in self._packs.items():
            present, kept = states.get(path), state_of(os.fstat(descriptor))
            if present is None or (present.inode, present.size) != (kept.inode, kept.size):
                with contextlib.suppress(OSError):
                    forced_access.copy(self._base, f"{self.path}/{path}", descriptor, OBJECT_MODE)
                    count += 1
        if count:
            for descriptor in self._packs.values():
                os.close(descriptor)
            self._packs = {}
            self._open_packs()
        return count

    def _remove_forgeries(self, last_seen: float | None) -> _Forgeries:
        """Remove what a command forged: new caches, replace refs, and packs that git finds damaged.

        Removed caches are not described, because git creates them again.
        """
        with self._open("") as git:
            states = watched_states(git) if git >= 0 else {}
        new = [
            path
            for path, state in states.items()
            if self._watched.get(path) != state and (last_seen is None or state.changed_ns <= last_seen * 1e9)
        ]
        stems = {path.rpartition(".")[0] for path in new if is_pack(path)}
        check = check_packs(self._git, sorted(f"{stem}.idx" for stem in stems if f"{stem}.idx" in states), self._folder)
        rejected = {path.removesuffix(".idx") for path in check.rejected}
        removed = [path for path in new if not is_pack(path) or path.rpartition(".")[0] in rejected]
        for path in removed:
            with contextlib.suppress(OSError):
                forced_access.remove(self._base, f"{self.path}/{path}")
        named = sorted(path for path in removed if not is_cache(path))
        if any(map(is_replacement, named)):
            with contextlib.suppress(OSError):
                forced_access.remove_empty_folders(
                    self._base, f"{self.path}/{REPLACEMENTS}/x", f"{self.path}/refs".__eq__
                )
        unverified = [f"{path} could not be verified" for path in check.unverified]
        return _Forgeries(removed=[*named, *unverified], packed=check.objects)

    def _read_references(self, known: References) -> References:
        """Return the current references; files that are unchanged since `known` are not read again."""
        with self._open("") as git:
            return read_references(git, known) if git >= 0 else {}

    def _reveal(self, after: References, last_seen: float | None) -> list[str]:
        """Revert the files that make git ignore or replace commits, and return their paths.

        `after` are the references as the command left them.
        """
        reverted: list[str] = []
        for path, body in revealing_writes(self._git, self._references, after, self._folder).items():
            place = self._git / path
            if body is None and not os.path.lexists(place):
                continue
            if last_seen is not None and os.path.lexists(place) and place.lstat().st_ctime > last_seen:
                continue  # changed after the command ended, possibly by the user
            with contextlib.suppress(OSError):
                if body is None:
                    forced_access.remove(self._base, f"{self.path}/{path}")
                else:
                    self._write(path, body, 0o644)
                reverted.append(path)
        return reverted

    def _forget_repacked_objects(self, present: Mapping[str, FileState], packed: Collection[bytes]) -> None:
        """Forget kept loose objects that are gone because they are now in a pack.

        `present` are the loose objects, and `packed` the hashes of the objects in valid new packs.
        """
        for path in [path for path in self._objects if path not in present]:
            if bytes.fromhex(path.removeprefix(OBJECTS).replace("/", "")) in packed:
                del self._objects[path]

    def _forget_repacked_packs(self, packed: Collection[bytes]) -> None:
        """Forget kept packs that are gone because all their objects are in valid new packs."""
        states = self._pack_states()
        for path in [path for path in self._packs if path not in states and path.endswith(".pack")]:
            stem = path.removesuffix("pack")
            if f"{stem}idx" not in self._packs:
                continue
            with open(os.dup(self._packs[f"{stem}idx"]), "rb") as file:  # noqa: PTH123 - a descriptor
                file.seek(0)
                names = objects_of_index(file.read(), name_length(path))
            if names is not None and names.issubset(packed):
                for each in [each for each in self._packs if each.startswith(stem)]:
                    os.close(self._packs.pop(each))

    def _write(self, path: str, body: bytes, mode: int) -> bool:
        """Replace a file in the git folder; return whether that succeeded."""
        with contextlib.suppress(OSError):
            forced_access.replace(self._base, f"{self.path}/{path}", body, mode, durable=False)
            return True
        return False

    def _last_change(self) -> float:
        """Return when a reference was last changed, created or deleted, in seconds since the epoch; 0.0 if unknown."""
        with self._open("") as git:
            return last_change(git) if git >= 0 else 0.0

    def _folder_times(self) -> dict[str, int]:
        with self._open(OBJECTS) as objects, contextlib.suppress(OSError):
            if objects >= 0:
                with os.scandir(objects) as entries:
                    return {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries}
        return {}

    def _object_states(self) -> dict[str, FileState]:
        """Return the states of the loose object files, by path in the git folder."""
        found: dict[str, FileState] = {}
        with self._open(OBJECTS) as objects:
            if objects < 0:
                return {}
            for folder in filter(_OBJECT_FOLDER.fullmatch, self._folder_times()):
                with contextlib.suppress(OSError):
                    inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=objects)
                    for name, state in _states(inner).items():
                        if len(name) in _OBJECT_LENGTHS:
                            found[f"{OBJECTS}/{folder}/{name}"] = state
                    os.close(inner)
        return found

    def _pack_states(self) -> dict[str, FileState]:
        """Return the states of the files that belong to packs, by path in the git folder."""
        with self._open(PACKS) as folder:
            states = _states(folder) if folder >= 0 else {}
        return {f"{PACKS}/{name}": state for name, state in states.items() if _PACK.fullmatch(name)}


def _states(folder: int) -> dict[str, FileState]:
    """Return the state of each entry of an open folder, by name."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return {entry.name: state_of(entry.stat(follow_symlinks=False)) for entry in entries}
    return {}


def _read(folder: int, name: str) -> _ObjectFile | None:
    """Return an object file in an open folder; None if it cannot be read."""
    with contextlib.suppress(OSError):
        descriptor = open_file(folder, name)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            return _ObjectFile(state=state_of(os.fstat(descriptor)), body=file.read(MAX_COPIED))
    return None
