"""Characters that are invisible although `str.isprintable` accepts them. Imports nothing, so that it loads fast."""

_CODE_POINTS = (
    range(0x034F, 0x0350),  # combining grapheme joiner
    range(0x115F, 0x1161),  # Hangul fillers
    range(0x17B4, 0x17B6),  # Khmer inherent vowels
    range(0x180B, 0x1810),  # Mongolian variation selectors and vowel separator
    range(0x2800, 0x2801),  # the empty Braille pattern
    range(0x3164, 0x3165),  # Hangul filler
    range(0xFE00, 0xFE10),  # variation selectors
    range(0xFFA0, 0xFFA1),  # halfwidth Hangul filler
    range(0xFFFC, 0xFFFD),  # object replacement character
    range(0x1D159, 0x1D15A),  # a musical symbol, the null notehead
    range(0xE0100, 0xE01F0),  # supplementary variation selectors
)
INVISIBLE = frozenset(chr(code) for codes in _CODE_POINTS for code in codes)


def is_visible(text: str) -> bool:
    """Return whether all characters of a text are visible. A tab or line break is not, a space is."""
    return text.isprintable() and INVISIBLE.isdisjoint(text)
