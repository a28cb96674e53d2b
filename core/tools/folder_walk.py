"""Walks the files of a folder in order, skipping ignored files, within limits of number, depth and time."""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.domain.problems import Problem
from core.tools.gitignore import IgnoreFile, is_ignored, parse_gitignore
from core.workspace.broker import FileBroker

ENTRIES = 200_000
SECONDS = 10.0
DEEPEST = 64
RULES_SIZE = 256 << 10
NEVER = frozenset({".git", ".hg", ".svn", ".jj"})


@dataclass(slots=True)
class FolderWalk:
    """One walk through a folder. Afterwards `incomplete` says why files are missing; "" if none are."""

    root: Path
    incomplete: str = ""
    _remaining: int = ENTRIES
    _until: float = 0.0
    _broker: FileBroker = field(init=False)

    def files(self, start: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """Yield the parts of the path of each regular file; links are not followed."""
        self._until = time.monotonic() + SECONDS
        with FileBroker(self.root) as self._broker:
            rules = [ignore_file for depth in range(len(start)) if (ignore_file := self._rules(start[:depth]))]
            yield from self._folder(start, rules)

    def _folder(self, folder: tuple[str, ...], rules: list[IgnoreFile]) -> Iterator[tuple[str, ...]]:
        if len(folder) > DEEPEST:
            self.incomplete = f"folders more than {DEEPEST} levels deep were skipped"
            return
        if ignore_file := self._rules(folder):
            rules = [*rules, ignore_file]
        for name, is_folder in self._entries(folder):
            if self.incomplete.startswith("stopped"):
                return
            path = (*folder, name)
            if is_ignored(path, is_folder, rules):
                continue
            if is_folder:
                yield from self._folder(path, rules)
            else:
                yield path

    def _entries(self, folder: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """Yield the names in a folder in order, each with whether it is a folder. Skip links and special files."""
        names: list[tuple[str, bool]] = []
        try:
            with self._broker.open_folder("/".join(folder) or ".") as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    self._remaining -= 1
                    if self._remaining < 0 or (self._remaining % 256 == 0 and time.monotonic() > self._until):
                        self.incomplete = (
                            f"stopped after {ENTRIES:,} files"
                            if self._remaining < 0
                            else f"stopped after {SECONDS:g} s"
                        )
                        break
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if entry.name not in NEVER and (is_folder or entry.is_file(follow_symlinks=False)):
                        names.append((entry.name, is_folder))
        except (OSError, Problem):
            return  # The folder is unreadable, was removed, or was replaced by a link.
        yield from sorted(names)

    def _rules(self, folder: tuple[str, ...]) -> IgnoreFile | None:
        try:
            with self._broker.open_folder("/".join(folder) or ".") as descriptor:
                text = _small_text(descriptor)
        except Problem:
            return None
        return parse_gitignore(text, folder) if text else None


def _small_text(folder: int) -> str:
    """Return the beginning of the `.gitignore` in the folder with this descriptor; "" unless it is a regular file."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(".gitignore", flags, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return file.read(RULES_SIZE).decode("utf-8", "replace")


def printable_path(path: tuple[str, ...]) -> str:
    """Return a path as one line of text; unprintable characters are escaped."""
    name = "/".join(path)
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in name)
