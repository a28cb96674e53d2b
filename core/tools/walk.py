"""The files of a folder in order, without those that `.gitignore` leaves out, within bounds."""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.domain.problems import Problem
from core.tools.ignored import Ignored, is_ignored, read_patterns
from core.workspace.broker import Broker

ENTRIES = 200_000
SECONDS = 10.0
DEEPEST = 64
RULES_SIZE = 256 << 10
NEVER = frozenset({".git", ".hg", ".svn", ".jj"})


@dataclass(slots=True)
class Walk:
    """Goes through a folder once. Afterwards `cut` says why it did not see everything, if so."""

    root: Path
    cut: str = ""
    _left: int = ENTRIES
    _until: float = 0.0
    _broker: Broker = field(init=False)

    def files(self, start: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """The parts of each ordinary file's path; links are not followed."""
        self._until = time.monotonic() + SECONDS
        with Broker(self.root) as self._broker:
            rules = [found for depth in range(len(start)) if (found := self._rules(start[:depth]))]
            yield from self._folder(start, rules)

    def _folder(self, folder: tuple[str, ...], rules: list[Ignored]) -> Iterator[tuple[str, ...]]:
        if len(folder) > DEEPEST:
            self.cut = f"folders deeper than {DEEPEST} were left out"
            return
        if found := self._rules(folder):
            rules = [*rules, found]
        for name, is_folder in self._entries(folder):
            if self.cut.startswith("stopped"):
                return
            path = (*folder, name)
            if is_ignored(path, is_folder, rules):
                continue
            if is_folder:
                yield from self._folder(path, rules)
            else:
                yield path

    def _entries(self, folder: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """Names in order, with whether each is a folder; what is neither file nor folder is left out."""
        found: list[tuple[str, bool]] = []
        try:
            with self._broker.opened("/".join(folder) or ".") as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0 or (self._left % 256 == 0 and time.monotonic() > self._until):
                        self.cut = (
                            f"stopped after {ENTRIES:,} files" if self._left < 0 else f"stopped after {SECONDS:g} s"
                        )
                        break
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if entry.name not in NEVER and (is_folder or entry.is_file(follow_symlinks=False)):
                        found.append((entry.name, is_folder))
        except (OSError, Problem):
            return  # a folder nobody may read, that went away, or became a link
        yield from sorted(found)

    def _rules(self, folder: tuple[str, ...]) -> Ignored | None:
        try:
            with self._broker.opened("/".join(folder) or ".") as descriptor:
                text = _small_text(descriptor)
        except Problem:
            return None
        return read_patterns(text, folder) if text else None


def _small_text(folder: int) -> str:
    """The start of its rules, an ordinary file; nothing that waits, nothing behind a link."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(".gitignore", flags, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return file.read(RULES_SIZE).decode("utf-8", "replace")


def shown(path: tuple[str, ...]) -> str:
    """A path as one line of text: what would break the line, or is no text, is written out."""
    name = "/".join(path)
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in name)
