"""Finds where Journeyman and its Python interpreter are installed; commands may read but not change these folders."""

import os
import sys
from pathlib import Path


def interpreter() -> str:
    """Return the real path of the Python interpreter, outside any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable) or sys.executable)


def installation_inside(folder: Path) -> list[Path]:
    """Return the subfolders of a folder that Journeyman runs from, such as a virtual environment in the project.

    If a command changed them, Journeyman would run the change unsandboxed at its next start.
    """
    real = Path(os.path.realpath(folder))
    return sorted(place for place in _installation() if place.is_relative_to(real) and place != real)


def is_in_installation(folder: Path) -> bool:
    """Return whether a folder belongs to the bundle or virtual environment that Journeyman runs from."""
    is_own_installation = sys.prefix != sys.base_prefix or _is_bundle()
    return is_own_installation and any(folder.is_relative_to(place) for place in _installation())


def _installation() -> set[Path]:
    places = {Path(sys.executable).parent} if _is_bundle() else {Path(sys.prefix), Path(sys.base_prefix)}
    return {Path(os.path.realpath(place)) for place in places} - {Path("/usr"), Path("/usr/local")}


def _is_bundle() -> bool:
    """Return whether this program is frozen: its own interpreter, in one folder with its libraries."""
    return bool(getattr(sys, "frozen", False))


def interpreter_folders() -> list[Path]:
    """Return the folders outside the system folders that the interpreter needs."""
    prefix = Path(sys.executable).resolve().parent if _is_bundle() else Path(sys.base_prefix)
    return [] if prefix.is_relative_to("/usr") else [prefix]
