"""Notices widgets that appear as windows of their own, although they are parts of another window."""

from types import TracebackType

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget


class WindowWatch(QObject):
    """While it is entered, notes each widget without a parent that is shown and gets a parent afterwards.

    Such a widget flashes up as a window, and a window manager gives it the keyboard.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__()
        self._app = app
        self._shown: list[QWidget] = []
        self.found: list[str] = []

    def __enter__(self) -> "WindowWatch":
        self._app.installEventFilter(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._app.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWidget):
            if event.type() == QEvent.Type.Show and watched.isWindow():
                self._shown.append(watched)
            elif event.type() == QEvent.Type.ParentChange and any(watched is shown for shown in self._shown):
                self.found.append(f"{type(watched).__name__} {watched.objectName()}".strip())
        return False
