"""Finds the programs that Journeyman itself runs outside the sandbox, such as git, bubblewrap and MCP servers.

PATH may contain a folder in which agents work, such as a virtual environment that was active when Journeyman was
started, and a command could put a program there. So system folders are searched first, and project folders are skipped.
"""

import os
import shutil
from pathlib import Path

from core.domain.problems import Problem

SYSTEM_FOLDERS = frozenset(
    {"/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/opt/homebrew/bin", "/snap/bin"}
    | {"/home/linuxbrew/.linuxbrew/bin", "/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin"}
)
PROJECT_FOLDERS = frozenset({"node_modules", ".venv", "venv", ".tox", ".direnv"})
SYSTEM_PLACES = ("/usr", "/bin", "/sbin", "/opt", "/app", "/gnu", "/nix", "/snap", "/run", "/home/linuxbrew/.linuxbrew")
COMMAND_PATH = "JOURNEYMAN_COMMAND_PATH"  # environment variable with the original PATH from when Journeyman was started


def leave_projects_out_of_path() -> None:
    """Remove project folders from PATH, so that libraries such as Qt do not start programs from them either."""
    os.environ[COMMAND_PATH] = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = own_path()


def command_path() -> str:
    """Return the PATH for sandboxed commands: the original one, because they may run programs of projects."""
    return os.environ.get(COMMAND_PATH) or os.environ.get("PATH", os.defpath)


def restore_path() -> None:
    """Undo `leave_projects_out_of_path`, for a restart that replaces this process by a new one."""
    os.environ["PATH"] = command_path()
    os.environ.pop(COMMAND_PATH, None)


def own_path(folder: Path | None = None) -> str:
    """Return the PATH for programs run outside the sandbox, system folders first.

    Project folders, and folders inside `folder`, are left out.
    """
    entries = dict.fromkeys(os.environ.get("PATH", os.defpath).split(os.pathsep))
    usable = [entry for entry in entries if Path(entry).is_absolute() and not _is_of_project(Path(entry))]
    if folder:
        usable = [entry for entry in usable if not _is_inside(entry, folder)]
    return os.pathsep.join(sorted(usable, key=lambda entry: entry.rstrip("/") not in SYSTEM_FOLDERS))


def find_system_program(name: str) -> str:
    """Return the absolute path of a program in a system folder, or "".

    Used for programs that the security of the sandbox depends on.
    """
    folders = (entry for entry in own_path().split(os.pathsep) if _is_of_system(Path(os.path.realpath(entry))))
    return next((found for entry in folders if (found := shutil.which(name, path=entry))), "")


def find_program(name: str, folder: Path | None = None) -> str:
    """Return the absolute path of an installed program; "" if there is none outside `folder` and other projects."""
    for entry in own_path(folder).split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and Path(found).is_absolute() and not (folder and _is_inside(found, folder)):
            return found
    return ""


def require_git(folder: Path, purpose: str = "") -> str:
    """Return the absolute path of the git to run in a folder. If it cannot be run there, raise a Problem that says why.

    `purpose` is a sentence about what git is needed for.
    """
    if found := find_program("git", folder):
        return found
    if inside := find_program("git"):
        cause = f"It would run {inside}, which is in this folder, so that an agent could have replaced it."
        raise Problem(f"Journeyman does not run git in {folder}.", cause, "Choose the folder of a project.")
    raise Problem("Git is not installed.", purpose, "Install git.")


def _is_inside(path: str, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _is_of_project(entry: Path) -> bool:
    if not PROJECT_FOLDERS.isdisjoint(entry.parts) or os.path.lexists(entry.parent / "pyvenv.cfg"):
        return True
    real = Path(os.path.realpath(entry))
    return not _is_of_system(real) and _is_in_repository(real)


def _is_of_system(folder: Path) -> bool:
    return any(map(folder.is_relative_to, SYSTEM_PLACES))


def _is_in_repository(folder: Path) -> bool:
    """Return whether a folder is in a git repository of a project.

    The home folder itself as a repository does not count, nor do installations such as `~/.nvm`.
    """
    home = Path.home()
    for parent in (folder, *folder.parents):
        if home.is_relative_to(parent):
            return False
        is_installation = folder.is_relative_to(home) and folder.relative_to(home).parts[0].startswith(".")
        if os.path.lexists(parent / ".git") and not is_installation:
            return True
    return False
