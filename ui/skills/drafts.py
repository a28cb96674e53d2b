"""Stores drafts on disk: changes to skills that the user has neither saved nor discarded yet."""

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class SkillDraft(NamedTuple):
    """The unsaved contents of a skill by path (None for a removed file), and the version on which they are based."""

    key: str
    base: int
    contents: Mapping[str, str | bytes | None]


class SkillDrafts:
    """Stores one JSON file per skill with unsaved changes, readable only by the user.

    Binary contents are in files next to it, named after their hash, so that they are written only once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "drafts" / "skills"

    def save(self, draft: SkillDraft) -> None:
        """Write a draft atomically. Raise OSError if that fails."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft_file = self._draft_file(draft.key)
        binary = {path: body for path, body in draft.contents.items() if isinstance(body, bytes)}
        names = {path: _hash(body) for path, body in binary.items()}
        for path, body in binary.items():
            if not (file := _binary_file(draft_file, names[path])).exists():
                _write(file, body)
        texts = {path: body for path, body in draft.contents.items() if not isinstance(body, bytes)}
        plain = {"key": draft.key, "base": draft.base, "texts": texts, "binary": names}
        _write(draft_file, json.dumps(plain).encode())
        _delete_binaries(draft_file, except_for=set(names.values()))

    def delete(self, key: str) -> None:
        draft_file = self._draft_file(key)
        draft_file.unlink(missing_ok=True)
        _delete_binaries(draft_file)

    def load(self, key: str) -> SkillDraft | None:
        """Return the draft of a skill; None if it does not exist or cannot be read."""
        return _read(self._draft_file(key))

    def keys(self) -> frozenset[str]:
        """Return the keys of the skills that have a draft."""
        drafts = (_read(file) for file in self._folder.glob("*.json")) if self._folder.is_dir() else ()
        return frozenset(draft.key for draft in drafts if draft)

    def _draft_file(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _read(file: Path) -> SkillDraft | None:
    try:
        draft = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(draft, dict) or not isinstance(draft.get("texts"), dict):
        return None
    contents: dict[str, str | bytes | None] = {
        str(path): text for path, text in draft["texts"].items() if text is None or isinstance(text, str)
    }
    names = draft.get("binary")
    for path, name in names.items() if isinstance(names, dict) else ():
        with suppress(OSError):
            body = _binary_file(file, str(name)).read_bytes()
            if _hash(body) == name:
                contents[str(path)] = body
    return SkillDraft(str(draft.get("key", "")), int(draft.get("base") or 0), contents)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _binary_file(draft_file: Path, name: str) -> Path:
    return draft_file.with_name(f"{draft_file.stem}-{name[:64].replace('/', '')}.bin")


def _delete_binaries(draft_file: Path, except_for: Collection[str] = ()) -> None:
    needed = {_binary_file(draft_file, name) for name in except_for}
    for file in draft_file.parent.glob(f"{draft_file.stem}-*.bin"):
        if file not in needed:
            file.unlink(missing_ok=True)


def _write(file: Path, body: bytes) -> None:
    """Write a file atomically, readable only by the user."""
    part = file.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
        opened.write(body)
    part.replace(file)
