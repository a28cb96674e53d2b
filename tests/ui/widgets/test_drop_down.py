"""A drop-down list is wide enough for its longest item."""

from PySide6.QtGui import QFontMetrics

from ui.style.theme import Look
from ui.widgets.drop_down import ARROW_SIZE, PADDING, DropDown


def test_size_hint_fits_the_longest_item(look: Look) -> None:
    made = DropDown()
    made.setFont(look.fonts.text)
    made.addItems(["last", "The current text"])
    words = QFontMetrics(made.font()).horizontalAdvance("The current text")
    assert made.sizeHint().width() >= words + 3 * PADDING + ARROW_SIZE
