"""A cache of wrapped text layouts, with which message bubbles are painted."""

from typing import Final, NamedTuple

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QTextLayout, QTextOption

from ui.text.visible import cut_lines, visible

MAX_CACHED: Final = 200
CHARACTERS: Final = 4_000
LINES: Final = 14


class WrappedText(NamedTuple):
    layout: QTextLayout
    width: float
    height: float


class WrappedTextCache:
    """A cache of text layouts by text and width, of limited size.

    Long text is cut, because the step pane shows it in full.
    """

    def __init__(self, font: QFont) -> None:
        self._font = font
        self._cache: dict[tuple[str, int], WrappedText] = {}

    def wrap(self, text: str, width: int) -> WrappedText:
        key = (text, width)
        wrapped = self._cache.pop(key, None) or self._lay_out(text, width)
        self._cache[key] = wrapped
        if len(self._cache) > MAX_CACHED:
            del self._cache[next(iter(self._cache))]
        return wrapped

    def _lay_out(self, text: str, width: int) -> WrappedText:
        display_text = visible(cut_lines(text[:CHARACTERS])).strip()
        lines = display_text.split("\n")
        truncated = len(text) > CHARACTERS or len(lines) > LINES
        display_text = "\u2028".join(lines[:LINES]) + ("…" if truncated else "")
        layout = QTextLayout(display_text, self._font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setCacheEnabled(True)
        layout.beginLayout()
        y = widest = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, y))
            y += line.height() + 1
            widest = max(widest, line.naturalTextWidth())
        layout.endLayout()
        return WrappedText(layout, widest, y)
