"""The context menu of a line of a diff."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget


class LineAction(NamedTuple):
    """An entry of the menu. Its keys are only displayed, because the view handles them."""

    name: str
    text: str
    keys: str
    enabled: bool
    act: Callable[[], object]


def line_menu(entries: Sequence[LineAction], parent: QWidget) -> QMenu:
    """Return a menu that deletes itself when it closes."""
    menu = QMenu(parent)
    menu.setObjectName("changes.line.menu")
    menu.setAccessibleName(QCoreApplication.translate("changes", "Actions for the line"))
    menu.aboutToHide.connect(menu.deleteLater)
    for entry in entries:
        action = QAction(entry.text, menu)
        action.setObjectName(f"changes.line.menu.{entry.name}")
        action.setShortcut(QKeySequence(entry.keys))
        action.setShortcutVisibleInContextMenu(True)
        action.setEnabled(entry.enabled)
        action.triggered.connect(lambda _=False, act=entry.act: act())
        menu.addAction(action)
    return menu
