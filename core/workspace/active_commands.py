"""The folders of running commands that could change git settings, so that git is not run there at the same time.

Bubblewrap mounts git settings read-only. The other sandboxes only revert a change afterwards, so git outside the
sandbox must not rely on settings that were checked a moment ago.
"""

import itertools
import os
from pathlib import Path

from core.domain.problems import Problem
from core.workspace.git_plumbing import pinned_repository

# The folder of each running command, and the git folder of its repository, by the number from `note_start`.
_running: dict[int, tuple[str, ...]] = {}
_numbers = itertools.count()


def note_start(folder: Path) -> int:
    """Note that a command was started in a folder; return a number to pass to `note_end`."""
    number = next(_numbers)
    _running[number] = _places_of(folder)
    return number


def note_end(number: int) -> None:
    _running.pop(number, None)


def commands_run_in(root: Path) -> bool:
    """Return whether a noted command runs in this work tree, in a folder above or below it, or in its repository."""
    own_places = _places_of(root)
    running_places = [place for places in list(_running.values()) for place in places]
    return any(_overlap(own, running) for own in own_places for running in running_places)


def _overlap(one: str, other: str) -> bool:
    """Return whether two folders are the same, or one is inside the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def refuse_while_commands_run(root: Path) -> None:
    """Raise Problem if a command runs that could change the git settings of this work tree, see `commands_run_in`."""
    if commands_run_in(root):
        cause = "A command of an agent runs there, and could change meanwhile what git runs."
        raise Problem("Git was not run in this repository.", cause, "Wait until the command has ended, or stop it.")


def _places_of(folder: Path) -> tuple[str, ...]:
    """Return the real path of a folder and, inside a repository, the git folder shared by all its work trees."""
    return (os.path.realpath(folder), *pinned_repository(folder).values())
