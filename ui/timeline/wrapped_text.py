"""A cache of wrapped text layouts, with which message bubbles are painted."""

from typing import Final, NamedTuple

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QTextLayout, QTextOption

from ui.text.visible import cut_lines, visible

MAX_CACHED: Final = 200
MAX_CHARACTERS: Final = 4_000
MAX_LINES: Final = 14


class _CacheKey(NamedTuple):
    text: str
    width: int


class WrappedText(NamedTuple):
    """A text that has been wrapped, with its dimensions in pixels."""

    layout: QTextLayout
    width: float
    height: float


class WrappedTextCache:
    """A cache of text layouts by text and width, of limited size.

    Long text is cut, because the step pane shows it in full.
    """

    def __init__(self, font: QFont) -> None:
        self._font = font
        self._cache: dict[_CacheKey, WrappedText] = {}

    def wrap(self, text: str, width: int) -> WrappedText:
        key = _CacheKey(text, width)
        wrapped = self._cache.pop(key, None) or self._lay_out(text, width)
        self._cache[key] = wrapped
        if len(self._cache) > MAX_CACHED:
            del self._cache[next(iter(self._cache))]
        return wrapped

    def _lay_out(self, text: str, width: int) -> WrappedText:
        layout = QTextLayout(_shortened(text), self._font)
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


def _shortened(text: str) -> str:
    """Return the first lines of a text, separated for a text layout, and followed by an ellipsis if there are more."""
    lines = visible(cut_lines(text[:MAX_CHARACTERS])).strip().split("\n")
    is_truncated = len(text) > MAX_CHARACTERS or len(lines) > MAX_LINES
    return "\u2028".join(lines[:MAX_LINES]) + ("…" if is_truncated else "")
