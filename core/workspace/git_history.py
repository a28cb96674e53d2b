"""Keeps the history of a repository during a run, so that a command that deletes it, such as a script, loses nothing.

The objects of the history are linked into the data folder, or copied if that is on another disk. Git adds and removes
such files, but never changes them. The copy is deleted at the end of the run.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from core.workspace import forced_access
from core.workspace.scratch_folder import ScratchFolder

PREFIX = "history-"  # of the folder in the data folder
MAX_FILES = 20_000
MAX_COPIED = 64 << 20  # bytes, of what cannot be linked
OBJECTS = "objects"
REFERENCES = ("HEAD", "packed-refs", "refs", "logs")


class GitHistory:
    """The history of the repository at the top of a folder."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._git, self._data = folder / ".git", data
        self._copy: ScratchFolder | None = None
        self._kept: dict[str, int] = {}  # the permission bits of each file, by its path in the git folder
        self._state: dict[str, int] = {}
        self._packs: frozenset[str] = frozenset()

    def keep(self) -> None:
        """Keep the history as it is before the first command of a run; nothing of one with too many files."""
        objects = self._git / OBJECTS
        if self._copy or sys.platform == "win32" or self._git.is_symlink() or objects.is_symlink():
            return
        if not objects.is_dir() or not (self._git / "HEAD").is_file():
            return
        self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._copy = ScratchFolder(PREFIX, self._data)
        copied = 0
        try:
            for path in self._files():
                copied += self._duplicate(path)
                if copied > MAX_COPIED or len(self._kept) > MAX_FILES:
                    self.drop()
                    return
        except OSError:
            self.drop()
            return
        self._note()

    def restore(self, root: int) -> bool:
        """Restore what a command deleted, and return whether anything was. `root` is a descriptor of the folder.

        Single branches that were deleted stay so: their commits are kept anyway.
        """
        if not self._copy or self._current_state() == self._state:
            return False
        lost = not (self._git / "HEAD").is_file() or not (self._git / "refs").is_dir()
        missing = [path for path in self._kept if _is_object(path) and not (self._git / path).is_file()]
        if lost:
            missing += [path for path in self._kept if not _is_object(path) and not (self._git / path).is_file()]
        elif self._pack_names() - self._packs:  # git moved the objects into a new pack
            self.drop()
            self.keep()
            return False
        for path in missing:
            with contextlib.suppress(OSError):
                self._put_back(root, path)
        self._note()
        return bool(missing)

    def drop(self) -> None:
        """Delete the copy."""
        if self._copy:
            self._copy.close()
        self._copy, self._kept = None, {}

    def _files(self) -> Iterator[str]:
        """Yield the paths of the files of the history."""
        yield from (name for name in REFERENCES if (self._git / name).is_file())
        for tree in (OBJECTS, "refs", "logs"):
            for folder, _, names in os.walk(self._git / tree):
                relative = os.path.relpath(folder, self._git)
                yield from (f"{relative}/{name}" for name in names)

    def _duplicate(self, path: str) -> int:
        """Link or copy a file, and return how many bytes were copied. Git may change references in place."""
        assert self._copy
        source, target = self._git / path, self._copy.path / path
        if source.is_symlink():
            return 0
        target.parent.mkdir(parents=True, exist_ok=True)
        status = source.stat()
        self._kept[path] = status.st_mode & 0o777
        if _is_object(path):
            with contextlib.suppress(OSError):
                os.link(source, target, follow_symlinks=False)
                return 0
        if status.st_size <= MAX_COPIED:
            shutil.copyfile(source, target)
        return status.st_size

    def _put_back(self, root: int, path: str) -> None:
        assert self._copy
        kept = self._copy.path / path
        if _is_object(path):
            with contextlib.suppress(OSError):
                forced_access.link(root, f".git/{path}", str(kept))
                return
        forced_access.replace(root, f".git/{path}", kept.read_bytes(), self._kept[path])

    def _note(self) -> None:
        self._state, self._packs = self._current_state(), self._pack_names()

    def _pack_names(self) -> frozenset[str]:
        with contextlib.suppress(OSError), os.scandir(self._git / OBJECTS / "pack") as entries:
            return frozenset(entry.name for entry in entries if entry.name.endswith(".pack"))
        return frozenset()

    def _current_state(self) -> dict[str, int]:
        """Return what changes if a file of the history is removed: when each folder of objects was last changed."""
        state: dict[str, int] = {}
        with contextlib.suppress(OSError), os.scandir(self._git / OBJECTS) as entries:
            state = {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries}
        return state | {name: int((self._git / name).exists()) for name in ("HEAD", "refs", OBJECTS)}


def _is_object(path: str) -> bool:
    return path.startswith(f"{OBJECTS}/")
