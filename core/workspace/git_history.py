"""Keeps the history of repositories during a command, so that one that deletes or overwrites it loses nothing.

Loose objects and references are copied before a command. Packs, which can be large, stay open: an open file outlives
its deletion, and the sandbox does not let a command change packs. Only the differences to the last command are read.
"""

import contextlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from core.workspace import forced_access
from core.workspace.bubblewrap import git_folders
from core.workspace.git_packs import name_length, objects_of_index, verified_objects
from core.workspace.git_references import (
    FileState,
    References,
    is_folder,
    read_references,
    removed_from,
    state_of,
)
from core.workspace.readable_system import worktree_git_folders

OBJECTS, PACKS = "objects", "objects/pack"
OBJECT_MODE = 0o444
MAX_REPOSITORIES = 20
MAX_COPIED = 256 << 20  # bytes of loose objects in one repository
MAX_PACKS = 200  # files that stay open in one repository, the largest first
DERIVED = frozenset({"node_modules", ".venv", "venv", "target", ".tox"})  # installed and built, also from repositories
_FOLDER, _OBJECT = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx|rev|promisor|keep)")


@dataclass(frozen=True, slots=True)
class _Copied:
    """An object in the file of copies."""

    state: FileState
    offset: int


class GitHistory:
    """The history of the repositories in a folder, and of the one that a linked worktree belongs to."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder, self._data = folder, data
        self._repositories: dict[Path, _Repository] = {}

    def keep(self, git_places: Iterable[str]) -> tuple[str, ...]:
        """Keep the history as it is before a command. Return the repositories with more than can be kept.

        `git_places` are the paths of folders named `.git`, and of files that lead to one.
        """
        if sys.platform == "win32":
            return ()
        for base, path in self._places(git_places):
            if base / path not in self._repositories and len(self._repositories) < MAX_REPOSITORIES:
                self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._repositories[base / path] = _Repository(base, path, self._folder, self._data)
        return tuple([repository.path for repository in self._repositories.values() if not repository.keep()])

    def restore(self, root: int) -> tuple[str, ...]:
        """Restore what a command deleted or overwrote, and describe it. `root` is a descriptor of the folder."""
        parts = {repository.path: repository.restore(root) for repository in self._repositories.values()}
        return tuple([f"{path} ({', '.join(each)})" for path, each in parts.items() if each])

    def drop(self) -> None:
        """Forget the history, so that it is kept again as it is before the next command."""
        for repository in self._repositories.values():
            repository.close()
        self._repositories = {}

    def _places(self, git_places: Iterable[str]) -> Iterator[tuple[Path, str]]:
        """Yield the git folders, each as a folder that stays and a path in it."""
        for place in sorted(git_places, key=lambda name: name.count("/")):
            if DERIVED.isdisjoint(place.split("/")) and is_folder(self._folder / place):
                for git in git_folders(self._folder / place):
                    if is_folder(git / OBJECTS):
                        yield self._folder, git.relative_to(self._folder).as_posix()
        if folders := worktree_git_folders(self._folder):
            yield folders[1].parent, folders[1].name


class _Repository:
    """The history in one git folder."""

    def __init__(self, base: Path, path: str, folder: Path, data: Path) -> None:
        self.path = path
        self._git, self._folder = base / path, folder
        self._root = os.open(base, os.O_RDONLY | os.O_DIRECTORY) if base != folder else -1
        self._copies: IO[bytes] = tempfile.TemporaryFile(dir=data)  # noqa: SIM115 - open until `close`
        self._size = 0
        self._objects: dict[str, _Copied] = {}
        self._packs: dict[str, int] = {}  # descriptors, by path in the git folder
        self._references: References = {}
        self._folders: dict[str, int] = {}  # when each folder of objects was last changed

    def keep(self) -> bool:
        """Keep what is new and forget what is gone. Return whether everything could be kept."""
        if not is_folder(self._git / OBJECTS) or not (self._git / "HEAD").is_file():
            return True
        self._references = read_references(self._git, self._references)
        if (folders := self._folder_times()) == self._folders:
            return True
        self._folders = folders
        states = self._object_states()
        self._objects = {path: copied for path, copied in self._objects.items() if path in states}
        complete = True
        for path, state in states.items():
            if path not in self._objects or self._objects[path].state != state:
                complete = self._copy(path, state) and complete
        return self._open_packs() and complete

    def restore(self, root: int) -> list[str]:
        """Restore what is missing or was overwritten, and describe it."""
        if not self._references:
            return []
        root = root if self._root < 0 else self._root
        restored: list[str] = []
        self._accept_new_packs()
        count = self._restore_objects(root) + self._restore_packs(root)
        if count:
            restored.append(f"{count:,} object file{'' if count == 1 else 's'}")
        after = read_references(self._git, self._references)
        if after != self._references or not is_folder(self._git / "refs"):
            writes = removed_from(self._git, self._references, after, self._folder)
            if not is_folder(self._git / "refs"):
                self._make_folder(root, "refs")
            for path, body in writes.items():
                self._write(root, path, body, 0o644)
            restored += sorted(path for path in writes if not path.startswith("logs/") or len(writes) == 1)
            after = read_references(self._git, after)
        self._references = after
        return restored

    def close(self) -> None:
        self._copies.close()
        for descriptor in (*self._packs.values(), *([self._root] if self._root >= 0 else [])):
            os.close(descriptor)
        self._packs = {}

    def _copy(self, path: str, state: FileState) -> bool:
        """Copy an object; return whether there was room for it."""
        if self._size + state[1] > MAX_COPIED:
            return False
        with contextlib.suppress(OSError):
            body = (self._git / path).read_bytes()
            self._copies.seek(self._size)
            self._copies.write(body)
            self._objects[path] = _Copied((state[0], len(body), state[2]), self._size)
            self._size += len(body)
        return True

    def _open_packs(self) -> bool:
        """Open the packs and make them read-only, as git does; return whether all of them could be opened."""
        sizes = {path: size for path, (_, size, _) in self._pack_states().items()}
        for path in [path for path in self._packs if path not in sizes]:
            os.close(self._packs.pop(path))
        largest = sorted(sizes, key=sizes.__getitem__, reverse=True)
        for path in largest:
            if path in self._packs or len(self._packs) >= MAX_PACKS:
                continue
            with contextlib.suppress(OSError):
                descriptor = os.open(self._git / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                self._packs[path] = descriptor
                if (mode := stat.S_IMODE(os.fstat(descriptor).st_mode)) & 0o222:
                    os.fchmod(descriptor, mode & ~0o222)
        return len(self._packs) == len(sizes)

    def _restore_objects(self, root: int) -> int:
        states, count = self._object_states(), 0
        for path, copied in self._objects.items():
            if (now := states.get(path)) == copied.state:
                continue
            self._copies.seek(copied.offset)
            body = self._copies.read(copied.state[1])
            if now is None or self._differs(path, body):
                count += self._write(root, path, body, OBJECT_MODE)
            with contextlib.suppress(OSError):
                state = state_of(os.lstat(self._git / path))
                self._objects[path] = _Copied((state[0], len(body), state[2]), copied.offset)
        return count

    def _restore_packs(self, root: int) -> int:
        states, count = self._pack_states(), 0
        for path, descriptor in self._packs.items():
            kept = os.fstat(descriptor)
            if states.get(path, (0, 0, 0))[:2] != (kept.st_ino, kept.st_size):
                with contextlib.suppress(OSError):
                    forced_access.copy(root, f"{self.path}/{path}", descriptor, OBJECT_MODE)
                    count += 1
        if count:
            for descriptor in self._packs.values():
                os.close(descriptor)
            self._packs = {}
            self._open_packs()
        return count

    def _accept_new_packs(self) -> None:
        """Forget object files that are gone because git put their objects into new packs."""
        states = self._pack_states()
        gone = [path for path in self._packs if path not in states and path.endswith(".pack")]
        objects = self._object_states()
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

    def _differs(self, path: str, body: bytes) -> bool:
        try:
            return (self._git / path).is_symlink() or (self._git / path).read_bytes() != body
        except OSError:
            return True

    def _write(self, root: int, path: str, body: bytes, mode: int) -> int:
        with contextlib.suppress(OSError):
            forced_access.replace(root, f"{self.path}/{path}", body, mode, durable=False)
            return 1
        return 0

    def _make_folder(self, root: int, path: str) -> None:
        """Create a folder of the git folder, in place of whatever is there."""
        self._write(root, f"{path}/heads/.journeyman", b"", 0o600)
        with contextlib.suppress(OSError):
            forced_access.remove(root, f"{self.path}/{path}/heads/.journeyman")

    def _folder_times(self) -> dict[str, int]:
        with contextlib.suppress(OSError), os.scandir(self._git / OBJECTS) as entries:
            return {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries}
        return {}

    def _object_states(self) -> dict[str, FileState]:
        """Return the states of the loose objects, by path in the git folder."""
        return {
            f"{OBJECTS}/{folder}/{name}": state
            for folder in self._folder_times()
            if _FOLDER.fullmatch(folder)
            for name, state in _states(self._git / OBJECTS / folder)
            if _OBJECT.fullmatch(name)
        }

    def _pack_states(self) -> dict[str, FileState]:
        return {f"{PACKS}/{name}": state for name, state in _states(self._git / PACKS) if _PACK.fullmatch(name)}


def _states(folder: Path) -> list[tuple[str, FileState]]:
    """Return the name and the state of each file in a folder that is no link."""
    with contextlib.suppress(OSError):
        if not folder.is_symlink():
            with os.scandir(folder) as entries:
                return [
                    (entry.name, state_of(entry.stat(follow_symlinks=False)))
                    for entry in entries
                    if entry.is_file(follow_symlinks=False)
                ]
    return []
