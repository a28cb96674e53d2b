"""A choice among words has room for the longest of them."""

from PySide6.QtGui import QFontMetrics

from ui.theme import Look
from ui.widgets.choice import ARROW, PAD, Choice


def test_as_wide_as_it_wants_to_be_no_word_is_cut(look: Look) -> None:
    made = Choice()
    made.setFont(look.fonts.text)
    made.addItems(["last", "What is written now"])
    words = QFontMetrics(made.font()).horizontalAdvance("What is written now")
    assert made.sizeHint().width() >= words + 3 * PAD + ARROW
