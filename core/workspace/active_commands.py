"""The folders of running commands that could change git settings, so that git is not run there at the same time.

Bubblewrap mounts git settings read-only. The other sandboxes only revert a change afterwards, so git outside the
sandbox must not rely on settings that were checked a moment ago.
"""

import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from core.domain.problems import Problem
from core.workspace.git_plumbing import pinned_repository

# The folder of each running command, and the git folder of its repository, by the number from `note_start`.
_running: dict[int, tuple[str, ...]] = {}
_numbers = itertools.count()


def note_start(folder: Path) -> int:
    """Note that a command was started in a folder; return a number to pass to `note_end`."""
    number = next(_numbers)
    _running[number] = places_of(folder)
    return number


def note_end(number: int) -> None:
    _running.pop(number, None)


def commands_run_in(root: Path) -> bool:
    """Return whether a noted command runs in this work tree, in a folder above or below it, or in its repository."""
    own_places = places_of(root)
    return any(overlap(own_places, places) for places in list(_running.values()))


def overlap(places: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether one of these folders is the same as one of the others, or one of the two is inside the other."""
    return any(
        f"{place}/".startswith(f"{other}/") or f"{other}/".startswith(f"{place}/")
        for place, other in itertools.product(places, others)
    )


def refuse_while_commands_run(root: Path) -> None:
    """Raise Problem if a command runs that could change the git settings of this work tree, see `commands_run_in`."""
    if commands_run_in(root):
        cause = "A command of an agent runs there, and could change meanwhile what git runs."
        raise Problem("Git was not run in this repository.", cause, "Wait until the command has ended, or stop it.")


def places_of(folder: Path) -> tuple[str, ...]:
    """Return the real path of a folder and, inside a repository, the git folder shared by all its work trees."""
    return (os.path.realpath(folder), *pinned_repository(folder).values())
