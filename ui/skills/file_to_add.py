"""Reads a file from disk that the user adds to a skill."""

from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.problems import Problem

MAX_MEGABYTES: Final = 10


class FileToAdd(NamedTuple):
    """The path that a file gets in the skill, and its contents: str for valid UTF-8, bytes for anything else."""

    path: str
    contents: str | bytes


def read_file_to_add(source: Path) -> FileToAdd:
    """Read a file. Raise Problem if it is too large or cannot be read."""
    try:
        if source.stat().st_size > MAX_MEGABYTES << 20:
            cause = _tr("The limit for a file of a skill is {} MB.").format(MAX_MEGABYTES)
            raise Problem(_tr("{} is too large.").format(source.name), cause)
        contents = _decoded(source.read_bytes())
    except OSError as error:
        raise Problem(_tr("{} could not be read.").format(source.name), f"{error.strerror or error}.") from error
    return FileToAdd(f"{_folder_for(contents)}/{source.name}", contents)


def _decoded(body: bytes) -> str | bytes:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _folder_for(contents: str | bytes) -> str:
    """Return the folder of a skill for a file with these contents, following the Agent Skills format."""
    if isinstance(contents, bytes):
        return "assets"
    return "scripts" if contents.startswith("#!") else "references"


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
