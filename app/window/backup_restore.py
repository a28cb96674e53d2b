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
SAID = "restored"
WHY = "not_restored"


def restore_backup(folder: Path, name: str, state: WindowState) -> None:
    """Replace the database, which must be closed, with a backup; store the result in `state` for the next window."""
    from core.store.backup import backup_folder, restore

    path = data_folder.database_path(folder)
    try:
        aside = restore(path, backup_folder(path) / f"journeyman-{Path(name).name}.db")
    except Problem as problem:
        for number, part in enumerate((problem.details.message, problem.details.cause, problem.details.fix)):
            state.set_text(f"{WHY}/{number}", part)
    else:
        aside_text = f" The data as it was is kept next to it as {aside.name}." if aside else ""
        state.set_text(SAID, f"The backup of {name} was restored.{aside_text}")
    state.flush()


def take_restore_result(state: WindowState) -> str | ErrorDetails | None:
    """Return the stored result of a restore, a message or an error, and remove it; None if there is none."""
    message = state.text(SAID)
    parts = [state.text(f"{WHY}/{number}") for number in range(3)]
    for name in (SAID, *(f"{WHY}/{number}" for number in range(3))):
        state.set_text(name, "")
    state.flush()
    if parts[0]:
        return ErrorDetails(*parts)
    return message or None


def restart(mode: RestartMode = "usual") -> None:
    """Replace this process by a new one with the same arguments, with or without --safe."""
    frozen = getattr(sys, "frozen", False)
    argv = [argument for argument in (sys.argv[1:] if frozen else sys.orig_argv[1:]) if argument != SAFE_OPTION]
    restore_path()
    os.execv(sys.executable, [sys.executable, *argv, *([SAFE_OPTION] if mode == "safe" else [])])
