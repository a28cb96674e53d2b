"""Keeps the history of repositories during a command, so that one that deletes or overwrites it loses nothing.

Loose objects and references are copied before a command. Packs, which can be large, stay open: an open file outlives
its deletion, and the sandbox does not let a command change packs. Only the differences to the last command are read.
If Journeyman is killed during a command, `recover_history` restores the history from the files of `history_store`.
"""

import contextlib
import itertools
import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from core.workspace import forced_access
from core.workspace.beneath import open_by_walking, open_folder
from core.workspace.bubblewrap import git_folders
from core.workspace.git_branch import worktree_git_folders
from core.workspace.git_packs import name_length, objects_of_index, verified_objects
from core.workspace.git_references import (
    FileState,
    is_folder,
    last_change,
    open_file,
    read_references,
    removed_from,
    set_aside,
    state_of,
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

OBJECTS, PACKS = "objects", "objects/pack"
OBJECT_MODE = 0o444
MAX_REPOSITORIES = 20
MAX_COPIED = 256 << 20  # bytes of loose objects in one repository
MAX_PACKS = 200  # files that stay open in one repository, the largest first
DERIVED = frozenset({"node_modules", ".venv", "venv", "target", ".tox"})  # installed and built, also from repositories
_FOLDER, _OBJECT = re.compile(r"[0-9a-f]{2}"), re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]+")
_OBJECT_LENGTHS = (38, 62)  # of the names of folders, and of the files in them
_PACK = re.compile(r"pack-(?:[0-9a-f]{40}|[0-9a-f]{64})\.(?:pack|idx|rev|promisor|keep)")


class GitHistory:
    """The history of the repositories in a folder, and of the one that a linked worktree belongs to."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._data = data
        self._repositories: dict[Path, _Repository] = {}
        self._files: HistoryFolder | None = None

    @property
    def stored_as(self) -> str:
        """The name under which the history is stored for `recover_history`, or ""."""
        return self._files.name if self._files else ""

    def keep(self, git_places: Iterable[str]) -> tuple[str, ...]:
        """Keep the history as it is before a command. Return the repositories of which not everything could be kept.

        `git_places` are the paths of folders named `.git`, and of files that lead to one.
        """
        if sys.platform == "win32":
            return ()
        left_out: list[str] = []
        for base, path in kept_git_folders(self._folder, git_places):
            if base / path in self._repositories:
                continue
            if len(self._repositories) >= MAX_REPOSITORIES:
                left_out.append(path)
            else:
                self._files = self._files or HistoryFolder(self._data, self._folder)
                store = self._files.add(base, path, self._folder)
                stored = StoredHistory(base, path, self._folder)
                self._repositories[base / path] = _Repository(stored, store.copies, store)
        incomplete = [repository.path for repository in self._repositories.values() if not repository.keep()]
        return (*incomplete, *left_out)

    def restore(self) -> tuple[str, ...]:
        """Restore what a command deleted or overwrote, and describe it."""
        parts = {repository.path: repository.restore() for repository in self._repositories.values()}
        return tuple([f"{path} ({', '.join(each)})" for path, each in parts.items() if each])

    def drop(self) -> None:
        """Forget the history, so that it is kept again as it is before the next command."""
        for repository in self._repositories.values():
            repository.close()
        self._repositories = {}
        if self._files:
            self._files.close()
            self._files = None


def kept_git_folders(folder: Path, git_places: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yield the git folders whose history is kept, each as a folder that stays and a path in it.

    `folder` is the resolved folder of the session. The git folder that a linked worktree belongs to comes first:
    commands can create any number of repositories.
    """
    if folders := worktree_git_folders(folder):
        yield folders[1].parent, folders[1].name
    for place in sorted(git_places, key=lambda name: name.count("/")):
        if DERIVED.isdisjoint(place.split("/")) and (folder / place).is_dir():
            for git in git_folders(folder / place):
                if (git / OBJECTS).is_dir():
                    yield folder, git.relative_to(folder).as_posix()


def recover_history(data: Path, name: str, end: float) -> tuple[str, ...]:
    """Restore what commands deleted or overwrote that were interrupted, and describe it.

    The history is stored under `name`. If references were changed after `end`, when the commands had ended, the user
    may have deleted those that are gone, so they are restored with other names.
    """
    restored: list[str] = []
    for files in abandoned_repositories(data, name):
        if stored := read_history(files):
            with open_copies(files) as copies, contextlib.closing(_Repository(stored, copies)) as repository:
                parts = repository.restore(end)
                restored += [f"{stored.path} ({', '.join(parts)})"] if parts else []
    return tuple(restored)


class _Repository:
    """The history in one git folder. Its files are opened by descriptor: a command could replace a folder by a link."""

    def __init__(self, stored: StoredHistory, copies: IO[bytes], store: RepositoryStore | None = None) -> None:
        """Begin with a `stored` history. `copies` contains the objects; without a `store`, nothing more is kept."""
        self.path = stored.path
        self._git = stored.base / stored.path
        self._folder = stored.folder
        self._base = open_folder(str(stored.base))
        self._copies = copies
        self._store = store
        self._size = 0
        self._objects = stored.objects
        # Descriptors, by path in the git folder.
        self._packs = {path: os.open(file, os.O_RDONLY | os.O_CLOEXEC) for path, file in stored.packs.items()}
        self._references = stored.references
        self._folders: dict[str, int] = {}  # when each folder of objects was last changed

    def keep(self) -> bool:
        """Keep what is new and forget what is gone. Return whether everything could be kept."""
        complete = self._keep()
        if self._store:
            with self._open(PACKS) as folder:
                self._store.note(self._references, self._objects, self._packs, folder)
        return complete

    def _keep(self) -> bool:
        with self._open("") as git:
            if git < 0 or not is_folder(git, OBJECTS) or not is_folder(git, "refs"):
                return True
            self._references = read_references(git, self._references)
        if (folders := self._folder_times()) == self._folders:
            return True
        self._folders = folders
        states = self._object_states()
        self._objects = {path: copied for path, copied in self._objects.items() if path in states}
        new = [path for path, state in states.items() if (old := self._objects.get(path)) is None or old.state != state]
        changed = [path for path in new if _OBJECT.fullmatch(path)]
        return self._copy(changed) & self._open_packs()

    def restore(self, end: float | None = None) -> list[str]:
        """Restore what is missing or was overwritten, and describe it.

        `end` is when the command had ended, if not now.
        """
        if not self._references:
            return []
        states = self._object_states()
        self._accept_new_packs(states)
        count = self._restore_objects(states) + self._restore_packs()
        restored = [f"{count:,} object file{'' if count == 1 else 's'}"] if count else []
        with self._open("") as git:
            after = read_references(git, self._references) if git >= 0 else {}
            damaged = git < 0 or not is_folder(git, "refs")
        if after != self._references or damaged:
            writes = removed_from(self._git, self._references, after, self._folder, damaged=damaged)
            if end is not None and not damaged and self._last_change() > end:
                writes = set_aside(writes)
            for path, body in (*([("refs/heads/.journeyman", b"")] if damaged else []), *writes.items()):
                self._write(path, body, 0o644)
            if damaged:  # git needs the folder, even if it is empty
                with contextlib.suppress(OSError):
                    forced_access.remove(self._base, f"{self.path}/refs/heads/.journeyman")
            restored += sorted(path for path in writes if not path.startswith("logs/") or len(writes) == 1)
            with self._open("") as git:
                after = read_references(git, after) if git >= 0 else {}
        self._references = after or self._references
        return restored

    def close(self) -> None:
        if self._store:
            self._store.close()
        for descriptor in (*self._packs.values(), self._base):
            os.close(descriptor)
        self._packs = {}

    @contextlib.contextmanager
    def _open(self, path: str) -> Iterator[int]:
        """Open a folder in the git folder; yield -1 if there is none that is reached without links."""
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
        """Copy objects; return whether there was room for all of them."""
        complete = True
        for folder, group in itertools.groupby(paths, lambda path: path.rpartition("/")[0]):
            with self._open(folder) as parent:
                for path in group:
                    if self._size > MAX_COPIED:
                        complete = False
                    elif read := _read(parent, path.rpartition("/")[2]):
                        self._copies.seek(self._size)
                        self._copies.write(read[1])
                        self._objects[path] = CopiedObject(read[0], self._size, len(read[1]))
                        self._size += len(read[1])
        return complete

    def _open_packs(self) -> bool:
        """Open the packs and make them read-only, as git does; return whether all of them could be opened."""
        sizes = {path: size for path, (_, size, _) in self._pack_states().items()}
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

    def _restore_objects(self, states: Mapping[str, FileState]) -> int:
        count = 0
        changed = [path for path, copied in self._objects.items() if states.get(path) != copied.state]
        for folder, group in itertools.groupby(changed, lambda path: path.rpartition("/")[0]):
            for path in group:
                copied, name = self._objects[path], path.rpartition("/")[2]
                self._copies.seek(copied.offset)
                body = self._copies.read(copied.size)
                with self._open(folder) as parent:
                    now = _read(parent, name)
                if now is None or now[1] != body:
                    count += self._write(path, body, OBJECT_MODE)
                    with self._open(folder) as parent:
                        now = _read(parent, name)
                if now:
                    self._objects[path] = CopiedObject(now[0], copied.offset, copied.size)
        return count

    def _restore_packs(self) -> int:
        states, count = self._pack_states(), 0
        for path, descriptor in self._packs.items():
            kept = os.fstat(descriptor)
            if states.get(path, (0, 0, 0))[:2] != (kept.st_ino, kept.st_size):
                with contextlib.suppress(OSError):
                    forced_access.copy(self._base, f"{self.path}/{path}", descriptor, OBJECT_MODE)
                    count += 1
        if count:
            for descriptor in self._packs.values():
                os.close(descriptor)
            self._packs = {}
            self._open_packs()
        return count

    def _accept_new_packs(self, objects: Mapping[str, FileState]) -> None:
        """Forget object files that are gone because git put their objects into new packs."""
        states = self._pack_states()
        gone = [path for path in self._packs if path not in states and path.endswith(".pack")]
        loose = [path for path in self._objects if path not in objects]
        if not (gone or loose) or not (new := [path for path in states.keys() - self._packs if path.endswith(".idx")]):
            return
        packed = verified_objects(self._git, sorted(new), self._folder)
        for path in loose:
            if bytes.fromhex(path.removeprefix(OBJECTS).replace("/", "")) in packed:
                del self._objects[path]
        for path in gone:
            stem = path.removesuffix("pack")
            if f"{stem}idx" not in self._packs:
                continue
            with open(os.dup(self._packs[f"{stem}idx"]), "rb") as file:  # noqa: PTH123 - a descriptor
                file.seek(0)
                names = objects_of_index(file.read(), name_length(path))
            if names is not None and names <= packed:
                for each in [each for each in self._packs if each.startswith(stem)]:
                    os.close(self._packs.pop(each))

    def _write(self, path: str, body: bytes, mode: int) -> int:
        with contextlib.suppress(OSError):
            forced_access.replace(self._base, f"{self.path}/{path}", body, mode, durable=False)
            return 1
        return 0

    def _last_change(self) -> float:
        """Return when a reference was last changed, created or deleted."""
        with self._open("") as git:
            return last_change(git) if git >= 0 else 0.0

    def _folder_times(self) -> dict[str, int]:
        with self._open(OBJECTS) as objects, contextlib.suppress(OSError):
            if objects >= 0:
                with os.scandir(objects) as entries:
                    return {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries}
        return {}

    def _object_states(self) -> dict[str, FileState]:
        """Return the states of the loose objects, by path in the git folder."""
        found: dict[str, FileState] = {}
        with self._open(OBJECTS) as objects:
            for folder in filter(_FOLDER.fullmatch, self._folder_times()) if objects >= 0 else ():
                with contextlib.suppress(OSError):
                    inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=objects)
                    found.update(
                        (f"{OBJECTS}/{folder}/{name}", state) for name, state in _states(inner, _OBJECT_LENGTHS)
                    )
                    os.close(inner)
        return found

    def _pack_states(self) -> dict[str, FileState]:
        with self._open(PACKS) as folder:
            states = _states(folder) if folder >= 0 else []
        return {f"{PACKS}/{name}": state for name, state in states if _PACK.fullmatch(name)}


def _states(folder: int, lengths: Collection[int] = ()) -> list[tuple[str, FileState]]:
    """Return the name and the state of each entry of an open folder whose name has one of these lengths."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return [
            (entry.name, state_of(entry.stat(follow_symlinks=False)))
            for entry in entries
            if not lengths or len(entry.name) in lengths
        ]
    return []


def _read(folder: int, name: str) -> tuple[FileState, bytes] | None:
    """Read a file in an open folder."""
    with contextlib.suppress(OSError):
        descriptor = open_file(folder, name)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            return state_of(os.fstat(descriptor)), file.read(MAX_COPIED)
    return None
