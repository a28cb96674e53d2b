"""A text document that never loads resources, such as images, whatever its text refers to."""

from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QColor, QImage, QTextDocument


class SafeDocument(QTextDocument):
    """A document that returns an empty image for each resource. For None, Qt would try to open a local file."""

    def loadResource(self, type: int, name: QUrl | str) -> Any:
        transparent = QImage(1, 1, QImage.Format.Format_ARGB32)
        transparent.fill(QColor(0, 0, 0, 0))
        return transparent
