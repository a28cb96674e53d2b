"""Keys that mean something of their own while the keyboard is inside a part of the window."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget


class OwnKeys(QWidget):
    """These go before the window's own: two shortcuts for one key would cancel each other."""

    own_keys: Mapping[str, Callable[[], object]] = {}

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self._act(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if act := self._act(event):
            act()
            event.accept()
        else:
            super().keyPressEvent(event)

    def _act(self, event: QKeyEvent) -> Callable[[], object] | None:
        return self.own_keys.get(QKeySequence(event.keyCombination()).toString())
