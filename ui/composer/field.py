"""The field for a message: Ctrl+Enter sends now, and files and pictures may be pasted or dropped."""

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QKeyEvent

from ui.widgets.words import ENTER_KEYS, WordsField


class MessageField(WordsField):
    entered_now = Signal()
    given = Signal(QMimeData)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.entered_now.emit()
            event.accept()
            return
        super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return _is_file(source) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """What is no text is not for the text."""
        if _is_file(source):
            self.given.emit(source)
        else:
            super().insertFromMimeData(source)


def _is_file(source: QMimeData) -> bool:
    local = any(url.isLocalFile() for url in source.urls())
    return local or (source.hasImage() and not source.hasText())
