"""The files that edits and differences change: looked at and put back in one place."""

from pathlib import Path

from core.tools.read import LIMIT, load
from core.tools.write import replace_file
from core.workspace.paths import inside

__all__ = ["LIMIT", "exists", "look", "put", "same_file"]


def exists(workspace: Path, name: str) -> bool:
    return inside(workspace, name).exists()


def look(workspace: Path, name: str) -> bytes:
    """The contents of an ordinary file of a sane size."""
    return load(inside(workspace, name), name)


def put(workspace: Path, name: str, body: bytes | None) -> None:
    """Give a file these contents, whole; None removes it. Folders on the way are made."""
    path = inside(workspace, name)
    if body is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, body)


def same_file(workspace: Path, names: list[str]) -> bool:
    """Do two of the names mean one file?"""
    return len({inside(workspace, name) for name in names}) < len(names)
