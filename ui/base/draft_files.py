"""Stores the files that are attached to unsent messages on disk until the message is sent or the file is removed."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from core.domain.message_files import AttachedFile

INDEX_FILE: Final = "files.json"


class DraftFiles:
    """The attachments on disk. Each session with attachments has its own private subfolder of `drafts`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drafts"

    def save(self, session: str, files: Sequence[AttachedFile]) -> None:
        """Replace the stored attachments of a session. Raise OSError if they cannot be written."""
        folder = self._folder_of(session)
        if not files:
            self._delete_files(folder, set())
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stored_before = self._read_index(folder)
        index = [self._store(folder, file, stored_before) for file in files]
        _write(folder / f"{INDEX_FILE}.part", json.dumps(index).encode())
        (folder / f"{INDEX_FILE}.part").replace(folder / INDEX_FILE)
        self._delete_files(folder, {entry.stored_name for entry in index} | {INDEX_FILE})

    def _store(self, folder: Path, file: AttachedFile, stored_before: "Sequence[_IndexEntry]") -> "_IndexEntry":
        """Write a file to the folder, unless it is stored there already."""
        size = str(len(file.body))
        for entry in stored_before:
            looks_equal = (entry.file_name, entry.media_type, entry.size) == (file.name, file.media_type, size)
            if looks_equal and _has_contents(folder / entry.stored_name, file.body):
                return entry
        stored_name = _unused_name(folder)
        _write(folder / stored_name, file.body)
        return _IndexEntry(stored_name, file.name, file.media_type, size)

    def load(self, session: str) -> tuple[AttachedFile, ...]:
        """Return the stored attachments of a session. Files that are unreadable or truncated are left out."""
        folder = self._folder_of(session)
        attachments = []
        for entry in self._read_index(folder):
            try:
                body = (folder / Path(entry.stored_name).name).read_bytes()
            except OSError:
                continue
            if len(body) == int(entry.size):
                attachments.append(AttachedFile(entry.file_name, entry.media_type, body))
        return tuple(attachments)

    def _read_index(self, folder: Path) -> "list[_IndexEntry]":
        """Return the entries of the index; an empty list if it is missing or damaged."""
        try:
            rows = json.loads((folder / INDEX_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return []
        if not isinstance(rows, list) or not all(map(_is_index_entry, rows)):
            return []
        return [_IndexEntry(*row) for row in rows]

    def _delete_files(self, folder: Path, except_for: set[str]) -> None:
        if not folder.is_dir():
            return
        for item in folder.iterdir():
            if item.name not in except_for:
                item.unlink(missing_ok=True)
        if not except_for:
            folder.rmdir()

    def _folder_of(self, session: str) -> Path:
        return self._folder / "".join(letter for letter in session if letter.isalnum() or letter in "-_")


class _IndexEntry(NamedTuple):
    """An attachment in the index file: the name under which it is stored, and its own name, media type and size."""

    stored_name: str
    file_name: str
    media_type: str
    size: str


def _is_index_entry(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == len(_IndexEntry._fields)
        and all(isinstance(value, str) for value in row)
        and _IndexEntry(*row).size.isdigit()
    )


def _has_contents(path: Path, body: bytes) -> bool:
    """Return whether a file exists and has these contents."""
    try:
        return path.read_bytes() == body
    except OSError:
        return False


def _unused_name(folder: Path) -> str:
    number = 1
    while (folder / str(number)).exists():
        number += 1
    return str(number)


def _write(path: Path, body: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(body)
