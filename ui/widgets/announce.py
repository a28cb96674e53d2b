"""Tells a screen reader something that nobody has gone to."""

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(source: QWidget, words: str) -> None:
    """Said once, politely: it does not cut what is being read."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(source, words))
