"""Reads the JSON documents of a data export: a ZIP, or the folder that it was unpacked to."""

import json
import zipfile
import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

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


class ExportedDocument(NamedTuple):
    """A JSON document of an export. `name` is its path in the export."""

    name: str
    value: Any


def read_documents(path: Path, pattern: str) -> Iterator[ExportedDocument]:
    """Yield the JSON documents whose names match the pattern, in the order of the names.

    `path` is a ZIP, or a file in the folder of an unpacked export. Raise Problem if a document is damaged.
    """
    with path.open("rb") as file:
        is_archive = is_zip(file.read(len(ZIP_MAGIC)))
    yield from _read_members(path, pattern) if is_archive else _read_files(path.parent, pattern)


def _read_files(folder: Path, pattern: str) -> Iterator[ExportedDocument]:
    for file in sorted(file for file in folder.glob(pattern) if file.is_file()):
        yield ExportedDocument(file.relative_to(folder).as_posix(), read_document(file))


def _read_members(path: Path, pattern: str) -> Iterator[ExportedDocument]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.infolist(), key=lambda member: member.filename):
                is_in_folder = member.filename.count("/") == pattern.count("/")  # `*` also matches slashes
                if not is_in_folder or not fnmatchcase(member.filename, pattern):
                    continue
                if member.file_size > MAX_DOCUMENT_BYTES:
                    cause = f"{member.filename} has more than {MAX_DOCUMENT_BYTES >> 20} MB."
                    raise Problem(f"{path.name} is too large.", cause, "")
                yield ExportedDocument(member.filename, json.loads(archive.read(member)))
    except DAMAGE_ERRORS as error:
        raise Problem(
            f"{path.name} cannot be read to its end.", f"It is damaged: {error}.", "Download it again."
        ) from error
