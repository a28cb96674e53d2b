"""Folders in which an agent must not work: they contain keys, or files that other programs run, under any names."""

from pathlib import Path

from core.domain.sensitive_paths import SECRET_FOLDERS, is_protected, is_secret, normalized_parts
from core.domain.trusted_files import PROTECTED

# Folders in the home folder with files that are run, or that name programs to run, at sign-in or by other programs.
HOME_PLACES = tuple(
    tuple(path.split("/"))
    for path in (
        ".local/bin",
        ".local/share/applications",
        ".local/share/systemd",
        ".local/share/dbus-1",
        ".local/share/fish",
        ".local/share/gnome-shell",
        ".local/share/nautilus",
        ".local/share/kservices5",
        ".local/share/kio",
        ".config/autostart",
        ".config/systemd",
        ".config/environment.d",
        ".config/plasma-workspace",
        ".config/git",
        ".config/fish",
        ".cargo/bin",
        "bin",
        "library/launchagents",
        "library/application scripts",
    )
)
SECRETS = "It contains keys and passwords"
SETTINGS = "Other programs run what is in it, without asking"


def place_reason(folder: Path, home: Path) -> str:
    """Return why an agent must not work in a folder, given its real path; "" if it may."""
    path = _beyond_worktree(folder)
    if is_secret(f"{path}/x"):
        return SECRETS
    if is_protected(path):
        return SETTINGS
    if not folder.is_relative_to(home):
        return ""
    parts = tuple(normalized_parts(folder.relative_to(home).as_posix()))
    if any(parts[: len(place)] == place for place in HOME_PLACES):
        return SETTINGS
    inner = [place for place in (*HOME_PLACES, *PROTECTED, *SECRET_FOLDERS) if place[: len(parts)] == parts]
    return "It contains settings and programs that your other programs run" if inner and parts[0][0] == "." else ""


def _beyond_worktree(folder: Path) -> str:
    """Return the path inside a git worktree, because agents keep worktrees in folders such as `.claude/worktrees`.

    For any other folder, return the whole path.
    """
    parts = folder.parts
    index = max((index for index, part in enumerate(parts[:-1]) if part == "worktrees"), default=-1)
    top = Path(*parts[: index + 2])
    return "/".join(parts[index + 1 :]) if index > 0 and (top / ".git").is_file() else folder.as_posix()
