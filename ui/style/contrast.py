"""The contrast of colors, as the Web Content Accessibility Guidelines define it."""

from PySide6.QtGui import QColor

from ui.style.theme import blend


def contrast(one: QColor, other: QColor) -> float:
    """Return the contrast ratio of two colors, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(color: QColor, text: QColor, background: QColor, ratio: float) -> QColor:
    """Return the color, mixed with the text color just enough to have this contrast ratio with the background."""
    for share in (1.0, 0.8, 0.6, 0.4, 0.2):
        mixed = blend(color, text, share)
        if contrast(mixed, background) >= ratio:
            return mixed
    return text


def _luminance(color: QColor) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF())
