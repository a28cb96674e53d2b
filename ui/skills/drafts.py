"""Stores drafts on disk: unsaved changes to skills that the user has neither saved nor discarded yet."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class SkillDraft(NamedTuple):
    """The unsaved texts of a skill by path, based on version `base`. The text of a removed file is None."""

    key: str
    base: int
    texts: Mapping[str, str | None]


class SkillDrafts:
    """Stores one JSON file per skill with unsaved changes, readable only by the user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drafts" / "skills"

    def save(self, draft: SkillDraft) -> None:
        """Write a draft atomically. Raise OSError if that fails."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._place(draft.key)
        part = place.with_suffix(".part")
        body = json.dumps({"key": draft.key, "base": draft.base, "texts": dict(draft.texts)}).encode()
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(body)
        part.replace(place)

    def delete(self, key: str) -> None:
        self._place(key).unlink(missing_ok=True)

    def load(self, key: str) -> SkillDraft | None:
        """Return the draft of a skill; None if there is none or it cannot be read."""
        return _read(self._place(key))

    def keys(self) -> frozenset[str]:
        """Return the keys of the skills that have a draft."""
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
