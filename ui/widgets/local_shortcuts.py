"""A base class for widgets with shortcuts that override those of the window while the widget has the focus."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame


class LocalShortcuts(QFrame):
    """A widget whose `local_shortcuts` take precedence over shortcuts of the window.

    If two shortcuts are ambiguous, Qt activates neither. Therefore, the keys are handled in ShortcutOverride and
    keyPressEvent.
    """

    local_shortcuts: Mapping[str, Callable[[], object]] = {}

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
        return self.local_shortcuts.get(QKeySequence(event.keyCombination()).toString())
