"""Tracks paths that a command left in a state that cannot be checked or reverted."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from core.domain.visible import visible_name

MAX_CHARS = 200  # characters of a displayed path


class PathState(NamedTuple):
    """What changes when a path is changed or replaced: its inode and change time; both are 0 if unknown."""

    inode: int
    changed_ns: int


def shortened(path: str) -> str:
    """Return a path or command for display, truncated to `MAX_CHARS` characters."""
    return visible_name(path if len(path) <= MAX_CHARS else f"{path[:MAX_CHARS]}…")


class UnsettledPaths:
    """The unsettled paths of one run. A path is settled once it is removed or changed after the command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states: dict[str, PathState] = {}

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            if state := self._state(path):
                self._states[path] = state

    def remaining(self) -> tuple[str, ...]:
        """Return the paths that are still in the state in which the command left them."""
        self._states = {path: state for path, state in self._states.items() if self._state(path) == state}
        return tuple(self._states)

    def described(self) -> tuple[str, ...]:
        """Return the remaining paths for display."""
        return tuple(map(shortened, self.remaining()))

    def _state(self, path: str) -> PathState | None:
        """Return the state of a path, or of the nearest accessible folder above; None if the path is missing."""
        while True:
            try:
                status = os.lstat(self._folder / path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError:
                path = path.rpartition("/")[0]
                if not path:
                    return PathState(inode=0, changed_ns=0)
            else:
                return PathState(inode=status.st_ino, changed_ns=status.st_ctime_ns)
