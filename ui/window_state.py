"""How the window was left: its place, its parts, the words not yet sent. A small file of its own, no facts."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings


class WindowState:
    def __init__(self, folder: Path) -> None:
        self._file = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)

    def text(self, name: str, default: str = "") -> str:
        value = self._file.value(name, default)
        return value if isinstance(value, str) else default

    def number(self, name: str, default: float) -> float:
        try:
            return float(self.text(name)) or default
        except ValueError:
            return default

    def keep_text(self, name: str, value: str) -> None:
        if value:
            self._file.setValue(name, value)
        else:
            self._file.remove(name)

    def blob(self, name: str) -> QByteArray:
        value = self._file.value(name)
        return value if isinstance(value, QByteArray) else QByteArray()

    def keep_blob(self, name: str, value: QByteArray) -> None:
        self._file.setValue(name, value)

    def flush(self) -> None:
        """To the disk now: an accident may follow."""
        self._file.sync()

    def draft(self, session: str) -> str:
        """Words for a session that were not sent."""
        return self.text(f"drafts/{session}")

    def keep_draft(self, session: str, text: str) -> None:
        """On the disk at once: whatever ends the program, the words are there again."""
        self.keep_text(f"drafts/{session}", text)
        self.flush()
