"""A context menu that deletes itself when it closes."""

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget


class EntryMenu(QMenu):
    """A menu.

    It shows texts literally, because file names may contain `&`, which Qt takes as the mark of a shortcut.
    """

    def __init__(self, name: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(text)
        self.aboutToHide.connect(self.deleteLater)

    def add_entry(self, text: str) -> QAction:
        action = QAction(text.replace("&", "&&"), self)
        self.addAction(action)
        return action
