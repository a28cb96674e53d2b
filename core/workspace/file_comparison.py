"""Compares a file with its state before a command."""

import stat
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.sensitive_paths import is_hidden_from_commands
from core.workspace.broker import WRITE_LIMIT, FileBroker
from core.workspace.file_change import FileChange, FileModes, OriginalFile
from core.workspace.paths import is_utf8_name


class ChangedPath(NamedTuple):
    """A changed file whose contents before or after are unknown, or must not be stored."""

    path: str


def change_since(broker: FileBroker, path: str, original: OriginalFile | None) -> FileChange | ChangedPath | None:
    """Return the change of a file since it was `original`, None standing for no file; None if nothing changed."""
    try:
        status = broker.stat(path)
        if status and not stat.S_ISREG(status.st_mode):
            return ChangedPath(path)
        after = broker.read(path, WRITE_LIMIT) if status else None
    except Problem:
        return ChangedPath(path)
    before = original.body if original else None
    if after == before:
        return None
    if is_private(path):
        return ChangedPath(path)
    modes = FileModes(before=original.mode if original else 0, after=stat.S_IMODE(status.st_mode) if status else 0)
    return FileChange(path, before, after, modes)


def is_private(path: str) -> bool:
    """Return whether the contents must not be stored: of secrets, and of files whose names are not UTF-8."""
    return not is_utf8_name(path) or is_hidden_from_commands(path)
