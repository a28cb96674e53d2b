"""Text of skills that is not saved: kept on the disk while it is written, until it is saved or thrown away."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class SkillDraft(NamedTuple):
    """A skill as it is being written: the version it began from, and its texts by path; None is a file taken away."""

    key: str
    base: int
    texts: Mapping[str, str | None]


class SkillDrafts:
    """A file for each skill that has some; private, as everything in the data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drafts" / "skills"

    def keep(self, draft: SkillDraft) -> None:
        """Raises OSError where it cannot be written; a file is there whole or not at all."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._place(draft.key)
        part = place.with_suffix(".part")
        body = json.dumps({"key": draft.key, "base": draft.base, "texts": dict(draft.texts)}).encode()
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(body)
        part.replace(place)

    def drop(self, key: str) -> None:
        self._place(key).unlink(missing_ok=True)

    def draft(self, key: str) -> SkillDraft | None:
        """What was kept of a skill, if it can be read."""
        return _read(self._place(key))

    def keys(self) -> frozenset[str]:
        """The skills that are not saved."""
        found = (_read(file) for file in self._folder.glob("*.json")) if self._folder.is_dir() else ()
        return frozenset(draft.key for draft in found if draft)

    def _place(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _read(file: Path) -> SkillDraft | None:
    try:
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(held, dict) or not isinstance(held.get("texts"), dict):
        return None
    texts = {str(path): text for path, text in held["texts"].items() if text is None or isinstance(text, str)}
    return SkillDraft(str(held.get("key", "")), int(held.get("base") or 0), texts)
