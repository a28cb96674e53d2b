"""Checks workspace folders, and file names that come from the model."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from core.domain.problems import Problem
from core.domain.visible import visible_name


def check_workspace(folder: Path) -> Path:
    """Return the resolved path of a folder; raise a Problem if it does not exist or its name is not UTF-8."""
    path = folder.expanduser().resolve()
    if not path.is_dir():
        raise Problem(f"There is no folder {path}.", "", "Give an existing folder.")
    if not is_utf8_name(str(path)):
        message = f"An agent cannot work in {visible_name(str(path))}."
        raise Problem(message, "Its name is not UTF-8, so it cannot be stored.", "Rename it or choose another folder.")
    return path


def is_utf8_name(name: str) -> bool:
    """Return whether a file name is UTF-8, so that events can store it without replacing characters."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def is_in_any(path: str, places: Iterable[str]) -> bool:
    """Return whether a path is one of these paths or is inside one of them."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


def outside_folder(name: str) -> Problem:
    """Return the Problem for a path outside the folder, without revealing whether the path exists."""
    return Problem(f"{printable(name)} is outside the folder.", "", "Use a file inside the folder.")


def printable(name: str) -> str:
    """Return a name for use in a message: unchanged, or quoted and escaped if it has unprintable characters."""
    return name if name.isprintable() else repr(name)


def relative_path(name: str, folder: Path) -> str:
    """Return a path that a model gave, relative to the folder; raise Problem if it is invalid or outside the folder.

    Only the text is checked. The broker checks `..` and links when it opens the path.
    """
    try:
        raw = os.fsencode(name)
    except UnicodeEncodeError:
        raw = b"\0"
    if not name or b"\0" in raw:
        raise Problem("The path is not valid.", f"{name!r} was given.", "Use a file inside the folder.")
    if name == "~" or name.startswith("~/"):
        raise outside_folder(name)
    if not os.path.isabs(name):  # noqa: PTH117 - a Path takes ten times as long, in every call
        return name
    for root in (folder, Path(os.path.realpath(folder))):
        if Path(name).is_relative_to(root):
            return str(Path(name).relative_to(root))
    raise outside_folder(name)


def system_state_reason(folder: Path) -> str:
    """Return why no command may work in a resolved folder that belongs to the running system, or "".

    Below /run, removable disks and document portals of the desktop count as ordinary folders.
    """
    for path in ("/proc", "/sys", "/dev"):
        if folder.is_relative_to(path):
            place = "Shared memory" if folder.is_relative_to("/dev/shm") else path
            return f"{place} belongs to the running programs and devices of this computer"
    ordinary = ("/run/media/*", "/run/user/*/doc/*", "/run/user/*/gvfs/*")
    is_ordinary = any(path.match(pattern) for path in (folder, *folder.parents) for pattern in ordinary)
    if folder.is_relative_to("/run") and not is_ordinary:
        return "/run contains the sockets of running programs"
    return ""


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to this user or to root; always True on Windows, where the owner is unknown."""
    return sys.platform == "win32" or status.st_uid in (os.geteuid(), 0)
