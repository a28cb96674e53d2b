"""A person's hands and eyes: find a part by its name, click it, type."""

from typing import TypeVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

Part = TypeVar("Part", bound=QWidget)


def find(inside: QWidget, kind: type[Part], name: str) -> Part:
    """The part of this name; object names are stable, so scripts and tests may rely on them."""
    found = inside.findChild(kind, name)
    assert found is not None, f"there is no {name}"
    return found


def press(where: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(where, key, modifier)


def write(where: QWidget, words: str) -> None:
    QTest.keyClicks(where, words)


def click(where: QWidget, at: QPoint | None = None) -> None:
    QTest.mouseClick(where, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at or where.rect().center())
