"""How the window was left: its place, its parts, the words not yet sent. A small file of its own, no facts."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

DRAFTS = "drafts/"
KEPT = (DRAFTS, "restored", "not_restored")  # words of a person, and to the next start


class WindowState:
    """A `fresh` one knows nothing but drafts of what was left, and leaves the rest of the file alone."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self._file = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        self._now: dict[str, object] | None = {} if fresh else None

    def text(self, name: str, default: str = "") -> str:
        value = self._value(name, default)
        return value if isinstance(value, str) else default

    def number(self, name: str, default: float) -> float:
        try:
            return float(self.text(name)) or default
        except ValueError:
            return default

    def keep_text(self, name: str, value: str) -> None:
        if self._now is not None and not name.startswith(KEPT):
            self._now[name] = value
        elif value:
            self._file.setValue(name, value)
        else:
            self._file.remove(name)

    def blob(self, name: str) -> QByteArray:
        value = self._value(name, None)
        return value if isinstance(value, QByteArray) else QByteArray()

    def keep_blob(self, name: str, value: QByteArray) -> None:
        if self._now is None:
            self._file.setValue(name, value)
        else:
            self._now[name] = value

    def flush(self) -> None:
        """To the disk now: an accident may follow."""
        self._file.sync()

    def draft(self, session: str) -> str:
        """Words for a session that were not sent."""
        return self.text(f"{DRAFTS}{session}")

    def keep_draft(self, session: str, text: str) -> None:
        """On the disk at once: whatever ends the program, the words are there again."""
        self.keep_text(f"{DRAFTS}{session}", text)
        self.flush()

    def _value(self, name: str, default: object) -> object:
        if self._now is not None and not name.startswith(KEPT):
            return self._now.get(name) or default
        return self._file.value(name, default)
