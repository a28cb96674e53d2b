"""How the window was left: its place, its parts, the words not yet sent. A small file of its own, no facts."""

import contextlib
import json
import os
from pathlib import Path
from threading import Thread

from PySide6.QtCore import QByteArray, QSettings, QTimer

DRAFTS = "drafts/"
KEPT = (DRAFTS, "restored", "not_restored")  # words of a person, and to the next start


class WindowState:
    """Read whole, and written by a thread: the disk may be slow, and the window does not wait for it.

    A `fresh` one knows nothing but drafts of what was left, and leaves the rest of the file alone.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self._file = folder / "window.json"
        self._stored = _read(self._file)
        self._fresh = fresh
        self._now = {name: value for name, value in self._stored.items() if self._lasts(name)}
        self._writer: Thread | None = None
        self._soon = QTimer(singleShot=True, interval=0)
        self._soon.timeout.connect(self._save)

    def text(self, name: str, default: str = "") -> str:
        return self._now.get(name, default)

    def number(self, name: str, default: float) -> float:
        try:
            return float(self.text(name)) or default
        except ValueError:
            return default

    def keep_text(self, name: str, value: str) -> None:
        if self._now.get(name, "") == value:
            return
        _put(self._now, name, value)
        if self._lasts(name):
            _put(self._stored, name, value)
            self._soon.start()  # what changes in one turn of the window is written together

    def blob(self, name: str) -> QByteArray:
        return QByteArray.fromBase64(QByteArray(self.text(name).encode()))

    def keep_blob(self, name: str, value: QByteArray) -> None:
        self.keep_text(name, _as_text(value))

    def draft(self, session: str) -> str:
        """Words for a session that were not sent."""
        return self.text(f"{DRAFTS}{session}")

    def keep_draft(self, session: str, text: str) -> None:
        """On its way to the disk at once: whatever ends the program, the words are there again."""
        self.keep_text(f"{DRAFTS}{session}", text)

    def flush(self) -> None:
        """All is on the disk when this returns: an accident, or the end, may follow."""
        if self._soon.isActive():
            self._soon.stop()
            self._save()
        if self._writer:
            self._writer.join()

    def _lasts(self, name: str) -> bool:
        return not self._fresh or name.startswith(KEPT)

    def _save(self) -> None:
        self._writer = Thread(target=_write, args=(self._file, dict(self._stored), self._writer), name="window state")
        self._writer.start()


def _put(values: dict[str, str], name: str, value: str) -> None:
    if value:
        values[name] = value
    else:
        values.pop(name, None)


def _as_text(value: QByteArray) -> str:
    return value.toBase64().toStdString()


def _read(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return _read_older(file.with_suffix(".ini"))
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _read_older(file: Path) -> dict[str, str]:
    """As the first versions left it."""
    if not file.exists():
        return {}
    settings = QSettings(str(file), QSettings.Format.IniFormat)
    values = {name: settings.value(name) for name in settings.allKeys()}
    return {
        name: _as_text(value) if isinstance(value, QByteArray) else value
        for name, value in values.items()
        if isinstance(value, str | QByteArray)
    }


def _write(file: Path, values: dict[str, str], before: Thread | None) -> None:
    """After what was to be written `before`. Where nothing can be written, this is no place to say so."""
    if before:
        before.join()
    part = file.with_suffix(".part")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(values, out)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
