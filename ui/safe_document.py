"""A text document that reads no file and fetches nothing, whatever its text asks for."""

from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QColor, QImage, QTextDocument


class SafeDocument(QTextDocument):
    """A document that loads nothing: returning None would still let Qt open local files."""

    def loadResource(self, type: int, name: QUrl | str) -> Any:
        nothing = QImage(1, 1, QImage.Format.Format_ARGB32)
        nothing.fill(QColor(0, 0, 0, 0))
        return nothing
