"""Reads the JSON documents of a data export: a ZIP, or the folder that it was unpacked to."""

import json
import zipfile
import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.exchange.importers.record import MAX_DOCUMENT_BYTES, ZIP_MAGIC, read_document

DAMAGE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)


def is_zip(head: bytes) -> bool:
    return head.startswith(ZIP_MAGIC)


def member_names(path: Path) -> list[str]:
    """Return the names of the files in a ZIP; empty if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, *DAMAGE_ERRORS):
        return []


def read_member_head(path: Path, name: str, size: int) -> bytes:
    """Return the first bytes of a file in a ZIP; empty if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            return file.read(size)
    except (OSError, *DAMAGE_ERRORS):
        return b""


def read_documents(path: Path, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each JSON document whose name matches the pattern, in the order of the names.

    `path` is a ZIP, or a file in the folder of an unpacked export. Raise Problem if a document is damaged.
    """
    with path.open("rb") as file:
        zipped = is_zip(file.read(len(ZIP_MAGIC)))
    if not zipped:
        folder = path.parent
        for file_path in sorted(file for file in folder.glob(pattern) if file.is_file()):
            yield file_path.relative_to(folder).as_posix(), read_document(file_path)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.infolist(), key=lambda member: member.filename):
                if fnmatchcase(member.filename, pattern) and member.filename.count("/") == pattern.count("/"):
                    if member.file_size > MAX_DOCUMENT_BYTES:
                        cause = f"{member.filename} has more than {MAX_DOCUMENT_BYTES >> 20} MB."
                        raise Problem(f"{path.name} is too large.", cause, "")
                    yield member.filename, json.loads(archive.read(member))
    except DAMAGE_ERRORS as error:
        raise Problem(
            f"{path.name} cannot be read to its end.", f"It is damaged: {error}.", "Download it again."
        ) from error
