"""Records of running commands in the data folder, for reverting their changes if Journeyman is killed meanwhile.

The first line of a record is the state before the command. Each further line is a file that Journeyman itself was about
to write in the folder, such as after an approval in another session, so that this is not reverted.

The recording process keeps its record locked. The modification time of a record is when that process was last seen
running, even if its event loop is busy.
"""

import base64
import contextlib
import hashlib
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

if sys.platform != "win32":
    import fcntl

RECORDS_FOLDER = "commands"
ALIVE_INTERVAL_S = 1.0  # seconds between two updates of the modification time of a record


class InterruptedCommand(NamedTuple):
    """A command that was running when Journeyman was killed.

    Attributes:
        state: the state that its record was created with, and `own_writes`: the files that Journeyman itself wrote,
            with their contents in base64, or None for a removed file.
        last_seen: when the process that recorded it was last seen running, in seconds since the epoch.
    """

    state: dict[str, Any]
    last_seen: float


class CommandRecord:
    """The record of one running command: the given `state` as JSON, on disk before the command starts."""

    def __init__(self, data: Path, folder: Path, state: dict[str, Any]) -> None:
        records = data / RECORDS_FOLDER
        records.mkdir(mode=0o700, exist_ok=True)  # not with parents: a deleted data folder must stay deleted
        self._path = records / f"{folder_prefix(folder)}{os.getpid()}-{time.monotonic_ns()}.json"
        self._lock = threading.Lock()
        self._closed = threading.Event()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(self._path, flags, 0o600)
        lock(self._file)
        with open(os.dup(self._file), "w", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - a descriptor
            json.dump(state | {"folder": str(folder)}, file)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        arguments = (self._path, self._closed)  # not `self`, so that the thread ends with a record that is not closed
        self._thread = threading.Thread(target=_note_alive, args=arguments, name="command record", daemon=True)
        self._thread.start()
        weakref.finalize(self, self._closed.set)

    def note_own_write(self, path: str, body: bytes | None) -> None:
        """Note, before it happens, that Journeyman itself writes a file in the folder, or removes it if `body` is None.

        Callable from any thread.
        """
        line = json.dumps([path, None if body is None else base64.b64encode(body).decode()]) + "\n"
        with self._lock, contextlib.suppress(OSError):  # on a full disk, the file can still be written in place
            if self._file >= 0:
                os.write(self._file, line.encode("utf-8", "surrogatepass"))
                os.fsync(self._file)

    def close(self) -> None:
        """Delete the record, after the changes of the command have been recorded or reverted."""
        self._closed.set()
        self._thread.join()
        with self._lock:
            if self._file >= 0:
                self._path.unlink(missing_ok=True)
                os.close(self._file)
                self._file = -1


def _note_alive(path: Path, closed: threading.Event) -> None:
    """Update the modification time of a record once per second until it is closed."""
    while not closed.wait(ALIVE_INTERVAL_S):
        with contextlib.suppress(OSError):
            os.utime(path)


def interrupted_commands(data: Path, folder: Path | None = None) -> Iterator[InterruptedCommand]:
    """Yield the commands in records whose processes are gone. `folder` selects the commands of one folder.

    A record is deleted when the caller asks for the next one.
    """
    for path in sorted((data / RECORDS_FOLDER).glob(f"{folder_prefix(folder) if folder else ''}*.json")):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
            with open(descriptor, encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - a descriptor
                if not lock(descriptor):
                    continue
                if state := _read(file):
                    yield InterruptedCommand(state, last_seen=os.fstat(descriptor).st_mtime)
                path.unlink(missing_ok=True)


def interrupted_folders(data: Path) -> list[Path]:
    """Return the folders of all records whose processes are gone, without deleting the records."""
    folders: dict[Path, None] = {}
    for path in sorted((data / RECORDS_FOLDER).glob("*.json")):
        with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="surrogatepass") as file:
            if lock(file.fileno()) and (state := _read(file)):
                folders[Path(state["folder"])] = None
    return list(folders)


def _read(record: IO[str]) -> dict[str, Any] | None:
    """Return the state in a record; None if it is incomplete: then the process was killed before the command began."""
    try:
        state: dict[str, Any] = json.loads(record.readline())
    except ValueError:
        return None
    own_writes: dict[str, str | None] = {}
    with contextlib.suppress(ValueError):  # the process was killed while it wrote the last line
        own_writes.update(json.loads(line) for line in record)
    return state | {"own_writes": own_writes}


def folder_prefix(folder: Path) -> str:
    """Return the file name prefix shared by all records of a folder."""
    return f"{hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]}-"


def lock(descriptor: int) -> bool:
    """Lock a file until its descriptor is closed; return False if another process has locked it.

    Windows has no such lock: always True there.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
