"""The note in the middle of a panel that has nothing to show."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.labels import label


def empty_note(look: Look, text: str, *, name: str) -> QLabel:
    """Return a note that can have the focus, so that screen readers read it when its panel is opened."""
    note = label(text, look.fonts.text, "second", name=name, wrap=True)
    note.setAlignment(Qt.AlignmentFlag.AlignCenter)
    note.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return note


def update_note(note: QLabel, text: str) -> None:
    """Show another text, and announce it if the note has the focus."""
    if text != note.text():
        note.setText(text)
        if note.hasFocus():
            announce(note, text)
