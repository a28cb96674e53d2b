"""Computes the column positions and row heights of the timeline from its width and the font size."""

from dataclasses import dataclass
from typing import Final, Self

from PySide6.QtGui import QFontMetrics

from ui.style.theme import Fonts

TEXT_WIDTH: Final = 760
BUBBLE_WIDTH: Final = 560
NARROW_WIDTH: Final = 640  # pixels at the usual text size; in a narrower view, the duration bars are left out
EDGE: Final = 20


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The left edges and widths of the parts of a row, in logical pixels."""

    width: int
    number_right: int
    icon: int
    verb: int
    badge_right: int
    bar: int
    bar_width: int
    duration_right: int
    status_icon: int
    text: int
    text_width: int

    @classmethod
    def of(cls, width: int, fonts: Fonts) -> Self:
        scale = fonts.text.pixelSize() / 13
        status_icon = width - round(43 * scale)
        duration_right = status_icon - 8
        duration_width = round(58 * scale)
        bar_width = 0 if width < NARROW_WIDTH * scale else min(280, max(96, round(width * 0.17)))
        bar = duration_right - duration_width - bar_width
        text = round(74 * scale)
        return cls(
            width=width,
            number_right=round(46 * scale),
            icon=round(54 * scale),
            verb=round(70 * scale) + 12,
            badge_right=bar - (26 if bar_width else 6),
            bar=bar,
            bar_width=bar_width,
            duration_right=duration_right,
            status_icon=status_icon,
            text=text,
            text_width=max(80, min(TEXT_WIDTH, width - text - EDGE)),
        )


@dataclass(frozen=True, slots=True)
class RowHeights:
    """The height of each kind of row, in logical pixels. Messages and replies become higher with their text."""

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
