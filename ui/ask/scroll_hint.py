"""The button below a request that does not fit: it says how much is left to read, and scrolls by one page."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetrics

from ui.style.theme import Look
from ui.widgets.button import Button


class ScrollHint(Button):
    """A button that is not much higher than its text, because it is shown only if space is short."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, "", name="consent.rest", tone="waiting", icon="arrow-down")
        self.allow_shrinking()

    def show_lines_left(self, count: int) -> None:
        count_text = self.tr("1 more line.") if count == 1 else self.tr("{} more lines.").format(f"{count:,}")
        self.setText(f"{count_text} {self.tr('Scroll to the end to allow.')}")
        self.setAccessibleName(self.text())

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), QFontMetrics(self._look.fonts.strong).height() + 4)
