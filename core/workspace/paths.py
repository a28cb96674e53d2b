"""Folders an agent may work in, and how the names it gives are read."""

import os
from pathlib import Path

from core.domain.problems import Problem
from core.domain.visible import visible_name


def workspace(folder: Path) -> Path:
    """A folder an agent may work in."""
    path = folder.expanduser().absolute()
    if not path.is_dir():
        raise Problem(f"There is no folder {path}.", "", "Name a folder that exists with -C.")
    if not is_text(str(path)):
        what = f"An agent cannot work in {visible_name(str(path))}."
        raise Problem(what, "Its name is not UTF-8, so it cannot be written down.", "Rename it, or choose another.")
    return path


def is_text(name: str) -> bool:
    """Whether the bytes of a file's name are UTF-8. No journal can hold another, nor may a second name stand for it."""
    return name.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in name)


def outside(name: str) -> Problem:
    """The same words whether or not anything is there."""
    return Problem(f"{shown(name)} is outside the folder.", "", "Name a file inside the folder.")


def shown(name: str) -> str:
    """A name in a sentence: what cannot be printed is spelled out."""
    return name if name.isprintable() else repr(name)


def relative(name: str, folder: Path) -> str:
    """The name as seen from the folder. Only its spelling is looked at here: the broker decides what it leads to."""
    try:
        raw = os.fsencode(name)
    except UnicodeEncodeError:
        raw = b"\0"
    if not name or b"\0" in raw:
        raise Problem("That is no path.", f"{name!r} was given.", "Name a file inside the folder.")
    if name == "~" or name.startswith("~/"):
        raise outside(name)
    if not os.path.isabs(name):  # noqa: PTH117 - a Path takes ten times as long, at every call
        return name
    for root in (folder, Path(os.path.realpath(folder))):
        if Path(name).is_relative_to(root):
            return str(Path(name).relative_to(root))
    raise outside(name)
