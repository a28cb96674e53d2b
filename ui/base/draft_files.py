"""Stores the files that are attached to unsent messages on disk until the message is sent or the file is removed."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

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
        listed: list[list[str]] = []
        names_by_file = {tuple(row[1:]): row[0] for row in self._read_index(folder)}
        for file in files:
            size = str(len(file.body))
            stored_name = names_by_file.get((file.name, file.media_type, size))
            if stored_name is None or (folder / stored_name).read_bytes() != file.body:
                stored_name = _unused_name(folder)
                _write(folder / stored_name, file.body)
            listed.append([stored_name, file.name, file.media_type, size])
        _write(folder / f"{INDEX_FILE}.part", json.dumps(listed).encode())
        (folder / f"{INDEX_FILE}.part").replace(folder / INDEX_FILE)
        self._delete_files(folder, {row[0] for row in listed} | {INDEX_FILE})

    def load(self, session: str) -> tuple[AttachedFile, ...]:
        """Return the stored attachments of a session. Files that are unreadable or truncated are left out."""
        folder = self._folder_of(session)
        attachments = []
        for name, file_name, media_type, size in self._read_index(folder):
            try:
                body = (folder / Path(name).name).read_bytes()
            except OSError:
                continue
            if len(body) == int(size):
                attachments.append(AttachedFile(file_name, media_type, body))
        return tuple(attachments)

    def _read_index(self, folder: Path) -> list[list[str]]:
        try:
            rows = json.loads((folder / INDEX_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return []
        valid = isinstance(rows, list) and all(
            isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row) and row[3].isdigit()
            for row in rows
        )
        return rows if valid else []

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


def _unused_name(folder: Path) -> str:
    number = 1
    while (folder / str(number)).exists():
        number += 1
    return str(number)


def _write(path: Path, body: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(body)
