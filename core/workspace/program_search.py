"""Finds the programs that Journeyman runs itself, outside the sandbox, such as git and bubblewrap.

PATH may contain a folder in which agents work, such as the virtual environment that was active when Journeyman was
started. A command can put a program there. So the folders of the system come first, and those of projects are left out.
"""

import os
import shutil
from pathlib import Path

SYSTEM_FOLDERS = frozenset({
    "/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/opt/homebrew/bin", "/snap/bin",
    "/home/linuxbrew/.linuxbrew/bin", "/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin",
})  # fmt: skip
PROJECT_FOLDERS = frozenset({"node_modules", ".venv", "venv", ".tox", ".direnv"})


def own_path() -> str:
    """Return the folders of PATH in which our programs, and the programs that they start, are looked for."""
    entries = dict.fromkeys(os.environ.get("PATH", os.defpath).split(os.pathsep))
    absolute = [entry for entry in entries if Path(entry).is_absolute() and not _is_of_project(Path(entry))]
    return os.pathsep.join(sorted(absolute, key=lambda entry: entry.rstrip("/") not in SYSTEM_FOLDERS))


def find_program(name: str, folder: Path | None = None) -> str:
    """Return the absolute path of an installed program; an empty string if there is none outside this folder."""
    for entry in own_path().split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and Path(found).is_absolute() and not (folder and _is_inside(found, folder)):
            return found
    return ""


def _is_inside(path: str, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _is_of_project(entry: Path) -> bool:
    return not PROJECT_FOLDERS.isdisjoint(entry.parts) or (entry.parent / "pyvenv.cfg").exists()
