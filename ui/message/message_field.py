"""The message field. Ctrl+Enter sends the message at once; files and pictures can be pasted or dropped.

Up in an empty field goes to the queued messages above it.
"""

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QKeyEvent

from ui.widgets.labels import ENTER_KEYS, TextField


class MessageField(TextField):
    send_now_pressed = Signal()
    up_pressed = Signal()  # in the empty field
    mime_data_received = Signal(QMimeData)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.send_now_pressed.emit()
            event.accept()
            return
        if event.key() == Qt.Key.Key_Up and not event.modifiers() and self.document().isEmpty():
            self.up_pressed.emit()
        super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return _is_file(source) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Emit `mime_data_received` for files and pictures, and insert anything else as text."""
        if _is_file(source):
            self.mime_data_received.emit(source)
        else:
            super().insertFromMimeData(source)


def _is_file(source: QMimeData) -> bool:
    local = any(url.isLocalFile() for url in source.urls())
    return local or (source.hasImage() and not source.hasText())
