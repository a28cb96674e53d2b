"""Simulated user input: find a widget by its object name, click it, type into it."""

from typing import TypeVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from ui.diff.diff_rows import DiffLine
from ui.diff.diff_view import DiffView

Part = TypeVar("Part", bound=QWidget)


def find(inside: QWidget, kind: type[Part], name: str) -> Part:
    """Return the widget with this object name; object names are stable, so tests may rely on them."""
    found = inside.findChild(kind, name)
    assert found is not None, f"there is no {name}"
    return found


def press(where: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(where, key, modifier)


def write(where: QWidget, words: str) -> None:
    QTest.keyClicks(where, words)


def click(where: QWidget, at: QPoint | None = None) -> None:
    QTest.mouseClick(where, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at or where.rect().center())


def select_line(diff: DiffView, number: int) -> None:
    """Select a line of the new text in a diff."""
    position = diff.rows.position_of(DiffLine("new", number))
    assert position >= 0
    diff.setCurrentIndex(diff.rows.index(position, 0))
