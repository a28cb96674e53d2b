"""Knows in which folders commands run that can change the settings of git meanwhile.

Under bubblewrap these settings are mounted read-only. Elsewhere a change is only reverted afterwards, so git must not
rely on settings that were checked a moment ago.
"""

import itertools
import os
from pathlib import Path

from core.domain.problems import Problem
from core.workspace.git_plumbing import pinned_repository

_places: dict[int, tuple[str, ...]] = {}  # what each command can change: its folder, and the git folder of that
_numbers = itertools.count()


def note_start(folder: Path) -> int:
    """Note that a command is started in a folder; return its number."""
    number = next(_numbers)
    _places[number] = _places_of(folder)
    return number


def note_end(number: int) -> None:
    _places.pop(number, None)


def commands_run_in(root: Path) -> bool:
    """Return whether such a command runs in this work tree, around it, or in another work tree of its repository."""
    own = _places_of(root)
    return any(
        f"{mine}/".startswith(f"{other}/") or f"{other}/".startswith(f"{mine}/")
        for others in list(_places.values())
        for other in others
        for mine in own
    )


def refuse_while_commands_run(root: Path) -> None:
    """Raise Problem if such a command runs, see `commands_run_in`."""
    if commands_run_in(root):
        cause = "A command of an agent runs there, and could change meanwhile what git runs."
        raise Problem("Git was not run in this repository.", cause, "Wait until the command has ended, or stop it.")


def _places_of(folder: Path) -> tuple[str, ...]:
    """Return a folder and the git folder that it shares with other work trees, if it is in a repository."""
    return (os.path.realpath(folder), *pinned_repository(folder).values())
