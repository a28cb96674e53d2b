"""A text document that loads no resources, whatever its text references."""

from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QColor, QImage, QTextDocument


class SafeDocument(QTextDocument):
    """A document that returns an empty image for every resource. If it returned None, Qt would open local files."""

    def loadResource(self, type: int, name: QUrl | str) -> Any:
        transparent = QImage(1, 1, QImage.Format.Format_ARGB32)
        transparent.fill(QColor(0, 0, 0, 0))
        return transparent
