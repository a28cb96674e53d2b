"""Where the parts of a row stand, for a width and a font scale."""

from dataclasses import dataclass
from typing import Final, Self

from PySide6.QtGui import QFontMetrics

from ui.theme import Fonts

TEXT_WIDTH: Final = 760
BUBBLE_WIDTH: Final = 560
NARROW: Final = 640  # below this the bars make room for words
EDGE: Final = 20


@dataclass(frozen=True, slots=True)
class Columns:
    """Left edges and widths of a row's parts, in logical pixels."""

    width: int
    number_right: int
    icon: int
    verb: int
    badge_right: int
    bar: int
    bar_width: int
    lasted_right: int
    glyph: int
    text: int
    text_width: int

    @classmethod
    def of(cls, width: int, fonts: Fonts) -> Self:
        scale = fonts.text.pixelSize() / 13
        glyph = width - round(43 * scale)
        lasted_right = glyph - 8
        lasted_width = round(58 * scale)
        bar_width = 0 if width < NARROW else min(280, max(96, round(width * 0.17)))
        bar = lasted_right - lasted_width - bar_width
        text = round(74 * scale)
        return cls(
            width=width,
            number_right=round(46 * scale),
            icon=round(54 * scale),
            verb=round(70 * scale) + 12,
            badge_right=bar - (26 if bar_width else 6),
            bar=bar,
            bar_width=bar_width,
            lasted_right=lasted_right,
            glyph=glyph,
            text=text,
            text_width=max(80, min(TEXT_WIDTH, width - text - EDGE)),
        )


@dataclass(frozen=True, slots=True)
class Heights:
    """How tall each shape of row is; bubbles and replies grow with their words."""

    work: int
    header: int
    interrupted: int
    bubble_around: int = 30
    reply_above: int = 10
    reply_below: int = 4

    @classmethod
    def of(cls, fonts: Fonts) -> Self:
        text = QFontMetrics(fonts.text).height()
        return cls(work=max(28, text + 10), header=max(36, text + 18), interrupted=text + 26)
