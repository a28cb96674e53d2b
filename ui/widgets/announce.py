"""Announces messages through screen readers."""

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(source: QWidget, text: str) -> None:
    """Announce `text` once, at polite priority, which does not interrupt what the screen reader is saying."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(source, text))
