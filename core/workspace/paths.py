"""Paths an agent names, kept inside its folder."""

from pathlib import Path

from core.domain.problems import Problem


def inside(folder: Path, name: str) -> Path:
    """The real path `name` means in `folder`; refused when it leads outside, also through a link."""
    if not name or "\0" in name:
        raise Problem("That is no path.", f"{name!r} was given.", "Name a file inside the folder.")
    root = folder.resolve()
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError) as error:  # links that go round in circles
        raise Problem(f"{name} leads nowhere.", f"{error}.", "Name a file inside the folder.") from error
    if not path.is_relative_to(root):
        raise Problem(f"{name} is outside the folder.", "", "Name a file inside the folder.")
    return path


def workspace(folder: Path) -> Path:
    """A folder an agent may work in."""
    path = folder.expanduser().absolute()
    if not path.is_dir():
        raise Problem(f"There is no folder {path}.", "", "Name a folder that exists with -C.")
    return path
