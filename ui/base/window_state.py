"""Stores the state of the window (geometry, layout, open sessions, drafts) in `window.json`, not in the event log."""

import contextlib
import json
import os
from pathlib import Path
from threading import Thread

from PySide6.QtCore import QByteArray, QSettings, QTimer

DRAFTS = "drafts/"
REVIEWS = "reviews/"
# Values that are kept in safe mode: drafts, reviews, and messages to be shown at the next start.
DURABLE = (DRAFTS, REVIEWS, "restored", "not_restored")


class WindowState:
    """A key-value store of strings. A thread writes the file, so that a slow disk does not block the window.

    With `fresh`, as in safe mode, only drafts, reviews and startup messages are read and written. All other values
    start empty, and the stored ones remain unchanged.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self._file = folder / "window.json"
        self._stored = _read(self._file)
        self._fresh = fresh
        self._values = {name: value for name, value in self._stored.items() if self._is_kept(name)}
        self._writer: Thread | None = None
        self._save_timer = QTimer(singleShot=True, interval=0)
        self._save_timer.timeout.connect(self._save)

    def text(self, name: str, default: str = "") -> str:
        return self._values.get(name, default)

    def number(self, name: str, default: float) -> float:
        try:
            return float(self.text(name)) or default
        except ValueError:
            return default

    def set_text(self, name: str, value: str) -> None:
        if self._values.get(name, "") == value:
            return
        _put(self._values, name, value)
        if self._is_kept(name):
            _put(self._stored, name, value)
            self._save_timer.start()  # combines all changes of one iteration of the event loop into one write

    def blob(self, name: str) -> QByteArray:
        return QByteArray.fromBase64(QByteArray(self.text(name).encode()))

    def set_blob(self, name: str, value: QByteArray) -> None:
        self.set_text(name, _as_text(value))

    def draft(self, session: str) -> str:
        """Return the unsent text of a session."""
        return self.text(f"{DRAFTS}{session}")

    def set_draft(self, session: str, text: str) -> None:
        """Store the unsent text of a session. It is written without delay, so that it survives a crash."""
        self.set_text(f"{DRAFTS}{session}", text)

    def review(self, session: str) -> str:
        """Return the stored review of the changes of a session."""
        return self.text(f"{REVIEWS}{session}")

    def set_review(self, session: str, text: str) -> None:
        """Store the review of the changes of a session. It is written without delay, so that it survives a crash."""
        self.set_text(f"{REVIEWS}{session}", text)

    def flush(self) -> None:
        """Write pending changes, and wait until they are on disk."""
        if self._save_timer.isActive():
            self._save_timer.stop()
            self._save()
        if self._writer:
            self._writer.join()

    def _is_kept(self, name: str) -> bool:
        return not self._fresh or name.startswith(DURABLE)

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
        values = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return _read_older(file.with_suffix(".ini"))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {name: value for name, value in values.items() if isinstance(value, str)}


def _read_older(file: Path) -> dict[str, str]:
    """Read the window state from the INI file of the first versions."""
    if not file.exists():
        return {}
    settings = QSettings(str(file), QSettings.Format.IniFormat)
    values: dict[str, str] = {}
    for name in settings.allKeys():
        value = settings.value(name)
        if isinstance(value, QByteArray):
            values[name] = _as_text(value)
        elif isinstance(value, str):
            values[name] = value
    return values


def _write(file: Path, values: dict[str, str], earlier_writer: Thread | None) -> None:
    """Write the file after an earlier writer has ended. Write errors are ignored."""
    if earlier_writer:
        earlier_writer.join()
    part = file.with_suffix(".part")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(values, out)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
