"""Walks the files of a folder in order, skipping ignored files, within limits of number, depth and time."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.tools.gitignore import IgnoreFile, is_ignored, parse_gitignore
from core.workspace.broker import FileBroker

MAX_ENTRIES = 200_000
MAX_SECONDS = 10.0
MAX_DEPTH = 64
MAX_GITIGNORE_BYTES = 256 << 10
ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn", ".jj"})


class _Entry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    is_folder: bool


class FolderWalk:
    """One walk through a folder. Afterwards `incomplete` says why files are missing; "" if none are."""

    def __init__(self, root: Path, max_entries: int = MAX_ENTRIES) -> None:
        self.incomplete = ""
        self._root = root
        self._max_entries = max_entries
        self._seen = 0
        self._deadline = 0.0

    def files(self, start: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """Yield the parts of the path of each regular file; links are not followed."""
        self._deadline = time.monotonic() + MAX_SECONDS
        with FileBroker(self._root) as broker:
            parents = (start[:depth] for depth in range(len(start)))
            ignore_files = [ignore_file for parent in parents if (ignore_file := _ignore_file(broker, parent))]
            yield from self._files_below(broker, start, ignore_files)

    def _files_below(
        self, broker: FileBroker, folder: tuple[str, ...], ignore_files: list[IgnoreFile]
    ) -> Iterator[tuple[str, ...]]:
        if len(folder) > MAX_DEPTH:
            self.incomplete = f"folders more than {MAX_DEPTH} levels deep were skipped"
            return
        if ignore_file := _ignore_file(broker, folder):
            ignore_files = [*ignore_files, ignore_file]
        for name, is_folder in self._entries(broker, folder):
            if self.incomplete.startswith("stopped"):
                return
            path = (*folder, name)
            if is_ignored(path, is_folder, ignore_files):
                continue
            if is_folder:
                yield from self._files_below(broker, path, ignore_files)
            else:
                yield path

    def _entries(self, broker: FileBroker, folder: tuple[str, ...]) -> list[_Entry]:
        """Return the files and folders in a folder, sorted by name. Links and special files are left out."""
        found: list[_Entry] = []
        try:
            with broker.open_folder("/".join(folder) or ".") as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    self._seen += 1
                    if stop_reason := self._stop_reason():
                        self.incomplete = stop_reason
                        break
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if entry.name not in ALWAYS_IGNORED and (is_folder or entry.is_file(follow_symlinks=False)):
                        found.append(_Entry(entry.name, is_folder))
        except (OSError, Problem):
            return []  # The folder is unreadable, was removed, or was replaced by a link.
        return sorted(found)

    def _stop_reason(self) -> str:
        if self._seen > self._max_entries:
            return f"stopped after {self._max_entries:,} files"
        if self._seen % 256 == 0 and time.monotonic() > self._deadline:
            return f"stopped after {MAX_SECONDS:g} s"
        return ""


def _ignore_file(broker: FileBroker, folder: tuple[str, ...]) -> IgnoreFile | None:
    """Return the `.gitignore` of a folder; None if it has none or is unreadable."""
    try:
        with broker.open_folder("/".join(folder) or ".") as descriptor:
            text = _gitignore_text(descriptor)
    except Problem:
        return None
    return parse_gitignore(text, folder) if text else None


def _gitignore_text(folder: int) -> str:
    """Return the beginning of the `.gitignore` in the folder with this descriptor; "" unless it is a regular file."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(".gitignore", flags, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return file.read(MAX_GITIGNORE_BYTES).decode("utf-8", "replace")


def printable_path(path: tuple[str, ...]) -> str:
    """Return a path as one line of text; unprintable characters are escaped."""
    name = "/".join(path)
    if name.isprintable():
        return name
    return "".join(map(_printable_character, name))


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()
