"""Knows in which folders commands run that can change the settings of git meanwhile.

Under bubblewrap these settings are mounted read-only. Elsewhere a change is only reverted afterwards, so git must not
rely on settings that were checked a moment ago.
"""

import itertools
import os
from pathlib import Path

from core.domain.problems import Problem

_folders: dict[int, str] = {}
_numbers = itertools.count()


def note_start(folder: Path) -> int:
    """Note that a command is started in a folder; return its number."""
    number = next(_numbers)
    _folders[number] = os.path.realpath(folder)
    return number


def note_end(number: int) -> None:
    _folders.pop(number, None)


def refuse_while_commands_run(root: Path) -> None:
    """Raise Problem if such a command runs in this repository, or in a folder that contains it."""
    real = os.path.realpath(root)
    if any(f"{each}/".startswith(f"{real}/") or f"{real}/".startswith(f"{each}/") for each in list(_folders.values())):
        cause = "A command of an agent runs there, and could change meanwhile what git runs."
        raise Problem("Git was not run in this repository.", cause, "Wait until the command has ended, or stop it.")
