"""Stores the files attached to unsent drafts on disk until they are sent or removed."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

INDEX_FILE: Final = "files.json"


class AttachedFile(NamedTuple):
    """An attached file; it is read when it is attached, so that later changes on disk are not sent unseen."""

    name: str
    media_type: str
    body: bytes


class DraftFiles:
    """One private subfolder of `drafts` for each session that has attachments."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drafts"

    def save(self, session: str, files: Sequence[AttachedFile]) -> None:
        """Replace the stored attachments of a session; raises OSError if they cannot be written."""
        place = self._place(session)
        if not files:
            self._drop(place, set())
            return
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        listed: list[list[str]] = []
        known = {tuple(row[1:]): row[0] for row in self._listed(place)}
        for file in files:
            size = str(len(file.body))
            kept = known.get((file.name, file.media_type, size))
            if kept is None or (place / kept).read_bytes() != file.body:
                kept = _free(place)
                _write(place / kept, file.body)
            listed.append([kept, file.name, file.media_type, size])
        _write(place / f"{INDEX_FILE}.part", json.dumps(listed).encode())
        (place / f"{INDEX_FILE}.part").replace(place / INDEX_FILE)
        self._drop(place, {row[0] for row in listed} | {INDEX_FILE})

    def load(self, session: str) -> tuple[AttachedFile, ...]:
        """Return the stored attachments of a session; unreadable or truncated ones are skipped."""
        place = self._place(session)
        found = []
        for name, shown, media_type, size in self._listed(place):
            try:
                body = (place / Path(name).name).read_bytes()
            except OSError:
                continue
            if len(body) == int(size):
                found.append(AttachedFile(shown, media_type, body))
        return tuple(found)

    def _listed(self, place: Path) -> list[list[str]]:
        try:
            rows = json.loads((place / INDEX_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return []
        good = isinstance(rows, list) and all(
            isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row) and row[3].isdigit()
            for row in rows
        )
        return rows if good else []

    def _drop(self, place: Path, but: set[str]) -> None:
        if not place.is_dir():
            return
        for item in place.iterdir():
            if item.name not in but:
                item.unlink(missing_ok=True)
        if not but:
            place.rmdir()

    def _place(self, session: str) -> Path:
        return self._folder / "".join(letter for letter in session if letter.isalnum() or letter in "-_")


def _free(place: Path) -> str:
    number = 1
    while (place / str(number)).exists():
        number += 1
    return str(number)


def _write(path: Path, body: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(body)
