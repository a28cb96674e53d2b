"""Finds the repositories in which commands changed references: branches, tags, notes, stashes or reflogs.

Such changes can carry text, such as a commit message, that appears in no recorded file change.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from core.workspace.beneath import open_by_walking, open_folder
from core.workspace.git_folders import GitFolder, kept_git_folders
from core.workspace.git_references import FileState, reference_states

_States = frozenset[tuple[str, FileState]]


class HistoryChanges:
    """The states of the references in the repositories of a folder and, for a linked worktree, of its main repository.

    Not thread-safe: the caller must serialize calls.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._states: dict[str, _States] = {}

    def keep(self, git_places: Iterable[str]) -> None:
        """Record the current states, for the next `take` to compare. `git_places` are `.git` folders and files."""
        self._states = self._read(git_places)

    def take(self, git_places: Iterable[str]) -> tuple[str, ...]:
        """Return the git folders with new or changed references since the last call, and record the current states."""
        before, self._states = self._states, self._read(git_places)
        return tuple([name for name, states in self._states.items() if states - before.get(name, frozenset())])

    def _read(self, git_places: Iterable[str]) -> dict[str, _States]:
        """Return the states by git folder, whose path is relative to the folder, or absolute if it is outside."""
        if sys.platform == "win32":
            return {}
        found = {}
        for git_folder in kept_git_folders(self._folder, git_places):
            is_inside = git_folder.base == self._folder
            found[git_folder.path if is_inside else str(git_folder.base / git_folder.path)] = _states(git_folder)
        return found


def _states(git_folder: GitFolder) -> _States:
    """Return the states of the references in a git folder; none if it is missing or reached through a link."""
    try:
        base = open_folder(str(git_folder.base))
    except OSError:
        return frozenset()
    try:
        git = open_by_walking(base, git_folder.path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return frozenset()
    finally:
        os.close(base)
    try:
        return reference_states(git)
    finally:
        os.close(git)
