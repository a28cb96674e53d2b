"""Stores git history in the data folder, so that it can be restored if Journeyman is killed during a command.

The files survive a killed process but not necessarily a power failure. `git_history` decides what to store and restore.
"""

import base64
import contextlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

from core.workspace.command_record import folder_prefix, lock
from core.workspace.git_references import FileState, ReferenceFile, References

HISTORY_FOLDER = "history"
# The names of the stored files and folders.
_LOG = "log"
_COPIES = "objects"
_PACKS = "packs"
_LOCK = "lock"
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class CopiedObject:
    """The position of a loose object in the file of copies, and the state of the object file when it was copied."""

    state: FileState
    offset: int
    size: int


@dataclass(slots=True)
class StoredHistory:
    """The stored history of one repository.

    Attributes:
        base, path: the git folder, as a folder that no command can move and a path in it.
        folder: the folder of the session.
        references: the contents and states of the files of references, by path in the git folder.
        objects: the copied loose objects, by path in the git folder.
        packs: the hard links to packs, by path in the git folder.
        kept_at: when the log was last written, in nanoseconds since the epoch.
    """

    base: Path
    path: str
    folder: Path
    references: References = field(default_factory=dict)
    objects: dict[str, CopiedObject] = field(default_factory=dict)
    packs: dict[str, Path] = field(default_factory=dict)
    kept_at: int = 0


class RepositoryStore:
    """The stored files of one repository: a log of changes to the kept history, copied objects, and links to packs."""

    def __init__(self, files: Path, base: Path, path: str, folder: Path) -> None:
        files.mkdir(mode=0o700)
        (files / _PACKS).mkdir(mode=0o700)
        self._files = files
        for name in (_COPIES, _LOG):
            (files / name).touch(mode=0o600)
        self.copies: IO[bytes] = (files / _COPIES).open("w+b")
        self._log = (files / _LOG).open("w", encoding="utf-8", errors="surrogatepass")
        self._references: References = {}
        self._objects: dict[str, CopiedObject] = {}
        self._packs: set[str] = set()
        self._log.write(json.dumps(["repository", str(base), path, str(folder)]) + "\n")

    def record(
        self, references: References, objects: Mapping[str, CopiedObject], packs: Collection[str], pack_folder: int
    ) -> None:
        """Record what is kept from now on, by appending the differences from the previous call to the log.

        Packs are kept by an additional hard link. If they are on another file system, they are not kept.
        """
        self.copies.flush()
        lines = [
            *_differences("reference", self._references, references, _encoded),
            *_differences("object", self._objects, objects, lambda copied: [copied.state, copied.offset, copied.size]),
        ]
        self._references, self._objects = dict(references), dict(objects)
        self._log.writelines(json.dumps(line) + "\n" for line in lines)
        self._log.flush()
        for path in self._packs.symmetric_difference(packs):
            name = path.rpartition("/")[2]
            with contextlib.suppress(OSError):
                if path in self._packs:
                    (self._files / _PACKS / name).unlink()
                else:
                    os.link(name, self._files / _PACKS / name, src_dir_fd=pack_folder, follow_symlinks=False)
        self._packs = set(packs)

    def close(self) -> None:
        """Delete the stored files, after the history no longer needs to be restored."""
        self.copies.close()
        self._log.close()
        shutil.rmtree(self._files, ignore_errors=True)


class HistoryFolder:
    """The stored history of one run, with a subfolder for each repository; locked while the run's process lives."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.name = f"{folder_prefix(folder)}{os.getpid()}-{os.urandom(4).hex()}"
        self._path = data / HISTORY_FOLDER / self.name
        self._path.parent.mkdir(mode=0o700, exist_ok=True)  # not with parents: a deleted data folder must stay deleted
        self._path.mkdir(mode=0o700)
        self._lock = os.open(self._path / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        lock(self._lock)
        self._count = 0

    def add(self, base: Path, path: str, folder: Path) -> RepositoryStore:
        self._count += 1
        return RepositoryStore(self._path / str(self._count), base, path, folder)

    def close(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        os.close(self._lock)


def _differences(
    kind: str, before: Mapping[str, _Value], after: Mapping[str, _Value], encode: Callable[[_Value], list[Any]]
) -> Iterator[list[Any]]:
    """Yield a log line for each added, changed or removed entry; a removed one is `[kind, path]` without values."""
    if before == after:
        return
    yield from ([kind, path] for path in before.keys() - after.keys())
    yield from ([kind, path, *encode(value)] for path, value in after.items() if before.get(path) != value)


def _encoded(file: ReferenceFile) -> list[Any]:
    return [file.state, base64.b64encode(file.body).decode()]


def abandoned_repositories(data: Path, name: str) -> Iterator[Path]:
    """Yield the folder of each repository in the history `name`, unless its process lives; delete them at the end."""
    path = data / HISTORY_FOLDER / name
    with _locked(path) as is_abandoned:
        if is_abandoned:
            yield from sorted(each for each in path.iterdir() if each.is_dir())
            shutil.rmtree(path, ignore_errors=True)


def remove_abandoned(data: Path, folder: Path) -> None:
    """Delete the histories of this folder whose processes are gone.

    Call it after recovery: these histories belong to no interrupted command.
    """
    for path in (data / HISTORY_FOLDER).glob(f"{folder_prefix(folder)}*"):
        with _locked(path) as is_abandoned:
            if is_abandoned:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Lock the stored history of a run; yield False if it is missing or another process has locked it."""
    try:
        descriptor = os.open(path / _LOCK, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        yield False
        return
    try:
        yield lock(descriptor)
    finally:
        os.close(descriptor)


def read_history(files: Path) -> StoredHistory | None:
    """Read the stored history of a repository; return None if the log is empty, because the process was killed at once.

    An incomplete line in the log and everything after it are ignored.
    """
    stored: StoredHistory | None = None
    with (files / _LOG).open(encoding="utf-8", errors="surrogatepass") as log, contextlib.suppress(ValueError):
        for line in log:
            match json.loads(line):
                case ["repository", base, path, folder]:
                    stored = StoredHistory(Path(base), path, Path(folder))
                case ["reference", path] if stored:
                    stored.references.pop(path, None)
                case ["reference", path, [inode, size, changed_ns], body] if stored:
                    state = FileState(inode, size, changed_ns)
                    stored.references[path] = ReferenceFile(state, base64.b64decode(body))
                case ["object", path] if stored:
                    stored.objects.pop(path, None)
                case ["object", path, [inode, size, changed_ns], offset, length] if stored:
                    state = FileState(inode, size, changed_ns)
                    stored.objects[path] = CopiedObject(state, offset, size=length)
    if stored:
        stored.kept_at = (files / _LOG).stat().st_ctime_ns
        stored.packs = {f"objects/pack/{file.name}": file for file in sorted((files / _PACKS).iterdir())}
    return stored


def open_copies(files: Path) -> IO[bytes]:
    """Open the file with the copies of a repository's objects for reading."""
    return (files / _COPIES).open("rb")
