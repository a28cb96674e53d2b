"""Records in the data folder that a command runs, with what is needed to revert its changes if Journeyman is killed.

A record is a file that its process keeps locked. Its time of change says when the command was last seen running.
"""

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

RECORDS_FOLDER = "commands"
ALIVE_INTERVAL_S = 1.0  # between two notes that the command still runs


class CommandRecord:
    """The record of one running command."""

    def __init__(self, data: Path, folder: Path, state: dict[str, Any]) -> None:
        records = data / RECORDS_FOLDER
        records.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = records / f"{folder_prefix(folder)}{os.getpid()}-{time.monotonic_ns()}.json"
        self._next = 0.0
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        lock(self._file)
        self._write(state | {"folder": str(folder)})

    def approve(self, paths: Iterable[str]) -> None:
        """Record trusted files that another call is allowed to change from now on, so that they are not reverted."""
        if (approved := sorted(paths)) and self._file >= 0:
            self._write({"approved": approved})

    def note_alive(self) -> None:
        """Note that the command still runs. Called several times a second."""
        if (now := time.monotonic()) >= self._next and self._file >= 0:
            self._next = now + ALIVE_INTERVAL_S
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def close(self) -> None:
        """Remove the record: the changes of the command were reverted."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def _write(self, state: dict[str, Any]) -> None:
        """Write a line, to the disk before this returns."""
        with open(os.dup(self._file), "a", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - a descriptor
            file.write(json.dumps(state) + "\n")
            file.flush()
            os.fsync(file.fileno())


def interrupted_commands(data: Path, folder: Path | None = None) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield the states recorded by processes that are gone, with the time when each command was last seen running.

    A record is removed when the caller asks for the next one. `folder` selects the commands of one folder.
    """
    for path in sorted((data / RECORDS_FOLDER).glob(f"{folder_prefix(folder) if folder else ''}*.json")):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
            with open(descriptor, encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - a descriptor
                if not lock(descriptor):
                    continue
                if state := _read(file):
                    yield state, os.fstat(descriptor).st_mtime
                path.unlink(missing_ok=True)


def _read(lines: Iterable[str]) -> dict[str, Any] | None:
    """Return the state in a record with everything approved; None if it was not written before the process ended."""
    state: dict[str, Any] | None = None
    with contextlib.suppress(ValueError):  # killed while it wrote, so before the command, or the approved call, began
        for line in lines:
            entry = json.loads(line)
            if state is None:
                state = entry
            else:
                state["approved"] = sorted({*state.get("approved", ()), *entry["approved"]})
    return state


def folder_prefix(folder: Path) -> str:
    """Return what the names of all records of a folder begin with."""
    return f"{hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]}-"


def lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return whether no other process has."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
