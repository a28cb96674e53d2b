"""Tracks paths that a command left in a state that cannot be checked or reverted."""

import os
from collections.abc import Iterable
from pathlib import Path

from core.domain.visible import visible_name

MAX_CHARS = 200  # characters of a displayed path
Mark = tuple[int, int]  # inode and change time in nanoseconds


def shortened(path: str) -> str:
    """Return a path or command for display, truncated to `MAX_CHARS` characters."""
    return visible_name(path if len(path) <= MAX_CHARS else f"{path[:MAX_CHARS]}…")


class UnsettledPaths:
    """The unsettled paths of one run. A path is settled once it is removed or changed after the command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._marks: dict[str, Mark] = {}

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            if mark := self._mark(path):
                self._marks[path] = mark

    def remaining(self) -> tuple[str, ...]:
        """Return the paths that are still in the state in which the command left them."""
        self._marks = {path: mark for path, mark in self._marks.items() if self._mark(path) == mark}
        return tuple(self._marks)

    def described(self) -> tuple[str, ...]:
        """Return the remaining paths for display."""
        return tuple(map(shortened, self.remaining()))

    def _mark(self, path: str) -> Mark | None:
        """Return inode and change time of a path, or of the nearest accessible folder above; None if it is missing."""
        while True:
            try:
                status = os.lstat(self._folder / path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError:
                path = path.rpartition("/")[0]
                if not path:
                    return (0, 0)
            else:
                return (status.st_ino, status.st_ctime_ns)
