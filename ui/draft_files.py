"""Files attached to words that were not sent: kept on the disk beside the words, until they are sent or taken off."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

LIST: Final = "files.json"


class File(NamedTuple):
    """A file as it is sent: read when it was attached, so that what is sent is what was seen."""

    name: str
    media_type: str
    body: bytes


class DraftFiles:
    """A folder for each session that has some; private, as everything in the data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drafts"

    def keep(self, session: str, files: Sequence[File]) -> None:
        """These, and no others. Raises OSError where they cannot be written; what was read stays attached."""
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
        _write(place / f"{LIST}.part", json.dumps(listed).encode())
        (place / f"{LIST}.part").replace(place / LIST)
        self._drop(place, {row[0] for row in listed} | {LIST})

    def files(self, session: str) -> tuple[File, ...]:
        """What was kept, as far as it can be read."""
        place = self._place(session)
        found = []
        for name, shown, media_type, size in self._listed(place):
            try:
                body = (place / Path(name).name).read_bytes()
            except OSError:
                continue
            if len(body) == int(size):
                found.append(File(shown, media_type, body))
        return tuple(found)

    def _listed(self, place: Path) -> list[list[str]]:
        try:
            rows = json.loads((place / LIST).read_text("utf-8"))
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
