"""Puts a backup in the place of the data between two windows, and lets the second say what came of it."""

import os
import sys
from pathlib import Path
from typing import Literal

from app import places
from core.domain.problems import Problem, Trouble
from ui.window_state import WindowState

Restart = Literal["usual", "safe"]
SAFE_WORD = "--safe"
SAID = "restored"
WHY = "not_restored"


def put_back(folder: Path, name: str, state: WindowState) -> None:
    """While nobody has the data open; what came of it is kept for the next window."""
    from core.store.backup import backups_of, restore

    path = places.database(folder)
    try:
        aside = restore(path, backups_of(path) / f"journeyman-{Path(name).name}.db")
    except Problem as problem:
        for number, part in enumerate((problem.trouble.what, problem.trouble.why, problem.trouble.do)):
            state.keep_text(f"{WHY}/{number}", part)
    else:
        kept = f" The data as it was is kept beside it: {aside.name}." if aside else ""
        state.keep_text(SAID, f"The backup of {name} was put back.{kept}")
    state.flush()


def restored(state: WindowState) -> str | Trouble | None:
    """What is to be said, once; nothing where nothing was put back."""
    said = state.text(SAID)
    parts = [state.text(f"{WHY}/{number}") for number in range(3)]
    for name in (SAID, *(f"{WHY}/{number}" for number in range(3))):
        state.keep_text(name, "")
    state.flush()
    if parts[0]:
        return Trouble(*parts)
    return said or None


def start_again(how: Restart = "usual") -> None:
    """This program anew, in the place of this process."""
    frozen = getattr(sys, "frozen", False)
    words = [word for word in (sys.argv[1:] if frozen else sys.orig_argv[1:]) if word != SAFE_WORD]
    os.execv(sys.executable, [sys.executable, *words, *([SAFE_WORD] if how == "safe" else [])])
