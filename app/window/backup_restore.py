"""Restores a backup after the window closes, while the database is closed; the next window shows the result."""

import os
import sys
from pathlib import Path
from typing import Literal

from app.process import data_folder
from core.domain.problems import ErrorDetails, Problem
from core.workspace.program_search import restore_path
from ui.base.window_state import WindowState

RestartMode = Literal["usual", "safe"]
SAFE_OPTION = "--safe"
# Keys of the window state under which the result is stored: a message, or the three parts of an error.
MESSAGE_KEY = "restored"
ERROR_KEYS = ("not_restored/0", "not_restored/1", "not_restored/2")


def restore_backup(folder: Path, name: str, state: WindowState) -> None:
    """Replace the database, which must be closed, with a backup; store the result in `state` for the next window."""
    from core.store.backup import backup_folder, restore

    path = data_folder.database_path(folder)
    try:
        aside = restore(path, backup_folder(path) / f"journeyman-{Path(name).name}.db")
    except Problem as problem:
        error = problem.details
        for key, part in zip(ERROR_KEYS, (error.message, error.cause, error.fix), strict=True):
            state.set_text(key, part)
    else:
        aside_text = f" The data as it was is kept next to it as {aside.name}." if aside else ""
        state.set_text(MESSAGE_KEY, f"The backup of {name} was restored.{aside_text}")
    state.flush()


def take_restore_result(state: WindowState) -> str | ErrorDetails | None:
    """Return the stored result of a restore, a message or an error, and remove it; None if there is none."""
    result = state.text(MESSAGE_KEY)
    message, cause, fix = (state.text(key) for key in ERROR_KEYS)
    for key in (MESSAGE_KEY, *ERROR_KEYS):
        state.set_text(key, "")
    state.flush()
    if message:
        return ErrorDetails(message, cause, fix)
    return result or None


def restart(mode: RestartMode = "usual") -> None:
    """Replace this process by a new one with the same arguments, with or without --safe."""
    is_bundled = getattr(sys, "frozen", False)
    arguments = sys.argv[1:] if is_bundled else sys.orig_argv[1:]
    argv = [argument for argument in arguments if argument != SAFE_OPTION]
    if mode == "safe":
        argv.append(SAFE_OPTION)
    restore_path()
    os.execv(sys.executable, [sys.executable, *argv])
